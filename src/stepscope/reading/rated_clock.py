"""The running clock behind a mean rate since the start, which is printed as a rounded number.

"SPS: 96" after 400,000 steps says no more than that between 4,124 and 4,167 seconds have passed. But a clock never goes
back, and each row bounds it, most closely where the rate has just changed. So the clock is drawn through all bounds as
a taut string: what is left is the most even course that every printed rate allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from stepscope.run.model import NO_TIME, Floats, Ints

# A clock that shows less than half of what it did has begun again.
_AGAIN = 2
_ENDS = 2  # rows between which no other lies


def rate_tick(text: str) -> float:
    """The last digit of a printed number: 1 of "96", 0.1 of "96.5", 10 of "1.23e+03"."""
    number, _, power = text.lower().partition("e")
    return float(10.0 ** (int(power or 0) - len(number.partition(".")[2])))


def mean_rate(text: str) -> float | None:
    """The middle of what a printed rate may stand for: programs cut whole numbers and round others."""
    try:
        rate = float(text)
    except ValueError:
        return None
    tick = rate_tick(text)
    return rate + tick / 2 if rate > 0 and tick >= 1 else rate


def even_clock(step: Ints, clock: Ints, first_rows: Ints, tick: float) -> Ints:
    """The clock of each row, worked out from a rate in whole ticks, as even as the rates allow."""
    evened = clock.copy()
    for first, end in pairwise([*first_rows.tolist(), len(step)]):
        rows = first + np.flatnonzero(clock[first:end] != NO_TIME)
        if not len(rows):
            continue
        begins = np.flatnonzero(clock[rows[1:]] < clock[rows[:-1]] // _AGAIN) + 1
        for own in np.split(rows, begins):
            evened[own] = _evened(step[own].astype(np.float64), clock[own].astype(np.float64), tick)
    return evened


def _evened(step: Floats, clock: Floats, tick: float) -> Ints:
    low, high = _bounds(step, clock, tick)
    num = len(step)
    if num <= _ENDS:
        return np.asarray(np.rint((low + high) / 2), dtype=np.int64)
    ends = (low[[0, -1]] + high[[0, -1]]) / 2
    low[[0, -1]] = high[[0, -1]] = ends
    corners = list(_taut(step.tolist(), low.tolist(), high.tolist()))
    places, moments = zip(*corners, strict=True)
    return np.asarray(np.rint(np.interp(step, places, moments)), dtype=np.int64)


def _bounds(step: Floats, clock: Floats, tick: float) -> tuple[Floats, Floats]:
    """Between what the clock of each row lies, by its own rate and by those of the rows around it."""
    rate = np.maximum(step, 1.0) / np.maximum(clock, 1.0)
    half = tick / 2 / 1e9
    low = np.maximum(step, 1.0) / (rate + half)
    high = np.where(rate > half, np.maximum(step, 1.0) / np.maximum(rate - half, 1e-18), clock * 2)
    low = np.maximum.accumulate(low)
    high = np.minimum.accumulate(high[::-1])[::-1]
    middle = (low + high) / 2  # where the rates contradict each other, between them
    return np.minimum(low, middle), np.maximum(high, middle)


class _Chain:
    """The corners that the string may have next to one of the bounds, seen from its last one."""

    def __init__(self, sign: float) -> None:
        self._sign = sign  # 1 for the upper bound, -1 for the lower one
        self._corners: list[tuple[float, float]] = []
        self._first = 0

    def begin(self, corner: tuple[float, float]) -> None:
        """A new last corner of the string, with nothing after it."""
        self._corners, self._first = [corner], 0

    def add(self, corner: tuple[float, float]) -> None:
        """One more bound; those that it hides are gone."""
        own = self._corners
        while len(own) - self._first > 1 and self._sign * (_slope(own[-2], own[-1]) - _slope(own[-2], corner)) >= 0:
            own.pop()
        own.append(corner)

    def turn(self) -> tuple[float, float]:
        """Move to the next corner."""
        self._first += 1
        return self._corners[self._first]

    @property
    def ahead(self) -> float | None:
        """The direction of the next corner."""
        own = self._corners
        return _slope(own[self._first], own[self._first + 1]) if len(own) - self._first > 1 else None

    @property
    def num_ahead(self) -> int:
        """How many corners lie ahead."""
        return len(self._corners) - self._first - 1

    def rest(self) -> list[tuple[float, float]]:
        """The corners ahead."""
        return self._corners[self._first + 1 :]


def _slope(before: tuple[float, float], after: tuple[float, float]) -> float:
    return (after[1] - before[1]) / max(after[0] - before[0], 1e-9)


def _taut(step: list[float], low: list[float], high: list[float]) -> Iterator[tuple[float, float]]:
    """The corners of the shortest way between two bounds, whose ends meet."""
    upper, lower = _Chain(1.0), _Chain(-1.0)
    corner = step[0], low[0]
    upper.begin(corner)
    lower.begin(corner)
    yield corner
    for place, least, most in zip(step[1:], low[1:], high[1:], strict=True):
        for own, other, bound in ((upper, lower, (place, most)), (lower, upper, (place, least))):
            own.add(bound)
            sign = 1.0 if own is upper else -1.0
            while own.num_ahead == 1 and (way := other.ahead) is not None and sign * (way - (own.ahead or 0.0)) > 0:
                corner = other.turn()
                yield corner
                own.begin(corner)
                if bound[0] > corner[0]:
                    own.add(bound)
    yield from upper.rest()
