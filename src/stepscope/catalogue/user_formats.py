"""Formats that a user teaches: small TOML files, whose keys `flat_keys.py` maps to the fields of a `Format`.

They lie in Stepscope's folder of the user's configuration, or are named on the command line, and are asked before the
catalogue. Every mistake is reported with the file, the line and what to do. A pattern that could take forever is
refused.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from stepscope.catalogue.flat_keys import FLAT_KEYS, with_flat_values
from stepscope.catalogue.partial_match import give_up_at
from stepscope.core.errors import InputError
from stepscope.core.opening import read_named
from stepscope.core.settings import COUNTS
from stepscope.lines.figures import CLOCK_LEFT, MEAN_RATE, MINUTES_LEFT, OWN_EVENTS, SCALES, WORK
from stepscope.lines.format import Clock, Covers, Format, Line, LineKind, Sample
from stepscope.lines.pattern_cost import looks

_MAX_BYTES = 1 << 20
_FAR = 200
# Patterns with three `.*` and more pass; those with two repeats without an end that can read the same text do not.
_MOST_LOOKS = 200_000
_LONGEST = 1 << 20
_LINE_KEYS = frozenset({"kind", "pattern", "sample", "weak", "sets"})
_CLOCK_KEYS = frozenset({"covers", "includes", "note"})
_TABLES = frozenset({"setting_names", "defaults"})
_NUMBERS = frozenset({"first_step", "first_epoch"})
_KEYS = frozenset({"title", "url", "lines", "clock"}) | FLAT_KEYS
# Everything that the docstring of `Line` names.
GROUPS = frozenset(SCALES) | frozenset(OWN_EVENTS) | frozenset(COUNTS) | frozenset(
    {"step", "epoch", "batch", "total", "batches", "epochs", "epochs_done", "per_steps", "percent", "reached", "loss",
     "train_loss", "val_loss", "evaluated", "mfu_pct", "data_s", "mean_s", "data_mean_s", "tokens", "tokens_per_s",
     "samples_per_s", "samples_per_step", MEAN_RATE, WORK, MINUTES_LEFT, CLOCK_LEFT, "stamp", "unix_s", "unix_ms",
     "took_s", "took_ms", "took_clock", "took_samples", "took_per_s", "took_mean_s", "took_mean_ms", "took_batch",
     "took_batches", "key", "value", "path", "bar_batch", "bar_batches", "bar_left", "bar_first", "bar_steps",
     "bar_mean_ms", "text", "device", "began",
     "ended", "trained", "samples_done", "samples_total", "done_samples", "of_samples", "batch_samples_per_s",
     "epoch_samples", "epoch_s"}
)  # fmt: skip


def read_format(path: Path) -> Format:
    """The format in a TOML file."""
    import tomllib

    try:
        raw = read_named(path, _MAX_BYTES)
        if raw is None:
            raise InputError("format-file-too-large", place=str(path))
        text = raw.decode("utf-8")
    except OSError as problem:
        raise InputError("no-such-format-file", place=str(path), reason=problem.strerror or str(problem)) from None
    except UnicodeDecodeError:
        raise InputError("format-file-not-text", place=str(path)) from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        place = re.search(r"line (\d+)", str(problem))
        where = f"{path}:{place[1]}" if place else str(path)
        raise InputError("format-file-syntax", place=where, reason=str(problem)) from None
    return _TomlKey(path, text).format(data)


class _TomlKey:
    """Turns the tables of one file into a format; knows the line at which each table begins."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._rows = text.splitlines()

    def format(self, data: Mapping[str, Any]) -> Format:
        self._check_keys(data, _KEYS, 0)
        title = self._text(data, "title", 0)
        tables = self._typed(data, "lines", list, 0)
        if not all(isinstance(table, dict) for table in tables):
            raise self._error("format-key-type", "lines", 0, wanted="[[lines]]")
        lines: list[Line] = []
        samples: list[Sample] = []
        for number, table in enumerate(tables):
            start = self._table_at("lines", number)
            line = self._line(table, start)
            lines.append(line)
            samples += self._samples(table, line, start)
        if not any(line.kind == "step" for line in lines):
            raise self._error("format-no-step", "kind", 0)
        kept = {key: data[key] for key in data if key in FLAT_KEYS}
        for key in kept:
            self._typed(data, key, dict if key in _TABLES else int if key in _NUMBERS else bool, 0)
        fmt = Format(
            name=self._path.stem,
            title=title,
            url=str(data.get("url", "")),
            lines=tuple(lines),
            samples=tuple(samples),
            clock=self._clock(self._typed(data, "clock", dict, 0)),
        )
        return with_flat_values(fmt, kept)

    def _clock(self, table: Mapping[str, Any]) -> Clock:
        start = self._table_at("clock", 0)
        self._check_keys(table, _CLOCK_KEYS, start)
        covers = self._text(table, "covers", start)
        if covers not in get_args(Covers):
            raise self._error("format-bad-value", "covers", start, value=covers, known=", ".join(get_args(Covers)))
        includes = table.get("includes", [])
        if not isinstance(includes, list) or not all(isinstance(item, str) for item in includes):
            raise self._error("format-key-type", "includes", start, wanted='["evaluation", "checkpoint"]')
        return Clock(covers=covers, includes=tuple(includes), note=str(table.get("note", "")))  # type: ignore[arg-type]

    def _line(self, table: Mapping[str, Any], start: int) -> Line:
        self._check_keys(table, _LINE_KEYS, start)
        kind, pattern = self._text(table, "kind", start), self._text(table, "pattern", start)
        if kind not in get_args(LineKind):
            raise self._error("format-bad-value", "kind", start, value=kind, known=", ".join(get_args(LineKind)))
        pattern = bound_repeats(pattern)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", FutureWarning)  # `[[`: most likely a bracket too many
                regex = re.compile(pattern)
        except (re.error, OverflowError, RecursionError, FutureWarning) as problem:
            raise self._error("format-bad-pattern", "pattern", start, reason=str(problem)) from None
        if looks(pattern, longest=_LONGEST) > _MOST_LOOKS:
            raise self._error("format-slow-pattern", "pattern", start, example="{1,40}")
        unknown = [group for group in regex.groupindex if group not in GROUPS]
        if unknown:
            known = ", ".join(sorted(GROUPS))
            raise self._error("format-unknown-group", "pattern", start, group=unknown[0], known=known)
        return Line(
            kind,  # type: ignore[arg-type]
            pattern,
            sets=table.get("sets", {}),
            weak=bool(table.get("weak", False)),
        )

    def _samples(self, table: Mapping[str, Any], line: Line, start: int) -> Iterator[Sample]:
        given = table.get("sample", [])
        for text in [given] if isinstance(given, str) else given:
            if not isinstance(text, str):
                raise self._error("format-key-type", "sample", start, wanted='"…"')
            if line.regex.match(text) is None:
                column = give_up_at(line.pattern, text) + 1
                raise self._error("format-sample-missed", "sample", start, column=column, text=text)
            yield Sample(text, line.kind)

    def _text(self, table: Mapping[str, Any], key: str, start: int) -> str:
        value: str = self._typed(table, key, str, start)
        return value

    def _typed(self, table: Mapping[str, Any], key: str, wanted: type, start: int) -> Any:
        if key not in table:
            raise self._error("format-key-missing", key, start)
        value = table[key]
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            names = {str: '"…"', list: "[[…]]", dict: "[…]", bool: "true, false", int: "0, 1, 2, …"}
            raise self._error("format-key-type", key, start, wanted=names[wanted])
        return value

    def _check_keys(self, table: Mapping[str, Any], known: frozenset[str], start: int) -> None:
        for key in table:
            if key not in known:
                raise self._error("format-key-unknown", key, start, known=", ".join(sorted(known)))

    def _table_at(self, name: str, number: int) -> int:
        """The row at which the table of that name begins, for the row numbers of errors."""
        heads = [row for row, text in enumerate(self._rows) if re.match(rf"\s*\[\[?\s*{name}\s*\]", text)]
        return heads[number] if number < len(heads) else 0

    def _error(self, problem: str, key: str, start: int, **args: object) -> InputError:
        own = (row for row in range(start, len(self._rows)) if re.match(rf"\s*\[*{key}\b", self._rows[row]))
        row = next(own, start)
        excerpt = self._rows[row].strip()[:160] if row < len(self._rows) else None
        return InputError(problem, place=f"{self._path}:{row + 1}", excerpt=excerpt, field=key, **args)


def bound_repeats(pattern: str) -> str:
    """`.*` and `.+` with an end: what lies between two numbers is never far, and a long line must not take long."""
    out: list[str] = []
    in_class = False
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            out.append(pattern[position : position + 2])
            position += 2
            continue
        if char == "[" and not in_class:
            in_class = True
        elif char == "]" and in_class and pattern[position - 1] not in "[^":
            in_class = False
        follower = pattern[position + 1 : position + 2]
        if char == "." and not in_class and follower in {"*", "+"}:
            out.append(f".{{{0 if follower == '*' else 1},{_FAR}}}")
            position += 2
            continue
        out.append(char)
        position += 1
    return "".join(out)
