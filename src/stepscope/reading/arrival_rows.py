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


def is_by_arrival(clock: Clock, tick_ns: int, t_ns: Ints) -> bool:
    """Whether the arrival times `t_ns` of a recording's rows time them better than their printed clock."""
    if clock.covers not in {"cumulative", "window"} or tick_ns < _COARSE_NS or len(t_ns) < _LEAST_ROWS:
        return False
    known = t_ns != NO_TIME
    if known.mean() < _STAMPED:
        return False
    return bool((np.diff(t_ns[known]) < _AT_ONCE_NS).mean() < _BURSTS)
