"""What an unclear time column of a table means, by agreement with the other clocks of the table.

A column `time` may be a running clock, the time of one step or that of all steps since the row before, in seconds,
minutes, hours or milliseconds. Where the table has moments, a time left, or another clock whose name says what it is,
the reading that passes as many seconds as those is the right one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

Reading = Literal["elapsed", "duration", "per-row"]
_UNITS = (1.0, 60.0, 3600.0, 1e-3)
_LEAST_ROWS = 3
# Readings differ by the steps of a row or by a unit: far more than clocks of one run differ.
_AGREE = math.log(1.15)
_RESETS = 0.02
_FEW = 8
_LITTLE = 1.1
_SHORT_S = 100.0


class Timed(NamedTuple):
    """One row of a time column: its step, its figure, and the seconds that another clock has at this row."""

    step: float
    figure: float
    reference_s: float


def agreed(rows: Sequence[Timed], readings: Sequence[Reading], *, has_unit: bool) -> tuple[Reading, float] | None:
    """The reading and the unit (its seconds) by which the column agrees with the reference; None without one."""
    if len(rows) < _LEAST_ROWS:
        return None
    passed = sum(max(0.0, after.reference_s - before.reference_s) for before, after in pairwise(rows))
    if passed <= 0:
        return None
    best: tuple[float, Reading, float] | None = None
    for unit in _UNITS[:1] if has_unit else _UNITS:
        for reading in readings:
            seconds = unit * _passed(rows, reading)
            off = abs(math.log(seconds / passed)) if seconds > 0 else math.inf
            if best is None or off < best[0]:
                best = off, reading, unit
    if best is None or best[0] > _AGREE:
        return None
    return best[1], best[2]


def _passed(rows: Sequence[Timed], reading: Reading) -> float:
    """How much passes from the first to the last row by this reading, in the unit of the column."""
    if reading == "elapsed":
        return sum(max(0.0, after.figure - before.figure) for before, after in pairwise(rows))
    if reading == "duration":
        return sum(after.figure * max(0.0, after.step - before.step) for before, after in pairwise(rows))
    return sum(row.figure for row in rows[1:])


def runs(numbers: Sequence[float]) -> bool:
    """Whether numbers are those of a running clock: never less than before but for a restart, and more in the end."""
    falls = sum(after < before for before, after in pairwise(numbers))
    if len(numbers) < 2 or falls > _RESETS * len(numbers) or max(numbers) <= numbers[0]:
        return False
    if len(numbers) < _FEW and numbers[0] < _SHORT_S:
        # Too few to judge by order alone: times of steps that happen to grow do so by little.
        return numbers[-1] >= _LITTLE * numbers[0]
    return True
