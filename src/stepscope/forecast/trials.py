"""How well the whole forecast would have done earlier in this run: steps and stops together, against what came.

Counting steps and stops apart is right where both are regular. Where they are not (evaluations that vary, costs that no
line shows), the plain mean over whole cycles knows more. Both are tried on the run's own past and weighed by it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stepscope.forecast.level import StepCost
from stepscope.forecast.pace import StopCost, Timeline
from stepscope.forecast.stop_cost import cost_of

# Fewer stops than this make no cycle to average over, fewer trials decide nothing.
_LEAST_STOPS, _LEAST_TRIALS = 2, 2


class Tried(NamedTuple):
    """Errors of earlier forecasts (logs of ratios), and how much the plain mean over whole cycles counts."""

    errors: tuple[float, ...]
    whole_share: float
    whole_s: float  # seconds per step over whole cycles, stops included


def look_back(timeline: Timeline, level: StepCost, *, generates: bool = False) -> Tried:
    """Try the counted forecast and the plain mean on the run so far; `generates` as for `cost_of`."""
    if not timeline.stops:
        return Tried(level.errors, 0.0, 0.0)
    found = [(cut / timeline.end, _trial(timeline, cut, said, generates=generates)) for cut, said in level.trials]
    trials = [trial for _, trial in found if trial is not None]
    both = [(at, *trial[:2], trial[2]) for at, trial in found if trial is not None and trial[2] is not None]
    now = _whole(timeline, timeline.end)
    share = _share(both, level.luck) if now is not None and len(both) >= _LEAST_TRIALS else 0.0
    errors = tuple(
        math.log(came / (counted if whole is None else share * whole + (1 - share) * counted))
        for came, counted, whole in trials
    )
    return Tried(errors or level.errors, share, now or 0.0)


def _trial(timeline: Timeline, cut: int, said: float, *, generates: bool) -> tuple[float, float, float | None] | None:
    """What came after row `cut`, its forecast by counting, and its forecast by the plain mean (None without cycles)."""
    rows, num, seconds = timeline.every
    after = rows >= cut
    before = [stop for stop in timeline.stops if stop.row < cut]
    later = [stop for stop in timeline.stops if stop.row >= cut]
    came, steps = float(seconds[after].sum()), float(num[after].sum())
    counted = said * steps
    if before:
        counted += _forecast_stops(before, later, said, generates=generates)
    else:
        came -= sum(stop.seconds for stop in later)  # the log had shown no stop yet: stops are not on trial
    if came <= 0 or counted <= 0:
        return None
    rate = _whole(timeline, cut)
    return came, counted, None if rate is None else rate * steps


def _forecast_stops(before: list[StopCost], later: list[StopCost], level_s: float, *, generates: bool) -> float:
    """The forecast of the stops after a moment by those before it, in seconds."""
    last_step, max_steps = before[-1].step, later[-1].step if later else before[-1].step
    price = {
        kind: cost_of(
            [stop for stop in before if stop.kind == kind],
            level_s,
            last_step,
            max_steps,
            generates=generates and kind[0],
        ).seconds
        for kind in {stop.kind for stop in before}
    }
    anything = float(np.mean(list(price.values())))
    return sum(stop.num * price.get(stop.kind, anything) for stop in later)


def _whole(timeline: Timeline, end: int) -> float | None:
    """Seconds per step up to the last stop before row `end`: whole cycles, so that it does not saw."""
    stops = [stop.row for stop in timeline.stops if stop.row < end]
    if len(stops) < _LEAST_STOPS:
        return None
    rows, num, seconds = timeline.every
    upto = rows <= stops[-1]
    return float(seconds[upto].sum() / num[upto].sum())


def _share(trials: list[tuple[float, float, float, float]], luck: float) -> float:
    """How much the plain mean counts: by squared errors, with one more trial that went averagely for both.

    A late trial rests on nearly as much as is known now, and counts for more.
    """
    misses, total = [0.0, 0.0], sum(at**2 for at, *_ in trials)
    for at, came, counted, whole in trials:
        squares = [math.log(came / said) ** 2 for said in (counted, whole)]
        for index, square in enumerate(squares):
            misses[index] += at**2 * (square - min(squares))
    counted_merit, whole_merit = ((miss + luck**2) / (total + 1) + luck**2 for miss in misses)
    return counted_merit**2 / (counted_merit**2 + whole_merit**2)
