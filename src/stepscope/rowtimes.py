"""From what a log prints (one step's time, a window's mean, a running clock, a stamp) to one figure per row.

Every later stage sees the same thing: the mean time of a step and how many steps it is the mean of.
"""

from __future__ import annotations

import numpy as np

from stepscope.formats._base import Covers
from stepscope.run import NO_TIME, Ints


def row_times(
    covers: Covers, *, step: Ints, figure: Ints, t_ns: Ints, segment: Ints, first_step: int
) -> tuple[Ints, Ints]:
    """Per row: nanoseconds of one step, and how many steps that is the mean of (0 where the row has no time)."""
    num = len(step)
    if not num:
        return step.copy(), step.copy()
    is_first = np.concatenate([[True], np.diff(segment) != 0])
    since = np.where(is_first, 1, np.concatenate([[1], np.diff(step)]))
    if covers in {"step", "window"}:
        known = figure != NO_TIME
        span = since if covers == "window" else np.ones(num, dtype=np.int64)
        return np.where(known, figure, 0), np.where(known, span, 0)
    clock = t_ns if covers == "stamp" else figure
    if not len(clock):
        return np.zeros(num, dtype=np.int64), np.zeros(num, dtype=np.int64)
    known = clock != NO_TIME
    before = np.concatenate([[NO_TIME], clock[:-1]])
    elapsed = np.where(known & (before != NO_TIME), clock - np.where(before == NO_TIME, 0, before), 0)
    span = np.where(known & (before != NO_TIME), since, 0)
    # The first row of a process: a running clock began at zero with its first step; a stamp has nothing before it.
    starts_clock = (is_first | (elapsed < 0)) & known
    if covers == "cumulative":
        elapsed = np.where(starts_clock, clock, elapsed)
        begun = np.where(is_first, np.maximum(1, step - first_step + (1 - first_step)), since)
        begun = np.where(is_first & (segment > 0), 1, begun)
        span = np.where(starts_clock, np.maximum(begun, 1), span)
    else:
        elapsed = np.where(starts_clock, 0, elapsed)
        span = np.where(starts_clock, 0, span)
    elapsed = np.maximum(elapsed, 0)
    return np.where(span > 0, elapsed // np.maximum(span, 1), 0), span
