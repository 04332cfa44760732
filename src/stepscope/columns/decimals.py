"""Numbers as a log prints them: whole numbers of 32 bits, and what one of them counts.

`170.12ms` and `3.4159` are the whole numbers 17012 and 34159 with two and four decimals. A column of those takes half
the memory of the values themselves, which are computed from it exactly when they are asked for.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.column import Column
from stepscope.columns.run_length import Pieces

_NO_TIME = np.iinfo(np.int64).min  # NO_TIME of the package `run`, which builds on this one
MISSING = -(1 << 31)
_MOST = (1 << 31) - 1
_LEAST_UNIT_NS = 100
_MOST_DECIMALS = 6
_BLOCK = 1 << 18  # rows looked at together

Numbers = npt.NDArray[Any]


class Nanos(NamedTuple):
    """Times as multiples of `unit` nanoseconds. A missing time is NO_TIME."""

    unit: int = 10**6

    def encode(self, value: float) -> int | None:
        """The whole number for a value; None where there is none."""
        if value == _NO_TIME:
            return MISSING
        number, rest = divmod(int(value), self.unit)
        return number if not rest and -_MOST <= number <= _MOST else None

    def encode_all(self, values: Numbers) -> Numbers | None:
        """The whole numbers for values; None where one of them has none."""
        is_missing = values == _NO_TIME
        numbers, rest = np.divmod(np.where(is_missing, 0, values), self.unit)
        if rest.any() or (len(numbers) and not -_MOST <= numbers.min() <= numbers.max() <= _MOST):
            return None
        return np.where(is_missing, MISSING, numbers).astype(np.int32)

    def decode(self, numbers: Numbers) -> Numbers:
        """The values of whole numbers."""
        values = numbers.astype(np.int64)
        values *= self.unit
        values[numbers == MISSING] = _NO_TIME
        return values

    def value(self, number: int) -> int:
        """The value of one whole number."""
        return _NO_TIME if number == MISSING else number * self.unit

    def finer(self) -> Nanos | None:
        """A tenth of the unit."""
        return Nanos(self.unit // 10) if self.unit > _LEAST_UNIT_NS else None

    def times_finer(self, other: Code) -> int:
        """How many of the other's units make one; 0 where none do."""
        return self.unit // other.unit if isinstance(other, Nanos) and self.unit % other.unit == 0 else 0


class Decimals(NamedTuple):
    """Numbers with `num` decimals. A missing number is NaN."""

    num: int = 2

    def encode(self, value: float) -> int | None:
        """The whole number for a value; None where there is none."""
        if math.isnan(value):
            return MISSING
        scaled = value * 10**self.num
        if not -_MOST <= scaled <= _MOST:
            return None
        number = round(scaled)
        return number if number / 10**self.num == value else None

    def encode_all(self, values: Numbers) -> Numbers | None:
        """The whole numbers for values; None where one of them has none."""
        is_missing = np.isnan(values)
        known = np.where(is_missing, 0.0, values)
        if not (np.abs(known) <= _MOST).all():
            return None  # and the product might be beyond all numbers
        numbers = np.rint(known * 10**self.num)
        if not (np.abs(numbers) <= _MOST).all() or (numbers / 10**self.num != known).any():
            return None
        return np.where(is_missing, MISSING, numbers).astype(np.int32)

    def decode(self, numbers: Numbers) -> Numbers:
        """The values of whole numbers."""
        values: Numbers = numbers / 10.0**self.num
        values[numbers == MISSING] = math.nan
        return values

    def value(self, number: int) -> float:
        """The value of one whole number."""
        return math.nan if number == MISSING else number / 10**self.num

    def finer(self) -> Decimals | None:
        """With one decimal more."""
        return Decimals(self.num + 1) if self.num < _MOST_DECIMALS else None

    def times_finer(self, other: Code) -> int:
        """How many of the other's units make one; 0 where none do."""
        return int(10 ** (other.num - self.num)) if isinstance(other, Decimals) and other.num >= self.num else 0


Code = Nanos | Decimals


class Printed(NamedTuple):
    """Some numbers of a log, as printed."""

    numbers: Numbers
    code: Code

    def unpack(self) -> Numbers:
        """The values of the numbers."""
        return self.code.decode(self.numbers)

    def take(self, rows: slice | npt.NDArray[Any]) -> Printed:
        """The numbers of some rows."""
        return Printed(self.numbers[rows], self.code)


def unpack(kept: Printed | Pieces | Numbers) -> Numbers:
    """The values of a column, however it is kept."""
    return kept if isinstance(kept, np.ndarray) else kept.unpack()


def take(kept: Printed | Pieces | Numbers | None, rows: slice | npt.NDArray[Any]) -> Any:
    """Some rows of a column that may be there or not, however it is kept."""
    return None if kept is None else kept[rows] if isinstance(kept, np.ndarray) else kept.take(rows)


def fits_narrow(numbers: Numbers) -> bool:
    """Whether whole numbers can be kept in 32 bits, of which one means a missing number."""
    return numbers.itemsize == 4 or not len(numbers) or bool(-_MOST <= numbers.min() <= numbers.max() <= _MOST)


class DecimalColumn:
    """One growing column of printed numbers. As soon as a number does not fit, all are kept as values."""

    __slots__ = ("_code", "_data", "_dtype")

    def __init__(self, code: Code) -> None:
        self._code: Code | None = code
        self._dtype = np.int64 if isinstance(code, Nanos) else np.float64
        self._data = Column(np.int32)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, row: int | slice) -> Any:
        found = self._data[row]
        if self._code is None:
            return found
        return self._code.decode(found) if isinstance(row, slice) else self._code.value(found)

    def __setitem__(self, row: int, value: float) -> None:
        number = self._encode(value)
        self._data[row] = number

    def append(self, value: float) -> None:
        """One more row."""
        number = self._encode(value)
        self._data.append(number)

    def extend(self, values: Numbers) -> None:
        """Many more rows, kept as `append` would keep them one by one."""
        self.stage(values)
        self._data.show(len(values))

    def stage(self, values: Printed | Numbers) -> None:
        """Put rows after the end, not yet visible; they replace rows staged before."""
        self._data.stage(self._encode_printed(values) if isinstance(values, Printed) else self._encode_all(values))

    def stage_missing(self, num: int) -> None:
        """Stage rows that have no number."""
        nothing = MISSING if self._code is not None else _NO_TIME if self._dtype is np.int64 else math.nan
        self._data.stage(np.full(num, nothing))

    def has_missing(self) -> bool:
        """Whether a row has no number."""
        nothing = MISSING if self._code is not None else _NO_TIME
        return any((self._data[at : at + _BLOCK] == nothing).any() for at in range(0, len(self), _BLOCK))

    def show(self, num: int) -> None:
        """Make the next `num` staged rows visible."""
        self._data.show(num)

    def cut(self, num: int) -> None:
        """Keep only the first `num` rows."""
        self._data.cut(num)

    def expect(self, num: int) -> None:
        """Make room for `num` rows in all."""
        self._data.expect(num)

    def share(self) -> Printed | Numbers:
        """The rows so far, never to change."""
        rows = self._data.share()
        return rows if self._code is None else Printed(rows, self._code)

    def _encode(self, value: float) -> float:
        """The number kept for a value; the column's code is refined until it can hold it."""
        while self._code is not None:
            number = self._code.encode(value)
            if number is not None:
                return number
            finer = self._code.finer()
            if finer is None or not self._fit(finer):
                self._spell_out()
        return value

    def _encode_all(self, values: Numbers) -> Numbers:
        """The same for many values."""
        numbers = values if self._code is None else self._code.encode_all(values)
        while numbers is None:
            assert self._code is not None
            finer = self._code.finer()
            if finer is None or not self._fit(finer):
                self._spell_out()
            numbers = values if self._code is None else self._code.encode_all(values)
        return numbers

    def _encode_printed(self, values: Printed) -> Numbers:
        """The same for numbers that have a code already."""
        if self._code is not None:
            times = self._fit(values.code)
            numbers = values.numbers if times == 1 else values.numbers.astype(np.int64) * times
            if times and fits_narrow(numbers):
                return numbers.astype(np.int32, copy=False)
            self._spell_out()
        return unpack(values)

    def _fit(self, code: Code) -> int:
        """Prepare for numbers of another code: the factor to multiply them by, or 0 where they cannot be kept."""
        assert self._code is not None
        times = self._code.times_finer(code)
        if not times:
            return code.times_finer(self._code)
        if times > 1:
            own = self._data.with_staged()
            if len(own) and max(int(own.max()), -int(np.where(own == MISSING, 0, own).min())) * times > _MOST:
                return 0
            self._data.recode(lambda own: np.where(own == MISSING, np.int32(MISSING), own * np.int32(times)))
            self._code = code
        return 1

    def _spell_out(self) -> None:
        if self._code is not None:
            self._data.recode(self._code.decode)
            self._code = None
