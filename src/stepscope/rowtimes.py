"""From what a log prints (one step's time, a window's mean, a running clock, a stamp) to one figure per row.

Every later stage sees the same thing: the mean time of a step and how many steps it is the mean of.
"""

from __future__ import annotations

import math

import numpy as np

from stepscope.formats._base import Covers
from stepscope.run import NO_TIME, Ints

_TICKS_NS = (10**9, 10**8, 10**7)
_FINE_NS = _TICKS_NS[-1]


def row_times(
    covers: Covers,
    *,
    step: Ints,
    figure: Ints,
    per: Ints,
    t_ns: Ints,
    segment: Ints,
    first_step: int,
    is_total: bool = False,
) -> tuple[Ints, Ints]:
    """Per row: nanoseconds of one step, and how many steps that is the mean of (0 where the row has no time).

    `is_total` says that the figure of a window is the sum of its steps, not their mean.
    """
    num = len(step)
    if not num:
        return step.copy(), step.copy()
    is_first = np.concatenate([[True], np.diff(segment) != 0])
    since = np.where(is_first, 1, np.concatenate([[1], np.diff(step)]))
    if covers in {"step", "window"}:
        known = figure != NO_TIME
        span = np.where(per > 0, per, since) if covers == "window" else np.ones(num, dtype=np.int64)
        if is_total:
            # The first line of a process covers the steps from its beginning, but no more than the others do.
            first = np.minimum(step - first_step + 1, max(1, int(np.median(since))))
            span = np.where(is_first & (per <= 0), np.maximum(1, first), span)
            figure = np.where(known, figure // np.maximum(span, 1), figure)
        dur, span = np.where(known, figure, 0), np.where(known, span, 0)
        return _within_stamps(dur, span, t_ns, is_first) if covers == "window" else (dur, span)
    clock = t_ns if covers == "stamp" else figure
    if not len(clock):
        return np.zeros(num, dtype=np.int64), np.zeros(num, dtype=np.int64)
    known = clock != NO_TIME
    if covers == "cumulative":
        return _from_running_clock(step, clock, known, is_first, first_step)
    before = np.concatenate([[NO_TIME], clock[:-1]])
    has_both = known & (before != NO_TIME) & ~is_first
    elapsed = np.where(has_both, clock - np.where(has_both, before, 0), 0)
    # The first row of a process: a stamp has nothing before it.
    span = np.where(has_both & (elapsed >= 0), since, 0)
    return np.where(span > 0, elapsed // np.maximum(span, 1), 0), span


def _within_stamps(dur: Ints, span: Ints, t_ns: Ints, is_first: np.ndarray) -> tuple[Ints, Ints]:
    """A window's mean cannot cover more than the stamps on either side of it: some trainers count their first twice."""
    if not len(t_ns):
        return dur, span
    between = np.concatenate([[0], np.diff(t_ns)])
    known = ~is_first & (t_ns != NO_TIME) & (np.concatenate([[NO_TIME], t_ns[:-1]]) != NO_TIME)
    too_long = known & (between > 0) & (dur * span > 1.5 * between)
    return np.where(too_long, between // np.maximum(span, 1), dur), span


def _from_running_clock(
    step: Ints, clock: Ints, known: np.ndarray, is_first: np.ndarray, first_step: int
) -> tuple[Ints, Ints]:
    """Differences of a clock. A row at which it has not ticked has no time; its steps count with the next tick."""
    num = len(step)
    dur, span = np.zeros(num, dtype=np.int64), np.zeros(num, dtype=np.int64)
    starts: list[tuple[int, int]] = []  # a row that starts a clock, and the next row that has a time
    last = -1
    for row in np.flatnonzero(known).tolist():
        begins = last < 0 or is_first[last + 1 : row + 1].any() or clock[row] < clock[last] // 2
        if begins and clock[row] == 0:
            continue
        if begins:
            starts.append((row, -1))
        elif clock[row] <= clock[last]:
            continue  # not ticked, or another writer's clock
        else:
            span[row] = max(1, step[row] - step[last])
            dur[row] = (clock[row] - clock[last]) // span[row]
            if starts and starts[-1][0] == last:
                starts[-1] = (last, row)
        last = row
    for row, following in starts:
        # The clock began at zero with the process's first step: the run's first, or wherever it was resumed.
        whole = max(1, int(step[row]) - first_step + 1)
        span[row] = whole if following < 0 else _nearest_span(int(clock[row]), whole, following, dur, span)
        dur[row] = clock[row] // span[row]
    return dur, span


def _nearest_span(elapsed: int, whole: int, following: int, dur: Ints, span: Ints) -> int:
    """All steps up to here, or as many as the next row covers: whichever makes the steps more alike."""
    resumed = min(whole, int(span[following]))
    pace = max(1, int(dur[following]))
    return min((whole, resumed), key=lambda steps: abs(math.log(max(1, elapsed / steps) / pace)))


def tick_ns(covers: Covers, figure: Ints, resolution_ns: int | None) -> int:
    """The step in which the clock behind the rows counts; 0 where it is too fine to matter.

    A figure that is only ever whole (or tenths or hundredths of) seconds comes from such a clock.
    """
    if covers == "stamp":
        return resolution_ns if resolution_ns is not None and resolution_ns >= _FINE_NS else 0
    known = figure[figure != NO_TIME]
    if not len(known) or not known.any():
        return 0
    return next((tick for tick in _TICKS_NS if not (known % tick).any()), 0)
