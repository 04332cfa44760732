"""Rows of a recording whose printed clock is coarser than the arrival of their lines: then the arrivals are the clock.

A bar counts whole seconds, a table prints them, an epoch's line rounds to them. We saw each of these lines come, to a
fraction of a millisecond. Where the command held its lines back (a block-buffered pipe) they come in bursts, which say
nothing: there the printed clock stays.
"""

from __future__ import annotations

import numpy as np

from stepscope.core.units import NS
from stepscope.lines.format import Clock
from stepscope.run.model import NO_TIME, Ints

# A clock that ticks in steps of this is coarser than any arrival.
_COARSE_NS = NS // 10
_STAMPED = 0.9
# Lines this close to each other came at once; where this share of the rows did, they had been held back.
_AT_ONCE_NS = NS // 1000
_BURSTS = 0.5
_LEAST_ROWS = 2
# A printed total that has less than this share of the time between the lines is no clock of the run.
_COVERS = 0.5


def is_by_arrival(clock: Clock, tick_ns: int, t_ns: Ints) -> bool:
    """Whether the arrival times `t_ns` of a recording's rows time them better than their printed clock."""
    return clock.covers in {"cumulative", "window"} and tick_ns >= _COARSE_NS and came_one_by_one(t_ns)


def leaves_out(clock: Clock, printed_ns: Ints, t_ns: Ints) -> bool:
    """Whether a total that a recording's rows print stands still for most of the time in which they came.

    CatBoost's leaves out what callbacks take.
    """
    if clock.covers != "cumulative" or not came_one_by_one(t_ns):
        return False
    known = t_ns[t_ns != NO_TIME]
    return float(printed_ns[1:].sum()) < _COVERS * float(known[-1] - known[0])


def came_one_by_one(t_ns: Ints) -> bool:
    """Whether the lines of rows came when they were printed, and not many at once."""
    known = t_ns != NO_TIME
    if len(t_ns) < _LEAST_ROWS or known.mean() < _STAMPED:
        return False
    return bool((np.diff(t_ns[known]) < _AT_ONCE_NS).mean() < _BURSTS)
