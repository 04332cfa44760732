"""Read lines of one shape all at once: the engine behind reading at the speed of the disk.

Lines of equal length that differ only in their digits form a *template*. The ordinary reader (prefix, claim, figures)
is asked once per template what its line is and where its numbers stand; then the numbers of all its lines are computed
together. No format knows about this: whatever the ordinary reader understands and whose numbers are plain digits is
read this way, and every other line goes the ordinary way, in its place among the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.builder import RunBuilder
from stepscope.formats._base import Format
from stepscope.formats._claim import claim
from stepscope.formats._figures import AHEAD, CLOCK_FIGURES, SCALES, parse_clock, whole
from stepscope.formats._notices import closing_words
from stepscope.formats._prefix import Prefix, stamp_ns
from stepscope.run import NO_TIME, Floats, Ints
from stepscope.source.lines import ANSI, clean
from stepscope.units import NS

_LEAST_LINES = 8  # fewer lines of one shape are quicker read one by one
_LINE_BYTES = (8, 1000)
_MAX_TEMPLATES = 16  # per length of line
_BLOCK = 1024
_MAX_DIGITS = 15  # whole numbers of so many digits are exact in a double
_SLOW, _STEP, _NOTHING = 0, 1, 2
_NUMBER = re.compile(r"[+-]?\d[\d,_]*(?:\.\d*)?|[+-]?\.\d+")
_CONSTANT = re.compile(r"[+-]?(?:nan|inf)", re.IGNORECASE)
_MAX_NS = 10**18
# Figures that few formats have: not worth a fast way of their own.
_SELDOM = ("stamp", "unix_s", "unix_ms", "per_steps", "samples_per_s", "tokens", "tokens_per_s")
_MAX_STEP = 1 << 53

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


class _Number(NamedTuple):
    """Digits at fixed places of a line: their positions, how many stand behind the point, and the sign."""

    places: tuple[int, ...]
    decimals: int
    sign: int


class _Row(NamedTuple):
    """What a step line of a template is made of; each entry says which numbers it needs (by index)."""

    numbers: tuple[_Number, ...]
    step: Callable[[list[Floats]], Floats]
    seconds: Callable[[list[Floats]], Floats] | None
    loss: int | float | None
    mfu: int | None
    data: int | None
    fixed: tuple[tuple[int, float], ...]  # numbers that must stay what they are, such as the total
    stamp: Callable[[list[Floats]], Ints] | None
    prefix: Prefix | None
    told: tuple[int | None, ...]  # the total, the epochs and the batches that the line tells
    rank: int | None


class _Template(NamedTuple):
    mask: Words
    value: Words
    digit_mask: Words
    digit_value: Words
    digit_add: Words
    kind: int
    row: _Row | None
    weights: Floats
    offset: Floats


class BulkReader:
    """Feeds a builder with whole lines of bytes."""

    def __init__(self, fmt: Format, builder: RunBuilder) -> None:
        self._format = fmt
        self._builder = builder
        self._templates: dict[int, list[_Template]] = {}

    def feed(self, data: bytes) -> None:
        """Take bytes that end with the end of a line."""
        padded = np.frombuffer(data + b"\0" * 8, dtype=np.uint8)
        starts, lengths = _lines(data, padded)
        num = len(starts)
        kinds = np.where(lengths == 0, _NOTHING, _SLOW).astype(np.int8)
        columns = _Columns(num)
        sizes = np.bincount(np.minimum(lengths, _LINE_BYTES[1]), minlength=1)
        for length in np.flatnonzero(sizes >= _LEAST_LINES).tolist():
            if _LINE_BYTES[0] <= length < _LINE_BYTES[1]:
                width = (length + 7) // 8 * 8
                lines = np.flatnonzero(lengths == length)
                records = np.ndarray((len(padded) - width + 1,), dtype=f"V{width}", buffer=padded, strides=(1,))
                matrix = records[starts[lines]].view(np.uint8).reshape(len(lines), width)
                self._read_length(lines, matrix, length, kinds, columns)
        self._hand_over(data, starts, lengths, kinds, columns)

    def _read_length(
        self, lines: Ints, matrix: Bytes, length: int, kinds: npt.NDArray[np.int8], columns: _Columns
    ) -> None:
        """Lines of one length: find their templates, fill in the numbers of those that are steps."""
        known = self._templates.setdefault(length, [])
        tried = 0
        while len(lines) >= _LEAST_LINES:
            if tried == len(known):
                if len(known) >= _MAX_TEMPLATES:
                    return
                known.append(_make_template(self._format, matrix[0, :length].tobytes(), matrix.shape[1]))
            template = known[tried]
            tried += 1
            fits = _fits(matrix, template)
            if not fits.any():
                continue
            if template.kind == _STEP and template.row is not None and self._is_known(template.row):
                own = lines[fits]
                good = columns.fill(own, matrix[fits], template, template.row)
                kinds[own[good]] = _STEP
            elif template.kind == _NOTHING:
                kinds[lines[fits]] = _NOTHING
            lines, matrix = lines[~fits], matrix[~fits]

    def _is_known(self, row: _Row) -> bool:
        """Whether lines of a template are the run's own and tell no new total: all else is for the builder to judge."""
        builder = self._builder
        return row.rank in (None, builder.own_rank) and all(
            own is None or own == known for own, known in zip(row.told, builder.told, strict=True)
        )

    def _hand_over(
        self, data: bytes, starts: Ints, lengths: Ints, kinds: npt.NDArray[np.int8], columns: _Columns
    ) -> None:
        """Give the builder everything in the order of the file."""
        builder = self._builder
        base = builder.num_lines
        rows = np.flatnonzero(kinds == _STEP)
        slow = np.flatnonzero(kinds == _SLOW)
        before = np.searchsorted(rows, slow).tolist()
        done = 0
        for line, upto in zip(slow.tolist(), before, strict=True):
            if upto > done:
                columns.give(builder, rows[done:upto], base)
                done = upto
            builder.num_lines = base + line
            raw = data[starts[line] : starts[line] + lengths[line]]
            builder.add(clean(raw.decode("utf-8", errors="replace")))
        if done < len(rows):
            columns.give(builder, rows[done:], base)
        builder.num_lines = base + len(kinds)


class _Columns:
    """Numbers of the lines of one chunk, at the place of their line."""

    def __init__(self, num: int) -> None:
        self.step = np.empty(num, dtype=np.int64)
        self.figure = np.full(num, NO_TIME, dtype=np.int64)
        self.loss = np.empty(num)
        self.has_loss = np.zeros(num, dtype=bool)
        self.mfu = np.empty(num)
        self.data = np.empty(num)
        self.t_ns = np.full(num, NO_TIME, dtype=np.int64)
        self.prefix: Prefix | None = None

    def fill(self, lines: Ints, matrix: Bytes, template: _Template, row: _Row) -> np.ndarray:
        """Compute the numbers of lines of one template; which of them are sound."""
        numbers = np.empty((len(lines), len(row.numbers)))
        for start in range(0, len(lines), _BLOCK):
            block = matrix[start : start + _BLOCK].astype(np.float64)
            numbers[start : start + _BLOCK] = block @ template.weights + template.offset
        values = [
            numbers[:, index] * number.sign / 10.0**number.decimals
            if number.decimals
            else numbers[:, index] * number.sign
            for index, number in enumerate(row.numbers)
        ]
        step = row.step(values)
        good = (step >= 0) & (step < _MAX_STEP)
        for index, fixed in row.fixed:
            good &= values[index] == fixed
        if row.seconds is not None:
            nanos = np.rint(row.seconds(values) * NS)
            good &= (nanos >= 0) & (nanos < _MAX_NS)
            self.figure[lines] = np.where(good, nanos, 0).astype(np.int64)
        self.step[lines] = np.where(good, step, 0).astype(np.int64)
        self.has_loss[lines] = row.loss is not None
        self.loss[lines] = math.nan if row.loss is None else values[row.loss] if isinstance(row.loss, int) else row.loss
        self.mfu[lines] = math.nan if row.mfu is None else values[row.mfu]
        self.data[lines] = math.nan if row.data is None else values[row.data]
        if row.stamp is not None:
            self.t_ns[lines] = row.stamp(values)
            self.prefix = row.prefix
        return good

    def give(self, builder: RunBuilder, lines: Ints, base: int) -> None:
        """Hand rows to the builder."""
        builder.add_rows(
            step=self.step[lines],
            figure=self.figure[lines],
            loss=self.loss[lines],
            has_loss=self.has_loss[lines],
            mfu=self.mfu[lines],
            data=self.data[lines],
            line=lines + base + 1,
            t_ns=self.t_ns[lines] if self.prefix is not None else None,
            prefix=self.prefix,
        )


def _lines(data: bytes, padded: Bytes) -> tuple[Ints, Ints]:
    """Where each line starts, and how long it is; a carriage return ends a line too, and "\\r\\n" only once."""
    body = padded[: len(data)]
    if b"\r" not in data:
        ends = np.flatnonzero(body == 10)
        return np.concatenate([[0], ends[:-1] + 1]), np.diff(ends, prepend=-1) - 1
    ends = np.flatnonzero((body == 10) | (body == 13))
    is_second = (body[ends] == 10) & (np.concatenate([[0], body[:-1]])[ends] == 13)
    firsts = ends[~is_second]
    skip = np.where((body[firsts] == 13) & (padded[firsts + 1] == 10), 2, 1)
    starts = np.concatenate([[0], (firsts + skip)[:-1]])
    return starts, firsts - starts


def _fits(matrix: Bytes, template: _Template) -> np.ndarray:
    words = matrix.view(np.uint64)
    same = (words & template.mask) == template.value
    digits = ((words + template.digit_add) & template.digit_mask) == template.digit_value
    fits: np.ndarray = (same & digits).all(axis=1)
    return fits


def _make_template(fmt: Format, line: bytes, width: int) -> _Template:
    """The template of a line: digits may be any digits, everything else must be the same."""
    raw = np.frombuffer(line.ljust(width, b"\0"), dtype=np.uint8)
    inside = np.arange(width) < len(line)
    is_digit = (raw >= 48) & (raw <= 57) & inside
    mask = np.where(inside, np.where(is_digit, 0xF0, 0xFF), 0).astype(np.uint8)
    value = np.where(is_digit, 0x30, np.where(inside, raw, 0)).astype(np.uint8)
    digit_mask = np.where(is_digit, 0xF0, 0).astype(np.uint8)
    # 6 more than a digit still begins with 3; 6 more than ":" to "?" does not.
    add = np.where(is_digit, 6, 0).astype(np.uint8)
    digit_value = np.where(is_digit, 0x30, 0).astype(np.uint8)
    kind, row, fixed = _plan(fmt, line)
    mask[fixed] = 0xFF
    value[fixed] = raw[fixed]
    numbers = row.numbers if row else ()
    weights = np.zeros((width, len(numbers)))
    for column, number in enumerate(numbers):
        for power, place in enumerate(reversed(number.places)):
            weights[place, column] = 10.0**power
    return _Template(
        mask=mask.view(np.uint64),
        value=value.view(np.uint64),
        digit_mask=digit_mask.view(np.uint64),
        digit_value=digit_value.view(np.uint64),
        digit_add=add.view(np.uint64),
        kind=kind,
        row=row,
        weights=weights,
        offset=-48.0 * weights.sum(axis=0),
    )


def _plan(fmt: Format, line: bytes) -> tuple[int, _Row | None, list[int]]:
    """What the ordinary reader makes of a line, how to compute its numbers, and which digits must stay as they are.

    Slow when the line or a number in it is not plain.
    """
    if not line.isascii() or b"\x08" in line or b"\0" in line:
        return _SLOW, None, []
    raw = line.decode("ascii")
    kept = list(range(len(raw)))
    if "\x1b" in raw:
        hidden = {index for code in ANSI.finditer(raw) for index in range(*code.span())}
        kept = [index for index in kept if index not in hidden]
    text = "".join(raw[index] for index in kept)
    stripped = text.strip()
    if not stripped:
        return _NOTHING, None, []
    found = claim(fmt, stripped)
    if found.which is None or found.match is None:
        return _SLOW, None, []
    stamped = found.prefix is not None and found.prefix.t_ns is not None
    kind = fmt.lines[found.which].kind
    if kind == "chatter":
        return (_SLOW if stamped or closing_words(found.text) else _NOTHING), None, []
    if kind != "step" or fmt.lines[found.which].sets or fmt.bars_nest or fmt.clock_is_epoch or _tells_ahead(fmt):
        return _SLOW, None, []
    lead = len(text) - len(text.lstrip())
    offset = lead + len(stripped) - len(found.text)
    try:
        plan = _Planner(found.match.groupdict(), found.match, kept, offset, fmt)
        row = plan.row(found.prefix if stamped else None, lead)
    except _NotPlainError:
        return _SLOW, None, []
    if found.prefix is None or found.prefix.rank is None:
        return _STEP, row, []
    # A rank is no number to compute: each rank has a template of its own.
    first, last = found.prefix.rank_span
    return _STEP, row._replace(rank=found.prefix.rank), [kept[lead + index] for index in range(first, last)]


@cache
def _tells_ahead_of(lines: tuple[str, ...]) -> bool:
    return any(f"?P<{name}>" in line for line in lines for name in AHEAD)


def _tells_ahead(fmt: Format) -> bool:
    """Whether lines before a step line may hold its number: then no step line stands for itself."""
    return _tells_ahead_of(tuple(line.pattern for line in fmt.lines if line.kind in {"fact", "start", "resume"}))


class _NotPlainError(Exception):
    """A number of this line is not plain digits: read it the ordinary way."""


class _Planner:
    """Finds the places of a line's numbers."""

    def __init__(
        self, groups: dict[str, str | None], match: re.Match[str], kept: list[int], offset: int, fmt: Format
    ) -> None:
        self._groups = groups
        self._match = match
        self._kept = kept
        self._offset = offset
        self._format = fmt
        self._numbers: list[_Number] = []

    def row(self, prefix: Prefix | None, lead: int) -> _Row:
        groups = self._groups
        if any(groups.get(name) for name in _SELDOM):
            raise _NotPlainError
        step = self._step()
        seconds = self._seconds()
        loss: int | float | None = None
        if groups.get("loss"):
            loss = float(groups["loss"] or "nan") if _CONSTANT.fullmatch(groups["loss"] or "") else self._plain("loss")
        mfu = None
        if groups.get("mfu_pct") and not _CONSTANT.fullmatch(groups["mfu_pct"] or ""):
            mfu = self._plain("mfu_pct")
        data = self._plain("data_s") if groups.get("data_s") else None
        fixed = []
        for name in ("total", "epochs", "batches"):
            if groups.get(name):
                index = self._plain(name)
                fixed.append((index, float((groups[name] or "").replace(",", "").replace("_", ""))))
        stamp = self._stamp(prefix, lead) if prefix is not None else None
        return _Row(
            numbers=tuple(self._numbers),
            step=step,
            seconds=seconds,
            loss=loss,
            mfu=mfu,
            data=data,
            fixed=tuple(fixed),
            stamp=stamp,
            prefix=prefix,
            told=tuple(whole(groups.get(name)) for name in ("total", "epochs", "batches")),
            rank=None,
        )

    def _plain(self, name: str) -> int:
        text = self._groups[name] or ""
        if not _NUMBER.fullmatch(text):
            raise _NotPlainError
        return self._add(self._match.start(name), text)

    def _add(self, start: int, text: str, *, shift: int | None = None) -> int:
        """Remember a number that stands at `start` of the matched text; its index."""
        base = (self._offset if shift is None else shift) + start
        places = tuple(self._kept[base + index] for index, char in enumerate(text) if char.isdigit())
        if not 0 < len(places) <= _MAX_DIGITS:
            raise _NotPlainError
        decimals = len(text.partition(".")[2])
        self._numbers.append(_Number(places, decimals, -1 if text.startswith("-") else 1))
        return len(self._numbers) - 1

    def _step(self) -> Callable[[list[Floats]], Floats]:
        if self._groups.get("step"):
            index = self._plain("step")
            return lambda values: values[index]
        if not self._groups.get("batch"):
            raise _NotPlainError
        batch = self._plain("batch")
        if not self._groups.get("epoch"):
            return lambda values: values[batch]
        if not self._groups.get("batches"):
            raise _NotPlainError
        epoch, length = self._plain("epoch"), self._plain("batches")
        first = self._format.first_epoch
        return lambda values: (values[epoch] - first) * values[length] + values[batch]

    def _seconds(self) -> Callable[[list[Floats]], Floats] | None:
        for name, scale in SCALES.items():
            text = self._groups.get(name)
            if not text:
                continue
            if name not in CLOCK_FIGURES:
                index = self._plain(name)
                return lambda values, scale=scale, index=index: scale(values[index])  # type: ignore[misc]
            return self._clock(name, text)
        return None

    def _clock(self, name: str, text: str) -> Callable[[list[Floats]], Floats]:
        """A clock such as 1:02:03 is a sum of its numbers; what each counts is found by asking with one of them."""
        tokens = list(re.finditer(r"\d+(?:\.\d+)?", text))
        zero = re.sub(r"\d", "0", text)
        factors = []
        for token in tokens:
            decimals = len(token[0].partition(".")[2])
            whole = token.end() - (decimals + 1 if decimals else 0)
            probe = zero[: whole - 1] + "1" + zero[whole:]
            seconds = parse_clock(probe)
            if seconds is None:
                raise _NotPlainError
            factors.append(seconds)
        indices = [self._add(self._match.start(name) + token.start(), token[0]) for token in tokens]
        return lambda values: sum(  # type: ignore[return-value]
            factor * values[index] for factor, index in zip(factors, indices, strict=True)
        )

    def _stamp(self, prefix: Prefix, lead: int) -> Callable[[list[Floats]], Ints]:
        match = prefix.match
        if match is None or prefix.daily or match.groupdict().get("half"):
            raise _NotPlainError
        parts = {name: text for name, text in match.groupdict().items() if text and name not in {"z", "m"}}
        indices = {name: self._add(match.start(name), text, shift=lead) for name, text in parts.items()}
        month = match.groupdict().get("m")
        zone = match.groupdict().get("z")
        digits = len(parts.get("f", ""))

        def stamp(values: list[Floats]) -> Ints:
            return stamp_ns(
                {name: values[index] for name, index in indices.items()}, month=month, zone=zone, decimals=digits
            )

        return stamp
