"""Columns that grow at the end, one value or a block of them at a time, as narrow as their values allow.

A block can be *staged* after the visible end and shown row by row later: that costs nothing per row, and what reads
the column in between sees exactly the rows that came before it in the file.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_FIRST_ROWS = 64
_HUGE_BYTES = 1 << 22  # NumPy asks for huge pages from here on


class Column:
    """One growing column. Whole numbers start as 32 bits and are widened when one does not fit."""

    __slots__ = ("_data", "_end", "_missing", "_num", "_num_shared")

    def __init__(self, dtype: npt.DTypeLike, missing: float = 0) -> None:
        """`missing` is the value of rows before the first one that has a value."""
        self._missing = missing
        self._data: npt.NDArray[Any] = np.empty(_FIRST_ROWS, dtype=dtype)
        self._num = 0
        self._end = 0  # the end of the staged rows
        self._num_shared = 0  # rows that were shared: copied before they are changed

    def __len__(self) -> int:
        return self._num

    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return self._data[: self._num][row]
        return self._data[row if row >= 0 else self._num + row].item()

    def __setitem__(self, row: int, value: float) -> None:
        row = row if row >= 0 else self._num + row
        if row < self._num_shared:
            self._grow(len(self._data))
        self._data[row] = value

    def append(self, value: float) -> None:
        """One more row."""
        if self._num == len(self._data):
            self._reserve(self._num + 1)
        if self._data.dtype == np.int32 and not -(1 << 31) <= value < 1 << 31:
            self._grow(len(self._data), np.int64)
        self._data[self._num] = value
        self._num += 1
        self._end = self._num

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Many more rows."""
        self.stage(values)
        self.show(len(values))

    def extend_at(self, row: int, values: npt.NDArray[Any]) -> None:
        """The values from row `row` on of a column that stays empty until one is there."""
        if self._num == 0:
            is_missing = np.isnan(values) if math.isnan(self._missing) else values == self._missing
            if is_missing.all():
                return
            self._fill_up(row)
        self.extend(values)

    def append_at(self, row: int, value: float) -> None:
        """The value of row `row` of a column that stays empty until one is there."""
        if self._num == 0:
            if value == self._missing or value != value:  # noqa: PLR0124 NaN
                return
            self._fill_up(row)
        self.append(value)

    def put(self, row: int, value: float, num: int) -> None:
        """Change the value of one of `num` rows of a column that stays empty until one is there."""
        if value != self._missing or self._num:
            self._fill_up(num)
            self[row] = value

    def stage_at(self, row: int, num: int, values: npt.NDArray[Any] | None) -> None:
        """Stage `num` values from row `row` on in a column that stays empty until one is there."""
        if self._num == 0 and values is None:
            return
        self._fill_up(row)
        self.stage(np.full(num, self._missing) if values is None else values)

    def _fill_up(self, row: int) -> None:
        """Give rows before `row` that have no value the missing one."""
        if row > self._num:
            self._reserve(row)
            self._data[self._num : row] = self._missing
            self._num = row

    def stage(self, values: npt.NDArray[Any]) -> None:
        """Put rows after the end, not yet visible; they replace rows staged before."""
        end = self._num + len(values)
        self._reserve(end)
        may_not_fit = self._data.dtype == np.int32 and values.itemsize > 4 and len(values)
        if may_not_fit and not -(1 << 31) <= values.min() <= values.max() < 1 << 31:
            self._grow(len(self._data), np.int64)
        self._data[self._num : end] = values
        self._end = end

    def show(self, num: int) -> None:
        """Make the next `num` staged rows visible."""
        self._num += num

    def cut(self, num: int) -> None:
        """Keep only the first `num` rows."""
        num = min(num, self._num)
        if num < self._num_shared:
            self._grow(len(self._data))
        self._num = num

    def share(self) -> npt.NDArray[Any]:
        """The rows so far, never to change: without a copy, because rows are only ever added after them."""
        self._num_shared = self._num
        rows = self._data[: self._num]
        rows.flags.writeable = False
        return rows

    def recode(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> None:
        """Replace each value by another, those of the staged rows too."""
        self._data, self._num_shared = change(self.with_staged()), 0

    def with_staged(self) -> npt.NDArray[Any]:
        """The rows so far and those staged after them."""
        return self._data[: max(self._num, self._end)]

    def expect(self, num: int) -> None:
        """Make room for `num` rows in all. Memory that is never written to costs nothing; copying it later does."""
        if num > len(self._data):
            self._grow(num)

    def _reserve(self, num: int) -> None:
        if num > len(self._data):
            self._grow(max(num, 2 * len(self._data)))

    def _grow(self, num: int, dtype: npt.DTypeLike | None = None) -> None:
        """Move to memory of our own with room for `num` rows."""
        grown = _room(num, np.dtype(dtype or self._data.dtype))
        grown[: self._num] = self._data[: self._num]
        self._data, self._num_shared = grown, 0


def _room(num: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Memory for `num` values.

    NumPy asks for huge pages, which the kernel clears two megabytes at a time, out of the cache again before they are
    written to; a column grows by less than that between two looks at it, so small pages are much cheaper here.
    """
    size = num * dtype.itemsize
    return np.empty(num, dtype) if size < _HUGE_BYTES else np.frombuffer(mmap.mmap(-1, size), dtype)
