"""The independent clocks of a log, in pairs that must agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger.phases import Ledger, Phase
from stepscope.run.model import NO_TIME, Run

# A pause is no part of a step: between two lines, this many times the usual is not compared.
_PAUSE = 3.0
_LEAST_ROWS = 3
_LEAST_TICKS = 20.0
_MULTIPLE = 2.0
_MAX_TOTALS = 4
# Phases that a trainer's own total may leave out: it begins after the start-up and knows of no other process.
_OUTSIDE: tuple[Phase, ...] = ("warmup", "gap", "unlogged", "evaluation", "checkpoint", "stall")


class Pair(NamedTuple):
    """The same stretch by two clocks, in seconds; `slack` is the share by which they may differ."""

    name: str
    used_s: float
    other_s: float
    slack: float

    @property
    def excess(self) -> float:
        """By how much more than the slack they differ, as a share of the longer one."""
        longest = max(self.used_s, self.other_s)
        return max(0.0, abs(self.used_s - self.other_s) / longest - self.slack) if longest > 0 else 0.0


SLACK = 0.03


def pairs_of(run: Run, ledger: Ledger) -> list[Pair]:
    """Every pair of clocks that the log offers."""
    found = [_printed_and_stamps(run), *_totals(run, ledger)]
    return [pair for pair in found if pair is not None]


def _printed_and_stamps(run: Run) -> Pair | None:
    """Printed times against timestamps, over the steps between which nothing else happened."""
    steps = run.steps
    if run.clock.is_wall or run.stamps is None or len(steps.t_ns) < _LEAST_ROWS:
        return None
    near = (steps.t_ns[1:] != NO_TIME) & (steps.t_ns[:-1] != NO_TIME) & (np.diff(steps.segment) == 0)
    near &= (steps.span[1:] > 0) & (np.diff(steps.step) == steps.span[1:])
    for stop in run.stops:
        # The clock may stand still for an evaluation; the timestamps do not.
        near[max(0, stop.next_row - 2) : stop.next_row] = False
    passed, printed = (np.diff(steps.t_ns)[near] / NS, steps.seconds[1:][near])
    if len(passed) < _LEAST_ROWS or float(passed.sum()) <= 0:
        return None
    usual = float(median(printed))
    tick_s = run.stamps.resolution_ns / NS
    calm = (printed <= _PAUSE * usual) & (passed <= _PAUSE * max(usual, float(median(passed))) + tick_s)
    own, other = float(printed[calm].sum()), float(passed[calm].sum())
    if own <= 0:
        return None
    if other < _LEAST_TICKS * tick_s:
        # Too short to compare, but not to see that one is a multiple of the other.
        is_far = max(other - 2 * tick_s, 0.0) > _MULTIPLE * own or own > _MULTIPLE * (other + 2 * tick_s)
        return Pair("stamps", own, other, SLACK) if is_far else None
    return Pair("stamps", own, other, SLACK + 2 * tick_s / other)


def _totals(run: Run, ledger: Ledger) -> list[Pair]:
    """The log's own total against what the rows and events before it add up to."""
    if not run.runtimes or not len(run) or run.num_trainings > 1 or not (run.steps.span > 0).any():
        return []
    if run.format.inferred is not None and run.format.inferred.is_mean_of_total:
        return []
    last = run.runtimes[-1]
    if last.row < len(run) or len(run.runtimes) > _MAX_TOTALS:
        return []  # what is printed again and again is no total
    outside = sum(ledger.seconds(phase) for phase in _OUTSIDE)
    # Without timestamps, what no line accounts for is known from this very total.
    unlogged = 0.0 if run.stamps is not None else ledger.seconds("unlogged")
    low, high = ledger.wall_s - outside, ledger.wall_s - unlogged
    # Anything from the steps alone to all of the log is a fair meaning of a total.
    nearest = min(max(last.seconds, low), high)
    return [Pair(last.name, nearest, last.seconds, SLACK)]
