"""What several commands share: the flags that describe a log, reading it with progress, and writing the answer."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stepscope.core import clock, units
from stepscope.core.errors import InputError, UsageError
from stepscope.core.settings import COUNTS, Value, parse_value
from stepscope.i18n import Language, languages, system_language

if TYPE_CHECKING:
    from stepscope.analysis.report import Report
    from stepscope.run.model import Run

FORMATS = ("terminal", "json", "markdown", "note")
EXPORTS = ("html", "trace", "csv", "parquet", "mllog", "svg", "png")
_SUFFIX = {"terminal": ".txt", "json": ".json", "markdown": ".md", "note": ".md"} | {
    "html": ".html",
    "trace": ".trace.json",
    "csv": ".csv",
    "parquet": ".parquet",
    "mllog": ".mllog",
    "svg": ".svg",
    "png": ".png",
}
_COUNTS = frozenset({*COUNTS, "max_iters", "num_workers", "steps_per_epoch"})
# (report, language, is a translation) → text, or the bytes of a file that is none
Renderer = Callable[["Report", Language, bool], str | bytes]


def add_log_arguments(parser: argparse.ArgumentParser) -> None:
    """The log and what the user may state about its run."""
    parser.add_argument(
        "log",
        nargs="+",
        metavar="LOG",
        help="a file, a folder, - for standard input, or several files of one run; .gz, .xz, .zst too",
    )
    add_fact_arguments(parser)


def add_fact_arguments(parser: argparse.ArgumentParser) -> None:
    """What the user may state about a run."""
    parser.add_argument(
        "--config", metavar="FILE", help="the run's settings: nanoGPT's config.py (read, never run), JSON or TOML"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a fact about the run, such as eval_interval=500",
    )
    parser.add_argument(
        "--max-steps", metavar="N", type=int, help="the number of the run's last step (nanoGPT: max_iters)"
    )
    parser.add_argument(
        "--now", metavar="TIME", help="the moment of the last line: 02:30, an ISO date, or Unix seconds"
    )
    parser.add_argument("--nvidia-smi", metavar="FILE", help="a saved nvidia-smi table of the card")
    parser.add_argument("--gpu", metavar="NAME", help="the card's name")
    parser.add_argument("--confidence", metavar="C", type=float, default=0.9, help="of the intervals (default 0.9)")
    add_format_argument(parser)
    parser.add_argument("--strict", action="store_true", help="fail when a line of the log is not understood")


def add_format_argument(parser: argparse.ArgumentParser) -> None:
    """A format that the catalogue does not have."""
    parser.add_argument(
        "--format-file",
        metavar="FILE",
        action="append",
        type=_teach,
        default=[],
        help="a format taught in TOML, asked before all others; `stepscope formats try LOG --suggest` writes one",
    )


def _teach(path: str) -> str:
    """Learn a format while the command line is read, so that whatever reads a log later knows it."""
    from stepscope.catalogue.user_formats import teach

    teach(path)
    return path


def add_forecast_arguments(parser: argparse.ArgumentParser) -> None:
    """What else may be asked and stated about the end of a run."""
    parser.add_argument(
        "--like",
        metavar="LOG",
        help="the log of a complete run of the same program, to follow where the cost of a step changes on the way "
        "(default: one of the same folder whose settings agree)",
    )
    parser.add_argument(
        "--deadline", metavar="TIME", help="how likely the run is done by then: 08:00, an ISO date, or Unix seconds"
    )


def add_output_arguments(parser: argparse.ArgumentParser, *, formats: tuple[str, ...] = FORMATS) -> None:
    """How and where to answer."""
    parser.add_argument(
        "--lang",
        metavar="L[,L…]",
        help=f"language: {', '.join(languages())} (default: the locale's); several with -o FOLDER",
    )
    parser.add_argument("--format", choices=formats, default="terminal", help="how to answer (default: terminal)")
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="write to a file, or to a folder with one file per language"
    )


def chosen_languages(args: argparse.Namespace) -> list[Language]:
    """The languages asked for, the first one first."""
    asked = args.lang.split(",") if args.lang else [system_language()]
    codes = [re.split(r"[_.@-]", code.strip())[0].lower() for code in asked if code.strip()]
    for code in codes:
        if code not in languages():
            raise UsageError("bad-language", text=code, known=", ".join(languages()))
    return [Language.load(code) for code in dict.fromkeys(codes)] or [Language.load("en")]


def build_report(args: argparse.Namespace, *, ask_card: bool = False) -> Report:
    """Read the log the arguments name and explain it.

    With `ask_card`, the card of this machine is asked where neither a flag nor a table names one.
    """
    from stepscope.reading.reader import read

    _check(args)
    flags = stated_settings(args)
    config, hardware = read_companions(args)
    progress = Progress(args.log)
    run = read(*args.log, progress=progress)
    progress.clear()
    if ask_card:
        from stepscope.cli import _gpu

        _gpu.warn_of_unknown(args.gpu, chosen_languages(args)[0])
        if hardware is None and args.gpu is None:
            hardware = _gpu.hardware_for(list(run.paths))
    return explain_run(run, args, flags=flags, config=config, hardware=hardware, previous=_previous(args))


def explain_run(
    run: Run,
    args: argparse.Namespace,
    *,
    flags: dict[str, Value],
    config: dict[str, Value] | None,
    hardware: object,
    previous: Callable[[Run], list[Run]] | None = None,
) -> Report:
    """The report of a run under the arguments."""
    from stepscope.analysis.explain import explain
    from stepscope.source.nvidia_smi import Hardware

    if args.strict and run.num_unread:
        line, text = run.first_unread[0]
        place = f"{', '.join(run.paths)}:{line}"
        raise InputError("unread-lines", place=place, excerpt=text, count=run.num_unread, path=run.paths[0])
    assert hardware is None or isinstance(hardware, Hardware)
    report = explain(
        run,
        config=config,
        flags=flags,
        hardware=hardware,
        gpu=args.gpu,
        now=_stated_moment(args, run, hardware.time if hardware else None),
        fallback_now=clock.now(),
        confidence=args.confidence,
        previous=previous,
        has_gpu_series=getattr(args, "format", "") != "terminal",
    )
    return report.asked(deadline=_deadline(args, report))


def _previous(args: argparse.Namespace) -> Callable[[Run], list[Run]] | None:
    """How previous runs of the same program are found: the one stated, else by looking around in the log's folder."""
    if "like" not in args:
        return None
    from stepscope.forecast import previous

    if args.like is None:
        return previous.find_previous
    return lambda run: [previous.read_like(run, args.like)]


def _deadline(args: argparse.Namespace, report: Report) -> dt.datetime | None:
    """`--deadline`; a bare clock time is the next one after the last line."""
    if getattr(args, "deadline", None) is None:
        return None
    since = (report.moment or clock.now()).astimezone()
    deadline = units.parse_moment(args.deadline, day=since.date())
    if deadline is not None and deadline < since and re.fullmatch(r"[\d:]{4,8}", args.deadline.strip()):
        deadline = units.parse_moment(args.deadline, day=since.date() + dt.timedelta(days=1))
    return deadline


def read_companions(args: argparse.Namespace) -> tuple[dict[str, Value] | None, object]:
    """The config and the nvidia-smi table, where given; before the log, so that a wrong path is told at once."""
    config = hardware = None
    if args.config:
        from stepscope.core.configfile import read_config

        config = read_config(Path(args.config))
    if args.nvidia_smi:
        from stepscope.source.nvidia_smi import read_nvidia_smi

        hardware = read_nvidia_smi(Path(args.nvidia_smi))
    return config, hardware


def _check(args: argparse.Namespace) -> None:
    if not 0.5 <= args.confidence <= 0.99:
        raise UsageError("bad-confidence")
    if args.now is not None and units.parse_moment(args.now, day=dt.date(2000, 1, 1)) is None:
        raise UsageError("bad-moment", text=args.now)
    deadline = getattr(args, "deadline", None)
    if deadline is not None and units.parse_moment(deadline, day=dt.date(2000, 1, 1)) is None:
        raise UsageError("bad-deadline", text=deadline)


def stated_settings(args: argparse.Namespace) -> dict[str, Value]:
    """What `--set` and `--max-steps` state."""
    flags: dict[str, Value] = {}
    for text in args.set:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UsageError("bad-setting", place=text)
        flags[key.strip()] = _checked(key.strip(), parse_value(value), text)
    if args.max_steps is not None:
        if not 1 <= args.max_steps < 10**15:
            raise UsageError("bad-max-steps", place=f"--max-steps {str(args.max_steps)[:40]}")
        flags["max_steps"] = args.max_steps
    return flags


def _checked(key: str, value: Value, text: str) -> Value:
    """The value of a setting that somebody knows; a slip of the finger is told, not passed over."""
    if key not in known_settings():
        raise UsageError("unknown-setting", place=text, known=", ".join(sorted(known_settings())))
    if key in _COUNTS and isinstance(value, str) and (count := units.parse_count(value.upper())) is not None:
        value = int(count)  # 124M
    if key in _COUNTS and (isinstance(value, bool | str) or value < 1 or value != int(value)):
        raise UsageError("bad-count", place=text, setting=key)
    return value


def known_settings() -> frozenset[str]:
    """Every setting that some format or some stage knows, by any of its names."""
    from stepscope.catalogue.detect import catalogue

    names = set(_COUNTS) | {"always_save_checkpoint", "compile", "device", "dtype"}
    for fmt in catalogue():
        names |= set(fmt.controls.names) | set(fmt.controls.names.values()) | set(fmt.controls.defaults)
    return frozenset(names)


def _stated_moment(args: argparse.Namespace, run: Run, table_time: dt.datetime | None) -> dt.datetime | None:
    """`--now`; a bare clock time lies on the day of the nvidia-smi table or the last stamp, else today."""
    if args.now is None:
        return None
    day = clock.now().date()
    if table_time is not None:
        day = table_time.date()
    elif run.stamps is not None and run.stamps.dated:
        # A stamp without an offset is local time already.
        zone = None if run.stamps.zoned else dt.UTC
        day = dt.datetime.fromtimestamp(run.stamps.last_ns / units.NS, zone).date()
    return units.parse_moment(args.now, day=day)


class Progress:
    """Says on a terminal how far reading got, once it takes more than a second."""

    def __init__(self, paths: Sequence[str], now: Callable[[], float] = time.monotonic) -> None:
        self._path, self._now = paths[0], now
        self._start = self._last = now()
        self._is_shown = False
        sizes = [Path(path).stat().st_size if Path(path).is_file() else 0 for path in paths]
        self._total = sum(sizes) if all(sizes) else 0  # 0 where nobody knows: a pipe, a folder

    def __call__(self, num_bytes: int) -> None:
        now = self._now()
        if now - self._start < 1 or now - self._last < 0.2 or not sys.stderr.isatty():
            return
        self._last, self._is_shown = now, True
        share = ""
        if num_bytes <= self._total:  # of an archive, more is read than there is
            share = f" / {self._total / 1e6:.0f} MB ({100 * num_bytes / self._total:.0f} %)"
        text = f"{self._path}: {num_bytes / 1e6:.0f} MB{share}"
        print(f"\r{text}", end="\x1b[K", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away again."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def write(args: argparse.Namespace, report: Report, renderers: dict[str, Renderer], stem: str) -> None:
    """Render the report in every language asked for and put it where asked."""
    chosen = chosen_languages(args)
    render = renderers[args.format]
    if args.output is None:
        if len(chosen) > 1:
            raise UsageError("languages-need-folder")
        _print(render(report, chosen[0], False), args.format)
        return
    target = Path(args.output)
    as_folder = len(chosen) > 1 or target.is_dir() or args.output.endswith(("/", os.sep))
    try:
        if as_folder:
            target.mkdir(parents=True, exist_ok=True)
        for index, language in enumerate(chosen):
            path = target / f"{stem}-{language.code}{_SUFFIX[args.format]}" if as_folder else target
            answer = render(report, language, index > 0)
            path.write_bytes(answer if isinstance(answer, bytes) else answer.encode("utf-8"))
            print(chosen[0].text("written", path=str(path)), file=sys.stderr)
    except OSError as problem:
        raise InputError("cannot-write", place=str(target), reason=problem.strerror or str(problem)) from None


def _print(answer: str | bytes, name: str) -> None:
    """To standard output; bytes only where no terminal would have to show them."""
    if isinstance(answer, str):
        sys.stdout.write(answer)
        return
    if sys.stdout.isatty():
        raise UsageError("binary-to-terminal", place=f"--format {name}", name=name)
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


def terminal_size(args: argparse.Namespace) -> tuple[int, bool]:
    """Width and whether to use colours: those of the terminal, or 80 plain columns elsewhere."""
    if args.output is None and sys.stdout.isatty():
        width = max(60, min(110, shutil.get_terminal_size((80, 24)).columns))
        return width, "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return 80, False


def stem_of(report: Report) -> str:
    """A file name for the answer, after the log's own."""
    name = Path(report.run.paths[0]).name if report.run.paths and report.run.paths[0] != "-" else "stdin"
    for suffix in (".gz", ".xz", ".zst", ".log", ".txt", ".out"):
        name = name.removesuffix(suffix)
    return name or "report"
