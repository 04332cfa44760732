"""What timestamps before the lines measure: the total, evaluations, start-up and gaps.

Timestamps are only believed when they agree with the printed times: a block-buffered pipe delivers 150 lines at
one instant, and then they carry nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median, quantile
from stepscope.core.units import NS
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.outside import Outside, OutsidePhase, begin_ns, expected_s, stopped_rows
from stepscope.ledger.outside_clock import find_outside
from stepscope.run.model import NO_TIME, Floats, Ints, Run
from stepscope.run.stops import Stop

# Of the rows with a timestamp on either side, this share must fit the printed time for timestamps to count.
_AGREE = 0.6
_LEAST_STAMPED = 3
_ENOUGH_ROWS = 20
# A line gets its timestamp about this much later than it was printed.
LATE_S = 0.002


class StampedEvaluation(NamedTuple):
    """An evaluation timed by timestamps. `rest_s`, checkpoint and step, is from its line to its step's line."""

    seconds: float
    uncertainty_s: float
    rest_s: float | None
    exact: bool
    later: bool


class StampEvidence(NamedTuple):
    """What the timestamps say. `outside` are seconds that no printed time covers, with their phase."""

    wall_s: float
    tick_s: float
    evaluations: dict[int, StampedEvaluation]
    outside: tuple[Outside, ...]

    def typical(self, phase: OutsidePhase) -> tuple[float, float, float] | None:
        """Low, middle and high of an evaluation or a checkpoint by the timestamps; None where they show none."""
        own = [outside for outside in self.outside if outside.phase == phase]
        seconds = [outside.seconds for outside in own if not outside.is_last]
        if phase == "evaluation":
            timed = list(self.evaluations.values())
            seconds += [e.seconds for e in timed if e.later] or [e.seconds for e in timed]
        if not seconds:
            return None
        # Rows stamped unevenly make some stretches too long by what others are too short: only their sum counts.
        middle = float(median(seconds)) if min(seconds) >= 0 else max(0.0, float(np.mean(seconds)))
        spread = max(self.tick_s, 1.645 * float(np.std(seconds)) / len(seconds) ** 0.5)
        return max(0.0, middle - spread), middle, middle + spread


def read_stamps(run: Run, stops: Sequence[Stop], baseline: Baseline) -> StampEvidence | None:
    """The evidence of the timestamps; None when there are none or they contradict the printed times."""
    if run.stamps is None or not has_stamped_rows(run) or not _agree(run, stops, baseline):
        return None
    tick_s = max(run.stamps.resolution_ns / NS, _lateness_s(run))
    found = {}
    for stop in stops:
        timed = _timed(run, stop, baseline, tick_s)
        if timed is not None:
            found[stop.line] = timed
    return StampEvidence(
        wall_s=(run.stamps.last_ns - begin_ns(run)) / NS,
        tick_s=tick_s,
        evaluations=found,
        outside=tuple(find_outside(run, stops, baseline)),
    )


def _lateness_s(run: Run) -> float:
    """How much the delay of timestamps varies on a busy machine: the time between two lines less the printed time."""
    steps = run.steps
    known = (np.diff(steps.segment) == 0) & (np.diff(steps.step) == 1) & (steps.span[1:] == 1)
    known &= (steps.t_ns[1:] != NO_TIME) & (steps.t_ns[:-1] != NO_TIME)
    if not run.clock.is_per_step or int(known.sum()) < _ENOUGH_ROWS:
        return 0.0
    unprinted_s = (np.diff(steps.t_ns) - steps.dur_ns[1:])[known] / NS
    # Few of these differences contain a stop outside the clock or another pause.
    return quantile(np.abs(unprinted_s - median(unprinted_s)), 0.9) / 1.645


def has_stamped_rows(run: Run) -> bool:
    """Whether step lines have timestamps at all; a few dated lines among others do not make a stamped log."""
    # Where the timestamps are the clock, there is nothing else that they could contradict.
    least = 2 if run.clock.is_wall else _LEAST_STAMPED
    return int((run.steps.t_ns != NO_TIME).sum()) >= least


def _agree(run: Run, stops: Sequence[Stop], baseline: Baseline) -> bool:
    elapsed, expected, rows = _between(run, baseline)
    assert run.stamps is not None
    slack = run.stamps.resolution_ns / NS
    # Where an evaluation or a checkpoint stopped the clock, more may have passed than was printed, but never less.
    stopped = sorted(stopped_rows(run, stops))
    may_exceed = np.searchsorted(stopped, rows[:, 1], side="right") > np.searchsorted(stopped, rows[:, 0], side="right")
    fits = (np.abs(elapsed - expected) <= 0.5 * expected + slack) | (may_exceed & (elapsed >= 0.5 * expected - slack))
    if slack >= 0.5:
        # Whole seconds say nothing about single short steps, but over many of them they must add up.
        return bool(len(elapsed)) and bool(0.7 < (elapsed.sum() + slack) / (expected.sum() + slack) < 10)
    return bool(len(fits)) and bool(fits.mean() >= _AGREE)


def _between(run: Run, baseline: Baseline) -> tuple[Floats, Floats, Ints]:
    """Seconds from each stamped row to the next one, what the printed times have for them, and the two rows."""
    steps = run.steps
    stamped = np.flatnonzero(steps.t_ns != NO_TIME)
    rows = np.stack([stamped[:-1], stamped[1:]], axis=1)
    rows = rows[steps.segment[rows[:, 0]] == steps.segment[rows[:, 1]]]
    passed = np.concatenate([[0.0], np.cumsum(expected_s(run, baseline))])
    elapsed = (steps.t_ns[rows[:, 1]] - steps.t_ns[rows[:, 0]]) / NS
    return elapsed, passed[rows[:, 1]] - passed[rows[:, 0]], rows


def _timed(run: Run, stop: Stop, baseline: Baseline, tick_s: float) -> StampedEvaluation | None:
    """An evaluation by the timestamps around it; None where they also cover start-up or are too coarse."""
    if stop.end_ns is None or not run.clock.is_per_step or not (stop.evaluated and stop.evaluation_inside):
        return None
    if stop.segment == len(run.segments):
        return None  # of a process of which no step is in the log
    steps, near = run.steps, min(stop.next_row, len(run) - 1)
    segment = run.segments[stop.segment]
    first = stop.next_row == segment.first_row
    if first and run.settings.truth("compile") is not False:
        return None  # the first evaluation compiles: its timestamps measure both
    rest = None
    if stop.row is not None and steps.t_ns[stop.row] != NO_TIME:
        # The printed time begins where the evaluation does; what follows the evaluation's line is checkpoint and step.
        rest = (int(steps.t_ns[stop.row]) - stop.end_ns) / NS
        if rest < -max(tick_s, LATE_S):
            return None  # the clock was set back between the two lines
        seconds, uncertainty = float(steps.dur_ns[stop.row]) / NS - rest, tick_s
    elif first:
        if stop.begin_ns is None:
            return None
        seconds, uncertainty = (stop.end_ns - stop.begin_ns) / NS, tick_s
    else:
        before = stop.next_row - 1
        if steps.t_ns[before] == NO_TIME or int(steps.segment[before]) != stop.segment:
            return None
        silent = max(0, stop.step - int(steps.step[before]) - 1)
        level, jitter = float(baseline.level[near]), float(baseline.jitter[near])
        seconds = (stop.end_ns - int(steps.t_ns[before])) / NS - silent * level
        uncertainty = float(np.hypot(tick_s, jitter * silent**0.5 + 0.02 * silent * level))
    if seconds <= 0 or (tick_s > 0.2 * seconds and tick_s >= 0.5):
        return None
    return StampedEvaluation(
        seconds=seconds,
        uncertainty_s=max(uncertainty, LATE_S),
        rest_s=rest,
        exact=rest is not None,
        later=not first,
    )
