"""Step rows on their way into the columns: one by one, or many that were read together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.decimals import Printed, take, unpack
from stepscope.lines.prefix import Prefix
from stepscope.run.model import NO_TIME, Floats, Ints

_BLOCK = 256  # rows spelled out together


class Row(NamedTuple):
    """A row that is not in the columns yet."""

    step: int
    figure: int
    loss: float | None
    mfu: float | None
    per: int
    line: int
    stamp: int
    data: float | None = None
    work: float = math.nan
    is_stamp_lent: bool = False  # the stamp is that of an earlier line


_as_row = partial(tuple.__new__, Row)  # of all its values: a third of the time that the class takes itself


@dataclass
class RowBatch:
    """Step rows that were read together, in the order of the file; a column that none of them has is None."""

    step: Ints
    line: Ints
    figure: Printed | Ints | None  # nanoseconds
    loss: Printed | Floats | None
    is_bad: npt.NDArray[np.bool_] | None  # where a loss is printed and is no number
    mfu: Printed | Floats | None  # in percent
    data: Floats | None
    work: Floats | None
    t_ns: Ints | None
    epoch: Ints | None
    mean: Floats | None  # seconds of a step since the epoch began, and of its wait for data
    mean_wait: Floats | None
    mean_tick: Floats | None  # the last digit of the mean
    prefix: Prefix | None  # that all stamps are like
    placed: Ints | None = None  # the stamps as they count: days, years and set clocks added
    states_totals: bool = False  # a line of theirs says how many steps there are
    _block: int = field(default=-1, init=False, repr=False, compare=False)  # of rows spelled out last
    _spelled: list[Row] = field(default_factory=list, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.step)

    def _replace(self, **columns: Any) -> RowBatch:
        """The same rows with other columns."""
        return replace(self, **columns)

    def part(self, first: int, last: int) -> RowBatch:
        """The rows from `first` up to `last`."""
        return self if last - first == len(self.step) else _Part(self, first, last)

    def rows(self) -> list[Row]:
        """The rows one by one."""
        return list(self.spelled_out(0, len(self)))

    def spelled_out(self, first: int, last: int) -> Iterator[Row]:
        """The rows from `first` up to `last` one by one; their neighbours are worked out with them."""
        while first < last:
            block = first // _BLOCK
            if block != self._block:
                self._block, self._spelled = block, self._spell_out(slice(block * _BLOCK, (block + 1) * _BLOCK))
            yield from self._spelled[first % _BLOCK : last - block * _BLOCK]
            first = (block + 1) * _BLOCK

    def _spell_out(self, rows: slice) -> list[Row]:
        step = self.step[rows].tolist()
        num = len(step)

        def values(column: Printed | npt.NDArray[Any] | None, nothing: Any) -> list[Any]:
            return [nothing] * num if column is None else unpack(take(column, rows)).tolist()

        # A loss that is there and is no number is told apart from one that is not there.
        loss = [
            None if value is None or (math.isnan(value) and not bad) else value
            for value, bad in zip(values(self.loss, None), values(self.is_bad, nothing=False), strict=True)
        ]
        every = zip(
            step,
            values(self.figure, NO_TIME),
            loss,
            values(self.mfu, None),
            repeat(0, num),
            self.line[rows].tolist(),
            values(self.placed, NO_TIME),
            values(self.data, None),
            values(self.work, math.nan),
            repeat(Row._field_defaults["is_stamp_lent"], num),
            strict=True,
        )
        return list(map(_as_row, every))


class _Part(RowBatch):
    """Some rows of a batch. A column is cut out when somebody asks for it: of a row or two, nobody does."""

    def __init__(self, whole: RowBatch, first: int, last: int) -> None:
        self._whole, self._first, self._last = whole, first, last
        self.prefix, self.placed, self.states_totals = whole.prefix, None, whole.states_totals

    def __getattr__(self, name: str) -> Any:
        if name not in _COLUMNS:
            raise AttributeError(name)
        column = take(getattr(self._whole, name), slice(self._first, self._last))
        setattr(self, name, column)
        return column

    def __len__(self) -> int:
        return self._last - self._first

    def _replace(self, **columns: Any) -> RowBatch:
        return RowBatch(
            **{name: getattr(self, name) for name in (*_COLUMNS, "prefix", "placed", "states_totals")} | columns
        )

    def spelled_out(self, first: int, last: int) -> Iterator[Row]:
        return self._whole.spelled_out(self._first + first, self._first + last)


_COLUMNS = (
    *("step", "line", "figure", "loss", "is_bad", "mfu", "data", "work", "t_ns"),
    *("epoch", "mean", "mean_wait", "mean_tick"),
)
