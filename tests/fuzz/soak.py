"""The soak: inputs of every kind, as many as wanted, and what must hold for each of them.

    make soak                                   250,000 inputs
    python -m tests.fuzz.soak --num 1000 --seed 7 --logs FOLDER
    python -m tests.fuzz.soak --keep soak.json  what was done is kept in the file: the same command goes on from there
    python -m tests.fuzz.soak --only 4711       one input again, with its traceback; its files are written to soak-4711

Every input is read and explained; the laws of `tests/consistency.py` hold; nothing is NaN, infinite, negative or beyond
reason; nothing takes longer than `LIMIT_S` of processor time. Every fifth is written as JSON, every tenth by every
renderer, in one of the languages; pixels, which are the picture's, by every five hundredth.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import gc
import importlib
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mcp.types import CallToolRequestParams, CallToolResult, JSONRPCRequest

from stepscope.analysis.explain import explain
from stepscope.catalogue import taught
from stepscope.cli import mcp
from stepscope.cli._mcp_stdio import parse_message
from stepscope.core.configfile import read_config
from stepscope.core.errors import StepscopeError
from stepscope.i18n import Language, languages
from stepscope.reading.reader import read
from stepscope.report import changes, markdown, note, parquet, png, screen, terminal, why
from stepscope.report import json as as_json
from stepscope.source.nvidia_smi import read_nvidia_smi
from tests.consistency import UNCOUNTED, breaches, document_breaches
from tests.fuzz.inputs import make

LIMIT_S = 2.0
_EXPORTS = ("html", "trace", "csv", "mllog", "svg")
_COMPANIONS = frozenset(
    {"stamps.tsv", "trace.tsv", "suspends.tsv", "gpu.csv", "nvidia-smi.txt", "exit.json", "meta.json", "taught.toml"}
)
# Every fifth input is written as JSON, for which everything is worked out; every tenth by every renderer.
_DOCUMENTS, _RENDERERS, _PIXELS = 5, 10, 500
_BATCH = 50
# Where files take no disk: an input lives for milliseconds.
_MEMORY = Path("/dev/shm")
# What no output may hold: control characters, marks that turn the direction of writing, halves of characters.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class TooSlow(BaseException):
    """An input took too long. No `except Exception` on the way may hide it."""


def problem_of(seed: int, logs: Sequence[Path] = (), *, place: Path | None = None) -> tuple[str, str | None]:
    """The kind of an input, and what is wrong with the answer to it; None where nothing is.

    Its files are written to `place` and stay there; else to a folder that is removed.
    """
    if place is None:
        with _folder() as own:
            return problem_of(seed, logs, place=own)
    kind, files = make(seed, logs)
    for name, data in files.items():
        path = place / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return kind, problem_with(place, list(files), seed)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as name:
        yield Path(name)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


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
    if "taught.toml" in names:
        with contextlib.suppress(StepscopeError):
            taught.teach(str(place / "taught.toml"))
    try:
        return _answer_to_logs(place, names, seed, config, hardware)
    finally:
        taught._named.clear()


def _answer_to_logs(place: Path, names: Sequence[str], seed: int, config: Any, hardware: Any) -> str | None:
    logs = [str(place / name) for name in names if _is_log(name)]
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
            screen.render(report, language),
            changes.render(report, None, language),
            changes.render_markdown(report, None, language),
        ]
        if len(run):
            story = why.tell(report, int(run.steps.step[seed % len(run)]))
            texts += [why.render(story, language), why.render_json(story), why.render_markdown(story, language)]
        texts += [note.render(report, language), note.render_eta(report, language)]
        texts += [importlib.import_module(f"stepscope.report.{name}").render(report, language) for name in _EXPORTS]
        parquet.render(report, language)
        if seed % _PIXELS == 0:
            png.render(report, language)
        broken += [f"{found[0]!r} in renderer {i}" for i, text in enumerate(texts) if (found := _UNSEEN.search(text))]
    return "; ".join(broken) or None


def _is_log(name: str) -> bool:
    return name not in _COMPANIONS and not name.startswith(("config.", "spans/"))


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
    found = []
    with _folder() as place:
        for seed in range(first, first + _BATCH):
            found.append((seed, *problem_of(seed, logs, place=place)))
            _empty(place)
    return found


def _begin() -> None:
    """What every input needs is loaded once, and what is loaded is no garbage to look for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for seed in range(_BATCH):
        problem_of(seed)
    gc.freeze()


class Progress:
    """What has been done, kept in a file so that the same command goes on from there."""

    def __init__(self, path: Path | None, seed: int) -> None:
        self._path = path
        self.num, self.seconds = 0, 0.0
        self.kinds: Counter[str] = Counter()
        self.wrong: dict[int, str] = {}
        self.commits: dict[str, int] = {}  # how many inputs ran on which commit
        self._commit = _commit()
        self._seed = seed
        if path is not None and path.exists():
            known = json.loads(path.read_text())
            if known["seed"] != seed:
                raise SystemExit(f"{path} is of seed {known['seed']}")
            self.num, self.seconds, self.commits = known["num"], known["seconds"], known["commits"]
            self.kinds = Counter(known["kinds"])
            self.wrong = {int(number): text for number, text in known["wrong"].items()}

    def add(self, found: Sequence[tuple[int, str, str | None]]) -> None:
        """The inputs of a batch; batches come in their order."""
        for number, kind, problem in found:
            self.kinds[kind] += 1
            if problem is not None:
                self.wrong[number] = problem.strip().splitlines()[-1][:200]
                print(f"\n{number} ({kind}): {self.wrong[number]}", flush=True)
        self.num += len(found)
        self.commits[self._commit] = self.commits.get(self._commit, 0) + len(found)

    def keep(self, seconds: float) -> None:
        """Write the file, aside first."""
        if self._path is None:
            return
        names = ("num", "commits", "kinds", "wrong")
        known = {"seed": self._seed, "seconds": self.seconds + seconds} | {name: getattr(self, name) for name in names}
        aside = self._path.with_suffix(".new")
        aside.write_text(json.dumps(known, indent=1))
        aside.replace(self._path)


def _commit() -> str:
    asked = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "no commit"


def main(argv: Sequence[str] | None = None) -> int:
    """Answer the inputs, print what is wrong; how many were wrong is the exit code, at most 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--num", type=int, default=250_000)
    parser.add_argument("--seed", type=int, default=1, help="inputs begin at this many millions")
    parser.add_argument("--only", type=int)
    parser.add_argument("--logs", type=Path, help="a folder of logs whose stretches are mangled, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep in this file what was done, and go on from it")
    args = parser.parse_args(argv)
    logs = tuple(sorted(path for path in args.logs.rglob("*") if path.is_file())) if args.logs else ()
    if args.only is not None:
        place = Path(f"soak-{args.only}")
        place.mkdir()
        print(*problem_of(args.only, logs, place=place), sep="\n")
        return 0
    done = Progress(args.keep, args.seed)
    start, first, before = time.monotonic(), args.seed * 1_000_000, done.num
    tasks = [(first + at, logs) for at in range(before, args.num, _BATCH)]
    with multiprocessing.Pool(args.jobs, _begin) as pool:
        for index, found in enumerate(pool.imap(_batch, tasks), 1):
            done.add(found)
            passed_s = time.monotonic() - start
            if sys.stderr.isatty() or index % 20 == 0:
                done.keep(passed_s)
                rate = (done.num - before) / passed_s
                print(f"\r{done.num:,} inputs, {rate:.0f}/s, {len(done.wrong)} wrong", end="", file=sys.stderr)
    done.keep(time.monotonic() - start)
    print(f"\n{done.num:,} inputs from seed {args.seed}: {dict(done.kinds)}, by commit {done.commits}")
    print(f"{len(done.wrong)} wrong: {dict(Counter(done.wrong.values()).most_common(20))}")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    processor_s = sum(own.ru_utime + own.ru_stime for own in used)
    peak_mib = max(own.ru_maxrss for own in used) / 1024
    print(f"{processor_s:.0f} s of processor time; the largest process took {peak_mib:.0f} MiB")
    return min(1, len(done.wrong))


if __name__ == "__main__":
    sys.exit(main())
