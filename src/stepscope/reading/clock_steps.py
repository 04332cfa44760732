"""Timestamps that do not run on, made to run on: clocks that were set, daylight saving, parts in the wrong order.

Where the steps go on, what passed is about what always passes between two rows. Where a process begins, nobody knows
what passed before its first line: no more than a row is assumed. A single line out of place is put in its place. A
clock that is wrong from some line on is wrong on all lines after it, so the correction is by line, for rows and events.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from stepscope.columns.decimals import unpack
from stepscope.columns.run_length import Pieces
from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.reading.timestamps import Setback
from stepscope.run.model import NO_TIME, ClockStep, Ints, Stamps

_HOUR_NS = 3600 * NS
_SUNDAY, _SPRING, _NIGHT = 6, {3, 4, 9, 10, 11}, {0, 1, 2}  # in the north and in the south
_NEAR_NS = 60 * NS
_LONGEST_NS = 30 * 24 * _HOUR_NS  # no two rows are this far apart
_MOST_NS = 2 * 10**18  # sixty years: beyond, moments no longer fit
_LATE = 0.1  # of what usually passes between two rows
# Rows out of order this often were written by several processes: no clock was set.
_OFTEN = 0.05
_SEVERAL = 8
_BLOCK = 1 << 18  # rows looked at together


class SteadyClock(NamedTuple):
    """The rows' moments as they run on, and where the clock did not."""

    t_ns: Ints
    steps: tuple[ClockStep, ...]
    lines: Ints  # from which line on
    added_ns: Ints  # how much is added in all

    def place(self, moments: Ints, lines: Ints) -> Ints:
        """The moments of other lines on the same clock."""
        if not len(self.lines):
            return moments
        added = np.concatenate([[0], self.added_ns])[np.searchsorted(self.lines, lines, side="right")]
        placed: Ints = np.where(moments == NO_TIME, NO_TIME, moments + added)
        return placed

    def stamps(self, stamps: Stamps | None) -> Stamps | None:
        """What is known of the log's timestamps, on this clock."""
        if stamps is None:
            return None
        is_known = self.t_ns != NO_TIME
        known = bool(is_known.any())
        added = int(self.place(np.array([0]), np.array([stamps.last_line]))[0])
        # Lines before the first row may be another program's, by a clock that is ahead of the rows' own.
        first = int(self.t_ns.min(where=is_known, initial=stamps.first_ns))
        last = max(stamps.last_ns + added, int(self.t_ns.max()) if known else first)
        return stamps._replace(first_ns=first, last_ns=last, shift_ns=stamps.shift_ns + added)


class TimedRows(NamedTuple):
    """The rows as they are printed, and which of them begin a process."""

    t_ns: Ints
    step: Pieces | Ints
    line: Pieces | Ints
    first_rows: Ints


def steady_clock(timed: TimedRows, stamps: Stamps | None, setbacks: Sequence[Setback]) -> SteadyClock:
    """The moments of the rows on a clock that never goes back."""
    nothing = np.zeros(0, dtype=np.int64)
    t_ns, first_rows = timed.t_ns, timed.first_rows
    plain = SteadyClock(t_ns, (), nothing, nothing)
    if stamps is None or (_runs_on(t_ns) and not (setbacks and len(first_rows) > 1)):
        return plain
    rows = np.flatnonzero(t_ns != NO_TIME)
    if len(rows) < 2:
        return plain
    step, line = unpack(timed.step), unpack(timed.line)
    now = t_ns[rows]
    gap = np.diff(now)
    is_night = _is_night(gap)
    begins = np.zeros(len(t_ns), dtype=np.int64)
    begins[first_rows] = 1
    is_start = np.diff(np.cumsum(begins)[rows]) > 0
    odd = np.flatnonzero((gap < 0) | is_night) + 1
    if not len(odd) and not (setbacks and is_start.any()):
        return plain
    own = TimedRows(now, step[rows], line[rows], np.flatnonzero(is_start) + 1)
    found = _Search(own, is_start, stamps, setbacks).steps(odd)
    if not found and not (gap < 0).any():
        return plain
    order = np.array([clock_step.line for clock_step in found], dtype=np.int64)
    sums = accumulate(clock_step.added_ns for clock_step in found)
    added = np.array([max(-_MOST_NS, min(added_ns, _MOST_NS)) for added_ns in sums], dtype=np.int64)
    steady = SteadyClock(t_ns, tuple(found), order, added)
    placed = t_ns.copy()
    placed[rows] = np.maximum.accumulate(steady.place(_without_spikes(now, is_start), line[rows]))
    return steady._replace(t_ns=placed)


def _runs_on(t_ns: Ints) -> bool:
    """Whether no moment goes back or is an hour on. A block at a time: what follows takes several such columns."""
    last = np.empty(0, dtype=np.int64)
    for at in range(0, len(t_ns), _BLOCK):
        block = t_ns[at : at + _BLOCK]
        known = np.concatenate([last, block[block != NO_TIME]])
        gap = np.diff(known)
        if bool((gap < 0).any()) or bool(_is_night(gap).any()):
            return False
        last = known[-1:]
    return True


def _is_night(gap: Ints) -> np.ndarray:
    """Whether two moments are about an hour apart, as where daylight saving begins."""
    found: np.ndarray = (gap >= _HOUR_NS // 2) & (gap <= 2 * _HOUR_NS)
    return found


def _without_spikes(now: Ints, is_start: np.ndarray) -> Ints:
    """Moments of which none is beyond the two after it: a single line that is too late is as late as the next."""
    if len(now) < 3:
        return now
    later = np.minimum(now[1:-1], now[2:])
    is_spike = (now[1:-1] > now[2:]) & (now[:-2] <= now[2:]) & ~is_start[:-1] & ~is_start[1:]
    fixed = now.copy()
    fixed[1:-1] = np.where(is_spike, later, now[1:-1])
    return fixed


class _Search:
    """The places of a log at which its clock was set."""

    def __init__(self, timed: TimedRows, is_start: np.ndarray, stamps: Stamps, setbacks: Sequence[Setback]) -> None:
        now, step = timed.t_ns, unpack(timed.step)
        self._now, self._step, self._line, self._first_rows = now, step, unpack(timed.line), timed.first_rows
        self._is_start, self._stamps, self._setbacks = is_start, stamps, setbacks
        self._set_lines = np.array([setback.line for setback in setbacks], dtype=np.int64)
        gap, spacing = np.diff(now), np.diff(step)
        usual = (gap > 0) & (spacing > 0) & ~is_start
        self._pace = float(median(gap[usual] / spacing[usual])) if usual.any() else 0.0
        self._row_ns = int(median(gap[usual])) if usual.any() else 0

    def steps(self, odd: Ints) -> list[ClockStep]:
        """What happened at these rows, and wherever a process begins."""
        inside = [row for row in odd.tolist() if not self._is_start[row - 1]]
        back = [row for row in inside if self._now[row] < self._now[row - 1]]
        is_disorder = len(back) > max(_SEVERAL, _OFTEN * len(self._now))
        found = [] if is_disorder else [step for row in inside if (step := self._between(row)) is not None]
        for row in self._first_rows.tolist():
            found += self._at_start(row)
        return sorted(found)

    def _expected_ns(self, first: int, last: int) -> int:
        return max(0, min(round(self._pace * int(self._step[last] - self._step[first])), _LONGEST_NS))

    def _between(self, row: int) -> ClockStep | None:
        """The step of a clock between a row and the one before, while the training went on."""
        jump, usual = int(self._now[row] - self._now[row - 1]), self._expected_ns(row - 1, row)
        if jump >= 0:
            has_sprung = self._may_have_sprung(row) and abs(jump - _HOUR_NS - usual) <= usual // 2 + _NEAR_NS
            return self._made(row, -_HOUR_NS, usual_ns=0, is_hour=True) if has_sprung else None
        size = usual - jump
        # To be set back by just what passed since the last row is no clock's way: another process's line came late.
        is_late = -jump < _LATE * usual and -jump < _NEAR_NS
        if size <= 2 * self._stamps.resolution_ns or is_late or self._is_out_of_place(row, size):
            return None
        is_hour = not self._stamps.zoned and abs(jump + _HOUR_NS - usual) <= usual + _NEAR_NS
        return self._made(row, _HOUR_NS if is_hour else size, usual_ns=usual, is_hour=is_hour)

    def _is_out_of_place(self, row: int, size: int) -> bool:
        """Whether a single line is too early or too late, and the ones around it run on."""

        def runs_on(first: int, last: int) -> bool:
            if first < 0 or last >= len(self._now) or self._is_start[first:last].any():
                return False
            return bool(
                abs(int(self._now[last] - self._now[first]) - self._expected_ns(first, last)) < size // 2
                and self._now[last] >= self._now[first]
            )

        return runs_on(row - 1, row + 1) or runs_on(row - 2, row)

    def _at_start(self, row: int) -> list[ClockStep]:
        """The steps of a clock between two processes: where lines go back, else at the first row."""
        low, high = np.searchsorted(self._set_lines, [self._line[row - 1], self._line[row]], side="right").tolist()
        found = []
        for setback in self._setbacks[low:high]:
            size = setback.before_ns - setback.after_ns
            if size > max(_NEAR_NS, 2 * self._stamps.resolution_ns):
                usual = self._row_ns if setback.line == self._line[row] else 0
                found.append(ClockStep(setback.line, size + usual, usual, goes_on=False))
        jump = int(self._now[row] - self._now[row - 1]) + sum(step.added_ns for step in found)
        if jump < 0:
            found.append(ClockStep(int(self._line[row]), self._row_ns - jump, self._row_ns, goes_on=False))
        return found

    def _made(self, row: int, added_ns: int, *, usual_ns: int, is_hour: bool) -> ClockStep:
        """A step from the first line on that has the new time: an event's may come before the row's."""
        low, high = np.searchsorted(self._set_lines, [self._line[row - 1], self._line[row]], side="right").tolist()
        line = int(self._line[row]) if low == high else self._setbacks[low].line
        return ClockStep(line, added_ns, 0 if is_hour else usual_ns, is_hour=is_hour)

    def _may_have_sprung(self, row: int) -> bool:
        """Whether a local clock may have jumped to daylight saving before this row: on a Sunday night in spring."""
        if not self._stamps.dated or self._stamps.zoned:
            return False
        stated = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(self._now[row - 1]) / 1000)
        return stated.weekday() == _SUNDAY and stated.month in _SPRING and stated.hour in _NIGHT
