"""How far times that are printed in whole ticks may all be off together.

Every row has its own time, cut or rounded to a tick: nothing evens that out while rows take about the same. Whole
seconds are often cut (`%d`), parts of a second are rounded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.core.units import NS
from stepscope.run.model import Run

# Rows of which this share differs from the one before are rounded up about as often as down.
_EVENS_OUT = 0.3


class Rounding(NamedTuple):
    """Seconds by which a row may have taken less or more than is printed, on average."""

    less_s: float
    more_s: float


def rounding_of(run: Run, rows: np.ndarray) -> Rounding:
    """The rounding of these rows; nothing where a clock runs on from row to row, whose errors cancel out."""
    own = rows[run.steps.span[rows] > 0]
    if run.clock.covers not in {"step", "window"} or run.by_arrival or not run.tick_ns or not len(own):
        return Rounding(0.0, 0.0)
    doubt_s = run.doubt_ns[own] / NS
    ticks = run.steps.dur_ns[own] * run.steps.span[own] / NS / np.maximum(doubt_s, 1e-9)
    tick_s, is_cut = float(doubt_s.mean()), run.tick_ns >= NS
    if not is_cut and float(np.ptp(ticks)) < 1:
        return Rounding(0.0, 0.0)  # all alike: rather a figure that happens to be round
    if len(ticks) > 1 and float((np.abs(np.diff(ticks)) >= 1).mean()) >= _EVENS_OUT:
        return Rounding(0.0, tick_s / 2 if is_cut else 0.0)
    return Rounding(tick_s / 2, tick_s if is_cut else tick_s / 2)


def rate_doubt_s(run: Run) -> float:
    """How far the end of a running clock may be off that was worked out from a rounded mean rate since the start."""
    doubt_s = 0.0
    for segment in run.segments if run.rate_tick else ():
        rows = slice(segment.first_row, segment.first_row + segment.num_rows)
        last, elapsed_s = run.steps.step[rows][-1:], float(run.steps.seconds[rows].sum())
        doubt_s += float((elapsed_s**2 * run.rate_tick / 2 / np.maximum(last, 1)).sum())
    return doubt_s
