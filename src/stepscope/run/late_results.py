"""Evaluations whose line comes late: results printed through a buffer that was flushed long after the work.

The seconds of such an evaluation lie in an earlier row than the one after its line. That row is found by what it took:
as much beyond its steps as the line says or, where the line says nothing, as the one row that stands out since the
evaluation before, if that is so for most evaluations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.run.model import Floats, Run

if TYPE_CHECKING:
    from stepscope.run.stops import Stop

_LEAST_ROWS = 5
# A row holds an evaluation whose line says how long it took if it exceeds its steps by this share of it at least, and
# is the row of a late line if it does so by a share between these.
_HOLDS = 0.5
_SAME = (0.85, 1.25)
# Without a printed time, a row stands out by this many normal steps and this many robust deviations.
_LONG = 3.0
_SIGMAS = 8.0
# So many evaluations, and so large a share of all, must be found in this way.
_LEAST_MOVED = 2
_MOSTLY = 0.7


class _Excess(NamedTuple):
    """Seconds of each row beyond its normal steps, and how many stand out."""

    seconds: Floats
    stands_out_s: Floats


def with_late_results(run: Run, stops: Sequence[Stop]) -> Sequence[Stop]:
    """The stops, those whose line came late at the row that holds their seconds."""
    own = [stop for stop in stops if stop.evaluated and stop.evaluation_inside and stop.printed]
    # What comes through a pipe of ours comes when it is printed.
    if run.is_recorded or not own or len(run) < _LEAST_ROWS:
        return stops
    excess = _excess(run, stops)
    if excess is None:
        return stops
    moved = _moved(run, own, excess)
    unpriced = [stop for stop in own if stop.evaluation_took_s is None]
    guessed = [stop for stop in unpriced if stop.line in moved]
    if len(guessed) < max(_LEAST_MOVED, _MOSTLY * len(unpriced)):
        moved = {line: row for line, row in moved.items() if line not in {stop.line for stop in guessed}}
    if not moved:
        return stops
    placed = [_at(run, stop, moved[stop.line]) if stop.line in moved and stop.evaluated else stop for stop in stops]
    return sorted(placed, key=lambda stop: stop.next_row)


def _at(run: Run, stop: Stop, row: int) -> Stop:
    return stop._replace(row=row, next_row=row, step=int(run.steps.step[row]), begin_ns=None, end_ns=None)


def _excess(run: Run, stops: Sequence[Stop]) -> _Excess | None:
    steps = run.steps
    calm = steps.span > 0
    calm[[stop.row for stop in stops if stop.row is not None]] = False
    calm[steps.first_rows] = False
    if int(calm.sum()) < _LEAST_ROWS:
        return None
    one = steps.dur_ns / NS
    level = float(median(one[calm]))
    noise = 1.4826 * float(median(np.abs(one[calm] - level)))
    return _Excess((one - level) * steps.span, max(_LONG * level, _SIGMAS * noise) * np.ones(len(run)))


def _moved(run: Run, stops: Sequence[Stop], excess: _Excess) -> dict[int, int]:
    """By the line of an evaluation, the earlier row that holds it."""
    found: dict[int, int] = {}
    after = 1  # the first row is start-up
    for stop in stops:
        row = stop.row if stop.row is not None else len(run)
        near = _row_of(stop, excess, after, min(stop.next_row, len(run)), row)
        if near is not None:
            found[stop.line] = near
        after = max(after, (row if near is None else near) + 1)
    return found


def _row_of(stop: Stop, excess: _Excess, first: int, end: int, own: int) -> int | None:
    """The one row before an evaluation's line that holds it; None where its own row does, or none or several do."""
    took = stop.evaluation_took_s
    held = float(excess.seconds[own]) if own < len(excess.seconds) else 0.0
    window = excess.seconds[first:end]
    if took:
        if held >= _HOLDS * took:
            return None
        fits = np.flatnonzero((window > _SAME[0] * took) & (window < _SAME[1] * took))
    else:
        if own < len(excess.seconds) and held >= excess.stands_out_s[own] / 2:
            return None
        fits = np.flatnonzero(window > excess.stands_out_s[first:end])
    return first + int(fits[0]) if len(fits) == 1 else None
