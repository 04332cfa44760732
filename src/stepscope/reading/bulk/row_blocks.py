"""The numbers of a chunk's step lines, put together in the order of the file."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.decimals import MISSING, Code, Decimals, Nanos, Printed, fits_narrow, take, unpack
from stepscope.core.units import NS
from stepscope.lines.prefix import Prefix
from stepscope.reading.bulk.numbers import Floats, Ints, Scratch, Words, floats, whole_numbers
from stepscope.reading.bulk.row_recipe import MAX_NS, RowRecipe
from stepscope.reading.rows import RowBatch
from stepscope.run.model import NO_TIME

Bools = npt.NDArray[np.bool_]
_MISSING = {
    **{"step": 0, "figure": NO_TIME, "t_ns": NO_TIME, "is_bad": 0},
    **dict.fromkeys(("loss", "mfu", "data", "work", "mean", "mean_wait", "mean_tick"), math.nan),
    "epoch": -1,
}
_OPTIONAL = ("figure", "loss", "mfu", "data", "work", "t_ns", "epoch", "mean", "mean_wait", "mean_tick")


class _Group(NamedTuple):
    """Lines of one shape. The columns are scratch memory: good until the next group is computed."""

    lines: Ints
    step: Ints
    figure: Printed | Ints | None
    loss: Printed | Floats | None
    is_bad: bool
    mfu: Printed | Floats | None
    data: Floats | None
    work: Floats | None
    t_ns: Ints | None
    epoch: Ints | None = None
    mean: Floats | None = None
    mean_wait: Floats | None = None
    mean_tick: Floats | None = None

    def only(self, good: Bools) -> _Group:
        """Those lines that are sound."""
        others = {name: take(getattr(self, name), good) for name in _OPTIONAL}
        return _Group(lines=self.lines[good], step=self.step[good], is_bad=self.is_bad, **others)


class RowBlock:
    """The rows of one chunk, group by group."""

    def __init__(self, num_lines: int, scratch: Scratch) -> None:
        self._num_lines = num_lines
        self._scratch = scratch
        self._only: _Group | None = None  # while there is a single group, nothing needs to be put in order
        self._spread: dict[str, npt.NDArray[Any]] = {}
        self._codes: dict[str, Code | None] = {}  # where the spread numbers are those printed
        self._prefix: Prefix | None = None
        self._num_groups = 0
        self._states_totals = False

    def accepts(self, row: RowRecipe) -> bool:
        """Whether these lines are stamped like the others: the stamps of a chunk are of one kind, or read singly."""
        return not self._num_groups or _stamp_kind(row.prefix) == _stamp_kind(self._prefix)

    def add(self, row: RowRecipe, lines: Ints, words: Words) -> Bools | None:
        """Compute the numbers of lines of one shape; which of them are sound, None for all."""
        if self._only is not None:
            self._spread_out(self._only)
            self._only = None
        group, good = self._compute(row, lines, words)
        if good is not None:
            group = group.only(good)
        if not len(group.lines):
            return good
        self._num_groups += 1
        self._prefix = row.prefix
        self._states_totals = self._states_totals or any((row.total, row.batches, row.epochs))
        if self._num_groups == 1:
            self._only = group
        else:
            self._spread_out(group)
        return good

    def _compute(self, row: RowRecipe, lines: Ints, words: Words) -> tuple[_Group, Bools | None]:
        scratch, num = self._scratch, len(lines)
        whole = [
            whole_numbers(number, words, scratch, scratch.words(f"number{index}", num).view(np.int64))
            for index, number in enumerate(row.numbers)
        ]

        def as_floats(index: int) -> Floats:
            return floats(row.numbers[index], whole[index], words, scratch)

        def as_printed(index: int) -> Printed | Floats:
            number = row.numbers[index]
            if number.exponent is not None:
                return as_floats(index)
            if number.sign < 0:
                np.negative(whole[index], out=whole[index])
            return Printed(whole[index], Decimals(number.decimals))

        step = row.step(whole)
        figure = None if row.figure is None else row.figure(whole, as_floats)
        loss: Printed | Floats | None = None
        is_bad = row.loss is not None and row.loss.constant is not None
        if row.loss is not None:
            constant = row.loss.constant
            loss = as_printed(row.loss.number) if constant is None else np.full(num, constant)
        good = _sound(step, figure, None if is_bad else loss)
        mfu = None if row.mfu is None else as_printed(row.mfu)
        data = None if row.data is None else as_floats(row.data)
        work = None if row.tokens is None else as_floats(row.tokens)
        if work is None and row.tokens_per_s is not None and figure is not None:
            nanos = unpack(figure)
            work = np.where(nanos > 0, as_floats(row.tokens_per_s) * nanos / NS, np.nan)
        t_ns = None if row.stamp is None else row.stamp(whole)
        figure, loss, mfu = (_narrow(column) for column in (figure, loss, mfu))
        epoch = mean = wait = tick = None
        if row.means is not None:
            epoch = None if row.means.epoch is None else whole[row.means.epoch]
            mean = as_floats(row.means.mean)
            wait = None if row.means.wait is None else as_floats(row.means.wait)
            tick = np.full(num, row.means.tick_s)
        return _Group(lines, step, figure, loss, is_bad, mfu, data, work, t_ns, epoch, mean, wait, tick), good

    def _spread_out(self, group: _Group) -> None:
        """Put a group's numbers to the places of their lines."""
        for name, nothing in _MISSING.items():
            values = getattr(group, name)
            if values is None or values is False:
                continue
            if name not in self._spread:
                code = values.code if isinstance(values, Printed) else None
                self._spread[name] = self._blank(name, nothing if code is None else MISSING)
                self._codes[name] = code
            code = self._codes[name]
            if isinstance(values, Printed) and values.code == code:
                self._spread[name][group.lines] = values.numbers
                continue
            if code is not None:  # printed in another way than those before
                self._spread[name], self._codes[name] = code.decode(self._spread[name]), None
            self._spread[name][group.lines] = values if values is True else unpack(values)

    def _blank(self, name: str, nothing: float) -> npt.NDArray[Any]:
        dtype = np.float64 if math.isnan(nothing) else np.int64
        column: npt.NDArray[Any] = self._scratch.words(f"spread {name}", self._num_lines).view(dtype)
        column.fill(nothing)
        return column

    def rows(self, is_row: Bools) -> RowBatch | None:
        """All rows in the order of their lines, which are counted from 0 at the beginning of the chunk."""
        if self._only is not None:
            step, lines = self._only.step, self._only.lines
            is_bad = np.ones(len(step), dtype=bool) if self._only.is_bad else None
            return self._batch(step, lines, is_bad, {name: getattr(self._only, name) for name in _OPTIONAL})
        if not self._num_groups:
            return None
        lines = np.flatnonzero(is_row)
        columns: dict[str, Any] = {name: column[lines] for name, column in self._spread.items()}
        for name, code in self._codes.items():
            if code is not None:
                columns[name] = Printed(columns[name], code)
        is_bad = columns["is_bad"] != 0 if "is_bad" in columns else None
        return self._batch(columns["step"], lines, is_bad, {name: columns.get(name) for name in _OPTIONAL})

    def _batch(self, step: Ints, lines: Ints, is_bad: Bools | None, others: dict[str, Any]) -> RowBatch:
        return RowBatch(
            step=step, line=lines, is_bad=is_bad, prefix=self._prefix, states_totals=self._states_totals, **others
        )


def _stamp_kind(prefix: Prefix | None) -> tuple[bool, bool, bool, int] | None:
    return None if prefix is None else (prefix.dated, prefix.zoned, prefix.daily, prefix.decimals)


def _narrow(column: Printed | npt.NDArray[Any] | None) -> Any:
    """Printed numbers as they will be kept, if they fit: done here, outside the thread that hands them over."""
    if isinstance(column, Printed) and fits_narrow(column.numbers):
        return Printed(column.numbers.astype(np.int32), column.code)
    return column


def _count(figure: Printed | Ints) -> tuple[npt.NDArray[Any], int]:
    """Times as they are kept, and which of those are too long to be one."""
    if isinstance(figure, Printed):
        assert isinstance(figure.code, Nanos)
        return figure.numbers, MAX_NS // figure.code.unit
    return figure, MAX_NS


def _sound(step: Ints, figure: Printed | Ints | None, loss: Printed | Floats | None) -> Bools | None:
    """Which rows have numbers that can be what they say; None where all have."""
    sound: list[Bools] = []
    if step.min(initial=0) < 0:
        sound.append(step >= 0)
    if figure is not None:
        counted, most = _count(figure)
        if counted.min(initial=0) < 0 or counted.max(initial=0) >= most:
            sound.append((counted >= 0) & (counted < most))
    if loss is not None and not isinstance(loss, Printed) and np.isnan(loss).any():
        sound.append(~np.isnan(loss))
    return np.logical_and.reduce(sound) if sound else None
