"""The soak: inputs of every kind, as many as wanted, and what must hold for each of them.

    make soak                                   250,000 inputs
    python -m tests.fuzz.soak --num 1000 --seed 7 --logs FOLDER
    python -m tests.fuzz.soak --only 4711       one input again, with its traceback; its files are written to soak-4711

Every input is read and explained; the laws of `tests/consistency.py` hold; nothing is NaN, infinite, negative or beyond
reason; nothing takes longer than `LIMIT_S` of processor time. Every tenth goes through every renderer in a language.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import importlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from stepscope.analysis.explain import explain
from stepscope.core.configfile import read_config
from stepscope.core.errors import StepscopeError
from stepscope.forecast.finish import Forecast
from stepscope.i18n import Language, languages
from stepscope.reading.reader import read
from stepscope.report import json as as_json
from stepscope.report import markdown, note, terminal
from stepscope.source.nvidia_smi import read_nvidia_smi
from tests.consistency import UNCOUNTED, breaches
from tests.fuzz.inputs import Files, make

LIMIT_S = 5.0
_EXPORTS = ("html", "trace", "csv", "mllog", "svg")
_EVERY = 10
_BATCH = 50
_LONGEST_S = 31 * 366 * 86_400.0


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
        try:
            with _limited():
                return kind, _answer(place, files, seed)
        except TooSlow:
            return kind, f"takes longer than {LIMIT_S} s"
        except Exception:
            return kind, traceback.format_exc(limit=-4)


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


def _answer(place: Path, files: Files, seed: int) -> str | None:
    first = place / next(iter(files))
    config = hardware = None
    try:
        if "config.py" in files:
            with contextlib.suppress(StepscopeError):
                config = read_config(place / "config.py")
            with contextlib.suppress(StepscopeError):
                hardware = read_nvidia_smi(place / "nvidia-smi.txt")
        run = read(str(place if "stamps.tsv" in files else first))
    except StepscopeError as error:
        return None if str(error).strip() else "an error without a word"
    now = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    flags = {"max_steps": 10_000} if seed % 3 else None
    report = explain(run, config=config, flags=flags, hardware=hardware, fallback_now=now)
    code = languages()[seed % len(languages())]
    language = Language.load(code)
    json.loads(as_json.render(report, language), parse_constant=_refuse)
    # Evaluations of a mangled log come at no interval: the forecast says that it leaves them out, and that is right.
    broken = [breach for breach in breaches(report) if breach != UNCOUNTED]
    end = report.forecast
    if isinstance(end, Forecast) and not 0 <= end.remaining_s < _LONGEST_S:
        broken.append(f"{end.remaining_s} s are left")
    if seed % _EVERY == 0:
        texts = [terminal.render(report, language), markdown.render(report, language)]
        texts += [note.render(report, language), note.render_eta(report, language)]
        texts += [importlib.import_module(f"stepscope.report.{name}").render(report, language) for name in _EXPORTS]
        broken += [f"control character in renderer {i}" for i, text in enumerate(texts) if "\x1b" in text]
    return "; ".join(broken) or None


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
    return min(1, wrong.total())


if __name__ == "__main__":
    sys.exit(main())
