"""Flags that several commands share, and `type=` functions that check a value while the command line is parsed.

A bad value raises `UsageError` in every command alike, before any file is read. What a flag means for the answer is
left to the commands and to `_report.py`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import re
from collections.abc import Callable

from stepscope.core import units
from stepscope.core.errors import UsageError
from stepscope.core.nearest import nearest
from stepscope.core.price import parse_price
from stepscope.core.settings import COUNTS, Value, parse_value
from stepscope.i18n import languages

FORMATS = ("terminal", "json", "markdown", "note")
EXPORTS = ("html", "trace", "csv", "parquet", "mllog", "svg", "png")
PICTURES = ("svg", "png")
# Settings that count something: those of a run, and those of a model.
_RUN_COUNTS = frozenset({*COUNTS, "max_iters", "num_workers", "steps_per_epoch"})
_MODEL_COUNTS = frozenset({"n_layer", "n_head", "n_embd", "vocab_size"})
# Counts that may be 0: without workers, PyTorch loads the batches in the training process, which is its default.
_MAY_BE_ZERO = frozenset({"num_workers"})
_MAX_SHOWN = 40

# -- groups of flags --------------------------------------------------------------------------------------

_FACTS, _ANSWER = "facts about the run", "the answer"


def _group(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """The part of the help of that title; several of the functions below add to the same one."""
    found = (group for group in parser._action_groups if group.title == title)
    return next(found, None) or parser.add_argument_group(title)


def add_log_arguments(parser: argparse.ArgumentParser) -> None:
    """The log, and everything that may be stated about its run."""
    parser.add_argument(
        "log",
        nargs="+",
        metavar="LOG",
        help="Log file, folder, - for standard input, or several files of one run; .gz, .xz and .zst are opened too",
    )
    add_setting_arguments(parser)
    add_moment_arguments(parser)
    _group(parser, _FACTS).add_argument(
        "--gpu", metavar="NAME", help="Name of the GPU, such as 4070 (default: what the log or this machine says)"
    )
    add_confidence_argument(parser)
    add_format_argument(parser)
    parser.add_argument("--strict", action="store_true", help="Fail if a line of the log is not understood")


def add_setting_arguments(parser: argparse.ArgumentParser) -> None:
    """Settings of the run, from a file or one by one."""
    group = _group(parser, _FACTS)
    group.add_argument(
        "--config",
        metavar="FILE",
        help="File with the run's settings: nanoGPT's config.py (read, never executed), JSON, TOML or YAML",
    )
    group.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        type=known_setting,
        default=[],
        help="Fact about the run, such as eval_interval=500; may be repeated",
    )
    group.add_argument(
        "--max-steps",
        metavar="N",
        type=whole_number("--max-steps", "bad-max-steps", below=10**15),
        help="Number of the run's last step (nanoGPT: max_iters)",
    )


def add_format_argument(parser: argparse.ArgumentParser) -> None:
    """A format that the catalogue does not have."""
    group = _group(parser, _FACTS)
    group.add_argument(
        "--format-file",
        metavar="FILE",
        action="append",
        type=_teach,
        default=[],
        help="Log format described in TOML, tried before all others; `stepscope formats try LOG --suggest` writes one",
    )


def add_moment_arguments(parser: argparse.ArgumentParser) -> None:
    """The moment at which the log ends, stated or from a table of that moment."""
    group = _group(parser, _FACTS)
    group.add_argument(
        "--now",
        metavar="TIME",
        type=moment("bad-moment"),
        help="Time of the last line: 02:30, an ISO date, or Unix seconds "
        "(default: its timestamp, else the time in --nvidia-smi, else when the file was written)",
    )
    group.add_argument(
        "--nvidia-smi", metavar="FILE", help="Saved output of nvidia-smi: GPU, memory, temperature and the time"
    )


def add_confidence_argument(parser: argparse.ArgumentParser) -> None:
    """How wide the intervals are."""
    group = _group(parser, _ANSWER)
    group.add_argument(
        "--confidence",
        metavar="C",
        type=confidence,
        default=0.9,
        help="Confidence level of all intervals, 0.5 to 0.99 (default: 0.9)",
    )


def add_forecast_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags about the end of the run."""
    group = _group(parser, _FACTS)
    group.add_argument(
        "--like",
        metavar="LOG",
        help="Log of a finished run of the same program: its step-time curve is followed where step cost changes "
        "during training (default: a log in the same folder with matching settings)",
    )
    group.add_argument(
        "--deadline",
        metavar="TIME",
        type=moment("bad-deadline"),
        help="Say how likely the run is to finish by then: 08:00, an ISO date, or Unix seconds",
    )


def add_price_argument(parser: argparse.ArgumentParser) -> None:
    """What the run's time costs."""
    _group(parser, _FACTS).add_argument(
        "--price",
        metavar="P[/h|/kWh]",
        type=parse_price,
        help="Price of one GPU for an hour, such as 2.10/h or $2.10/h, or of a kilowatt-hour: says costs in money too",
    )


def add_output_arguments(parser: argparse.ArgumentParser, *, formats: tuple[str, ...] = FORMATS) -> None:
    """How to answer, in which languages, and where to."""
    group = _group(parser, _ANSWER)
    group.add_argument(
        "--lang",
        metavar="L[,L…]",
        type=language_codes,
        help=f"Language: {', '.join(languages())} (default: the locale's); several need -o FOLDER",
    )
    group.add_argument("--format", choices=formats, default="terminal", metavar="F", help=_format_help(formats))
    group.add_argument(
        "-o", "--output", metavar="PATH", help="Write to a file, or to a folder with one file per language"
    )


def add_full_argument(parser: argparse.ArgumentParser) -> None:
    """All there is to say, instead of one screen."""
    parser.add_argument(
        "--full", action="store_true", help="Everything: ranges, reasons and evidence (default: one screen)"
    )


def add_theme_argument(parser: argparse.ArgumentParser) -> None:
    """The paper of a picture."""
    _group(parser, _ANSWER).add_argument(
        "--theme", choices=("light", "dark"), metavar="THEME", help="Picture (svg, png): light or dark (default: light)"
    )


def add_language_argument(parser: argparse.ArgumentParser) -> None:
    """One language, for commands that answer in one."""
    group = _group(parser, _ANSWER)
    group.add_argument(
        "--lang",
        metavar="L",
        type=language_codes,
        help=f"Language: {', '.join(languages())} (default: the locale's)",
    )


def add_one_file_arguments(parser: argparse.ArgumentParser, *, formats: tuple[str, ...]) -> None:
    """How to answer in one language, to one file."""
    group = _group(parser, _ANSWER)
    add_language_argument(parser)
    group.add_argument("--format", choices=formats, default="terminal", metavar="F", help=_format_help(formats))
    group.add_argument("-o", "--output", metavar="PATH", help="Write the answer to a file")


def _format_help(formats: tuple[str, ...]) -> str:
    return f"Format of the answer: {', '.join(formats)} (default: terminal)"


# -- values -----------------------------------------------------------------------------------------------


def confidence(text: str) -> float:
    """A confidence level from 0.5 to 0.99."""
    level = _number(text)
    if not 0.5 <= level <= 0.99:
        raise UsageError("bad-confidence")
    return level


def whole_number(flag: str, key: str, *, least: int = 1, below: float = math.inf) -> Callable[[str], int]:
    """Parse a whole number from `least` up to but not including `below`; anything else is the error `key`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise UsageError(key, place=f"{flag} {text[:_MAX_SHOWN]}") from None
        if not least <= value < below:
            raise UsageError(key, place=f"{flag} {str(value)[:_MAX_SHOWN]}")
        return value

    return parse


def number(flag: str, key: str, is_valid: Callable[[float], bool]) -> Callable[[str], float]:
    """Parse a number that `is_valid` accepts; anything else is the error `key`."""

    def parse(text: str) -> float:
        value = _number(text)
        if not is_valid(value):
            shown = text[:_MAX_SHOWN] if math.isnan(value) else f"{value:g}"
            raise UsageError(key, place=f"{flag} {shown}")
        return value

    return parse


def moment(key: str) -> Callable[[str], str]:
    """Check a moment and return its text: on which day a bare clock time lies is known only with the log."""

    def parse(text: str) -> str:
        if units.parse_moment(text, day=dt.date(2000, 1, 1)) is None:
            raise UsageError(key, text=text)
        return text

    return parse


def language_codes(text: str) -> list[str]:
    """The codes of one language or several, such as `en` or `de_DE,fr`."""
    codes = [re.split(r"[_.@-]", code.strip())[0].lower() for code in text.split(",") if code.strip()]
    for code in codes:
        if code not in languages():
            meant = nearest(code, languages(), alike=0.6) or "none"
            raise UsageError("bad-language", text=code, nearest=meant, known=", ".join(languages()))
    return codes


def known_setting(text: str) -> tuple[str, Value]:
    """`KEY=VALUE` of a log's run, where KEY is a name that some trainer has for a setting."""
    key, value = split_setting(text)
    if key not in known_settings():
        meant = nearest(key.replace("-", "_"), known_settings()) or "none"
        raise UsageError("unknown-setting", place=text, nearest=meant, known=", ".join(sorted(known_settings())))
    return key, check_count(key, value, place=text)


def model_setting(text: str) -> tuple[str, Value]:
    """`KEY=VALUE` of a config, where KEY may be any name: configs have settings that Stepscope does not use."""
    key, value = split_setting(text)
    return key, check_count(key, value, place=f"--set {text}")


def split_setting(text: str) -> tuple[str, Value]:
    """The name and the value in `KEY=VALUE`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise UsageError("bad-setting", place=text)
    return key.strip(), parse_value(value)


def check_count(key: str, value: Value, *, place: str) -> Value:
    """The value; for a setting that counts something, a whole number of at least 1 (some: 0), also written as 124M."""
    if key not in _RUN_COUNTS | _MODEL_COUNTS:
        return value
    if isinstance(value, str) and (count := units.parse_count(value.upper())) is not None:
        value = int(count)
    least = 0 if key in _MAY_BE_ZERO else 1
    if isinstance(value, bool | str) or value < least or value != int(value):
        raise UsageError("bad-count", place=place, setting=key)
    return value


def known_settings() -> frozenset[str]:
    """Every setting that some format or some stage knows, by any of its names."""
    from stepscope.catalogue.detect import catalogue

    names = set(_RUN_COUNTS) | {"always_save_checkpoint", "compile", "device", "dtype"}
    for fmt in catalogue():
        names |= set(fmt.controls.names) | set(fmt.controls.names.values()) | set(fmt.controls.defaults)
    return frozenset(names)


def _number(text: str) -> float:
    """The number in `text`; NaN, which lies in no range, where there is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _teach(path: str) -> str:
    """Load a format while the command line is parsed, so that everything that reads a log later knows it."""
    from stepscope.catalogue.taught import teach

    teach(path)
    return path
