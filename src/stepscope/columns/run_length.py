"""A growing column of whole numbers that mostly go up evenly, kept as the pieces in which they do.

The steps of a log and the numbers of its lines are such columns: of a log with millions of rows they take next to
nothing. Numbers that follow no such order are kept one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.column import Column

_FEW_PIECES = 64  # this few are always kept as pieces
_LOOKED_AT = 9  # rises that are looked at to find the usual one
_ROWS_PER_PIECE = 16  # fewer than this, and single numbers are smaller

Ints = npt.NDArray[np.int64]


class Pieces(NamedTuple):
    """Numbers as pieces: where each begins, its first number, by how much it goes up."""

    starts: tuple[int, ...]
    firsts: tuple[int, ...]
    rises: tuple[int, ...]
    num: int

    def unpack(self) -> npt.NDArray[Any]:
        """The numbers themselves, as narrow as they may be."""
        if not self.num:
            return np.empty(0, dtype=np.int32)
        starts, firsts, rises = (np.array(part, dtype=np.int64) for part in (self.starts, self.firsts, self.rises))
        lengths = np.diff(starts, append=self.num)
        lasts = firsts + (lengths - 1) * rises
        limit = max(int(np.abs(firsts).max()), int(np.abs(lasts).max()), self.num * int(np.abs(rises).max() + 1))
        values: npt.NDArray[Any] = np.arange(self.num, dtype=np.int32 if limit < 1 << 31 else np.int64)
        if (rises == rises[0]).all():
            values *= int(rises[0])
        else:
            values *= np.repeat(rises, lengths).astype(values.dtype)
        values += np.repeat((firsts - starts * rises).astype(values.dtype), lengths)
        return values

    def take(self, rows: slice | npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The numbers of some rows, without those of all: by a slice that skips none, or by the rows' own numbers."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.num)[:2], dtype=np.int64)
        starts, firsts, rises = (np.array(part, dtype=np.int64) for part in (self.starts, self.firsts, self.rises))
        piece = np.searchsorted(starts, rows, side="right") - 1
        found: npt.NDArray[Any] = firsts[piece] + (rows - starts[piece]) * rises[piece]
        return found


class RunLengthColumn:
    """One growing column, read and written like any other."""

    __slots__ = ("_dense", "_firsts", "_num", "_rises", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._firsts: list[int] = []
        self._rises: list[int] = []
        self._num = 0
        self._dense: Column | None = None  # the numbers one by one, once they turned out to follow no order

    def __len__(self) -> int:
        return self._num if self._dense is None else len(self._dense)

    def __getitem__(self, row: int | slice) -> Any:
        if self._dense is not None:
            return self._dense[row]
        if isinstance(row, slice):
            first, end, _ = row.indices(self._num)
            return self._upto(max(first, end)).unpack()[row]
        row = row if row >= 0 else self._num + row
        if not 0 <= row < self._num:
            raise IndexError(row)
        piece = bisect_right(self._starts, row) - 1
        return self._firsts[piece] + (row - self._starts[piece]) * self._rises[piece]

    @property
    def last(self) -> int | None:
        """The number of the last row; None before the first. Asked for with every row, and so without a search."""
        if self._dense is not None:
            return self._dense[-1] if len(self._dense) else None
        if not self._num:
            return None
        piece = len(self._starts) - 1
        while self._starts[piece] >= self._num:  # staged rows
            piece -= 1
        return self._firsts[piece] + (self._num - 1 - self._starts[piece]) * self._rises[piece]

    def append(self, value: int) -> None:
        """One more row."""
        if self._dense is not None:
            self._dense.append(value)
            return
        self._drop_staged()
        if self._starts:
            since = self._num - self._starts[-1]
            if since == 1:
                self._rises[-1] = value - self._firsts[-1]
            if value == self._firsts[-1] + since * self._rises[-1]:
                self._num += 1
                return
        self._begin(self._num, value, 0)
        self._num += 1
        self._check_order()

    def extend(self, values: Ints) -> None:
        """Many more rows."""
        self.stage(values)
        self.show(len(values))

    def stage(self, values: Ints) -> None:
        """Put rows after the end, not yet visible; they replace rows staged before."""
        if self._dense is not None:
            self._dense.stage(values)
            return
        if not len(values):
            return
        self._drop_staged()
        num = len(values)
        rises = values[1:] - values[:-1]
        # The most frequent of a few rises: a single one may be off because of another kind of line in between.
        some = rises[:: max(1, num // _LOOKED_AT)].tolist()
        rise = max(some, key=some.count, default=0)
        breaks = (np.flatnonzero(rises != rise) + 1).tolist()
        goes_on = bool(self._starts) and (
            self._rises[-1] == rise and values[0] == self._firsts[-1] + (self._num - self._starts[-1]) * rise
        )
        for at in breaks if goes_on else [0, *breaks]:
            self._begin(self._num + at, int(values[at]), rise)
        self._check_order(num)
        if self._dense is not None:
            self._dense.stage(values)

    def show(self, num: int) -> None:
        """Make the next `num` staged rows visible."""
        if self._dense is not None:
            self._dense.show(num)
        else:
            self._num += num

    def cut(self, num: int) -> None:
        """Keep only the first `num` rows."""
        if self._dense is not None:
            self._dense.cut(num)
        else:
            self._num = min(num, self._num)
            self._drop_staged()

    def share(self) -> Pieces | npt.NDArray[Any]:
        """The rows so far, never to change."""
        if self._dense is not None:
            return self._dense.share()
        return self._upto(self._num)

    def _upto(self, num: int) -> Pieces:
        known = bisect_right(self._starts, num - 1)
        return Pieces(tuple(self._starts[:known]), tuple(self._firsts[:known]), tuple(self._rises[:known]), num)

    def rows_upto(self, numbers: Ints) -> Ints:
        """How many rows hold at most each of these numbers, of a column that only rises. Unpacks nothing."""
        if self._dense is not None:
            return np.searchsorted(self._dense.share(), numbers, side="right").astype(np.int64)
        known = self._upto(self._num)
        starts, firsts, rises = (np.array(part, dtype=np.int64) for part in known[:3])
        if not len(starts):
            return np.zeros(len(numbers), dtype=np.int64)
        lengths = np.diff(starts, append=self._num)
        piece = np.searchsorted(firsts, numbers, side="right") - 1
        own = np.maximum(piece, 0)
        inside = np.minimum((numbers - firsts[own]) // np.maximum(rises[own], 1) + 1, lengths[own])
        return np.where(piece < 0, 0, starts[own] + inside)

    def expect(self, num: int) -> None:
        """Make room for `num` rows in all."""
        if self._dense is not None:
            self._dense.expect(num)

    def _begin(self, row: int, first: int, rise: int) -> None:
        self._starts.append(row)
        self._firsts.append(first)
        self._rises.append(rise)

    def _drop_staged(self) -> None:
        while self._starts and self._starts[-1] >= self._num:
            self._starts.pop()
            self._firsts.pop()
            self._rises.pop()

    def _check_order(self, num_staged: int = 0) -> None:
        """Keep numbers one by one when pieces of them would take more."""
        num = len(self._starts)
        if num <= _FEW_PIECES or num * _ROWS_PER_PIECE <= self._num + num_staged:
            return
        dense = Column(np.int32)
        dense.stage(self._upto(self._num).unpack())
        dense.show(self._num)
        self._dense = dense
        self._starts, self._firsts, self._rises = [], [], []
