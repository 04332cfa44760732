"""The soak: inputs of every kind, as many as wanted, and what must hold for each of them.

    make soak                                   250,000 inputs
    python -m tests.fuzz.soak --num 1000 --seed 7 --logs FOLDER
    python -m tests.fuzz.soak --only 4711       one input again, with its traceback; its files are written to soak-4711

Every input is read and explained; the laws of `tests/consistency.py` hold; nothing is NaN, infinite, negative or beyond
reason; nothing takes longer than `LIMIT_S` of processor time. Every fifth is written as JSON, every tenth by every
renderer, in one of the languages.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import importlib
import json
import multiprocessing
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from mcp.types import CallToolRequestParams, CallToolResult, JSONRPCRequest

from stepscope.analysis.explain import explain
from stepscope.cli import mcp
from stepscope.cli._mcp_stdio import parse_message
from stepscope.core.configfile import read_config
from stepscope.core.errors import StepscopeError
from stepscope.i18n import Language, languages
from stepscope.reading.reader import read
from stepscope.report import json as as_json
from stepscope.report import markdown, note, terminal
from stepscope.source.nvidia_smi import read_nvidia_smi
from tests.consistency import UNCOUNTED, breaches, document_breaches
from tests.fuzz.inputs import make

LIMIT_S = 2.0
_EXPORTS = ("html", "trace", "csv", "mllog", "svg")
_COMPANIONS = frozenset({"stamps.tsv", "trace.tsv", "suspends.tsv", "gpu.csv", "nvidia-smi.txt"})
# Every fifth input is written as JSON, for which everything is worked out; every tenth by every renderer.
_DOCUMENTS, _RENDERERS = 5, 10
_BATCH = 50
# What no output may hold: control characters, marks that turn the direction of writing, halves of characters.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class TooSlow(BaseException):
    """An input took too long. No `except Exception` on the way may hide it."""


def problem_of(seed: int, logs: Sequence[Path] = (), *, keep: Path | None = None) -> tuple[str, str | None]:
    """The kind of an input, and what is wrong with the answer to it; None where nothing is."""
    kind, files = make(seed, logs)
    with tempfile.TemporaryDirectory() as folder:
        place = keep or Path(folder)
        place.mkdir(exist_ok=True)
        for name, data in files.items():
            (place / name).write_bytes(data)
        return kind, problem_with(place, list(files), seed)


def problem_with(place: Path, names: Sequence[str], seed: int) -> str | None:
    """What is wrong with the answer to the files of a folder; the number decides on language, flags and renderers."""
    try:
        with _limited(), warnings.catch_warnings():
            warnings.simplefilter("error")  # a user would see them
            return _message(place) if "message.json" in names else _answer(place, names, seed)
    except TooSlow:
        return f"takes longer than {LIMIT_S} s"
    except Exception:
        return traceback.format_exc(limit=-4)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _answer(place: Path, names: Sequence[str], seed: int) -> str | None:
    settings = next((name for name in names if name.startswith("config.")), None)
    config = hardware = None
    with contextlib.suppress(StepscopeError):
        config = read_config(place / settings) if settings else None
    with contextlib.suppress(StepscopeError):
        hardware = read_nvidia_smi(place / "nvidia-smi.txt") if "nvidia-smi.txt" in names else None
    logs = [str(place / name) for name in names if name not in _COMPANIONS and name != settings]
    is_folder = "stamps.tsv" in names or (len(logs) > 1 and seed % 2 == 0)
    try:
        run = read(*([str(place)] if is_folder else logs))
    except StepscopeError as error:
        return None if str(error).strip() else "an error without a word"
    now = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    flags = {"max_steps": 10_000} if seed % 3 else None
    report = explain(run, config=config, flags=flags, hardware=hardware, fallback_now=now)
    # Evaluations of a mangled log come at no interval: the forecast says that it leaves them out, and that is right.
    broken = [breach for breach in breaches(report) if breach != UNCOUNTED]
    if seed % _DOCUMENTS == 0:
        language = Language.load(languages()[seed % len(languages())])
        broken += documents(as_json.render(report, language))
    if seed % _RENDERERS == 0:
        texts = [
            terminal.render(report, language),
            terminal.render(report, language, full=True),
            markdown.render(report, language),
        ]
        texts += [note.render(report, language), note.render_eta(report, language)]
        texts += [importlib.import_module(f"stepscope.report.{name}").render(report, language) for name in _EXPORTS]
        broken += [f"{found[0]!r} in renderer {i}" for i, text in enumerate(texts) if (found := _UNSEEN.search(text))]
    return "; ".join(broken) or None


def documents(text: str) -> list[str]:
    """What is wrong with a JSON document: figures against the laws, numbers that are none, characters not seen."""
    found = _UNSEEN.search(text)
    return [*document_breaches(json.loads(text, parse_constant=_refuse)), *([f"{found[0]!r} in JSON"] if found else [])]


def _message(place: Path) -> str | None:
    """A request goes through the server's own parser to its tool; whatever comes back can be sent."""
    asked = parse_message((place / "message.json").read_bytes())
    if not isinstance(asked, JSONRPCRequest) or asked.method != "tools/call":
        return None
    try:
        params = CallToolRequestParams.model_validate(asked.params)
    except ValueError:
        return None  # the SDK answers for itself
    if params.name not in mcp._TOOLS:
        return None
    result = mcp._call(params.name, params.arguments or {}, place.resolve())
    text = CallToolResult.model_validate(result).model_dump_json()
    text.encode()
    return text if "internal error" in text else None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} in JSON")


def _batch(task: tuple[int, tuple[Path, ...]]) -> list[tuple[int, str, str | None]]:
    first, logs = task
    return [(seed, *problem_of(seed, logs)) for seed in range(first, first + _BATCH)]


def main(argv: Sequence[str] | None = None) -> int:
    """Answer the inputs, print what is wrong; how many were wrong is the exit code, at most 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--num", type=int, default=250_000)
    parser.add_argument("--seed", type=int, default=1, help="inputs begin at this many millions")
    parser.add_argument("--only", type=int)
    parser.add_argument("--logs", type=Path, help="a folder of logs whose stretches are mangled, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args(argv)
    logs = tuple(sorted(path for path in args.logs.rglob("*") if path.is_file())) if args.logs else ()
    if args.only is not None:
        print(*problem_of(args.only, logs, keep=Path(f"soak-{args.only}")), sep="\n")
        return 0
    start, first = time.monotonic(), args.seed * 1_000_000
    tasks = [(first + at, logs) for at in range(0, args.num, _BATCH)]
    kinds: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    with multiprocessing.Pool(args.jobs) as pool:
        for done, found in enumerate(pool.imap_unordered(_batch, tasks), 1):
            for seed, kind, problem in found:
                kinds[kind] += 1
                if problem is not None:
                    last = problem.strip().splitlines()[-1][:200]
                    wrong[last] += 1
                    if wrong[last] <= 3:
                        print(f"\n{seed} ({kind}): {last}", flush=True)
            if sys.stderr.isatty() or done % 100 == 0:
                rate = done * _BATCH / (time.monotonic() - start)
                print(f"\r{done * _BATCH:,} inputs, {rate:.0f}/s, {wrong.total()} wrong", end="", file=sys.stderr)
    print(f"\n{kinds.total():,} inputs in {time.monotonic() - start:.0f} s from seed {args.seed}: {dict(kinds)}")
    print(f"{wrong.total()} wrong: {dict(wrong.most_common(20))}")
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"the largest process took {peak / 1024:.0f} MiB")
    return min(1, wrong.total())


if __name__ == "__main__":
    sys.exit(main())
