"""What a stop of one kind will take, from those of its kind so far.

Averages, never the last one alone. Each is measured against the level around it and scaled to the level to come,
because an evaluation slows down with the GPU. Where their cost changes as the model learns (one that generates text
stops sooner once it has learned to end a sentence), it goes on changing, by the same share for each doubling of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepscope.forecast.pace import StopCost
from stepscope.run.model import Floats

# The cost of an evaluation follows the level of the step within these factors.
_FOLLOWS = (0.5, 2.0)
# With more stops than this, the first of its kind (cold caches, another compile) does not count.
_ENOUGH = 3
# One stop that took this many times the middle one held something else as well.
_ODD = 3.0
# With at least this many stops, a change of their cost is separated from chance.
_LEAST_FOR_TREND = 6
# The cost of an evaluation that generates text changes as this power of the step, give or take: 37 runs of translation
# models, over all of their evaluations.
_LEARNS = (-0.06, 0.1)
# No trend is followed further than this.
_FARTHEST = 3.0
# A mean over the rest of a run is taken of this many moments.
_POINTS = 100


class Cost(NamedTuple):
    """Seconds of one stop to come, and the standard error of their mean."""

    seconds: float
    error: float


def cost_of(
    stops: Sequence[StopCost], level_s: float, last_step: int, max_steps: int, *, generates: bool = False
) -> Cost:
    """What a stop between two steps will take at a level, from at least one of its kind.

    `generates`: it is an evaluation whose cost depends on what the model has learned.
    """
    own = stops[1:] if len(stops) > _ENOUGH else stops
    costs = np.array(
        [stop.seconds / stop.num * float(np.clip(level_s / max(stop.level_s, 1e-9), *_FOLLOWS)) for stop in own]
    )
    if len(costs) > 1:
        # The lower median: of two stops that differ this much, the longer contained something else.
        costs = np.minimum(costs, _ODD * float(np.sort(costs)[(len(costs) - 1) // 2]))
    mean = float(costs.mean())
    # Standard error of the mean: the scatter, and a tenth of the mean for what few stops cannot show. Costs that differ
    # much go on to differ in the mean, even after many stops.
    spread = float(np.std(costs))
    scatter = float(np.hypot(np.hypot(spread, 0.1 * mean) / len(costs) ** 0.5, spread / 2))
    steps = np.array([stop.step for stop in own], dtype=np.float64)
    if not 0 < last_step < max_steps or not (steps > 0).any():
        return Cost(mean, scatter)
    steps, costs = steps[steps > 0], costs[steps > 0]
    if generates:
        power, doubt = _learned_power(steps, costs)
        factor = _prolonged(steps, power, last_step, max_steps)
        change = doubt * float(np.log((last_step + max_steps) / 2 / np.exp(np.log(steps).mean())))
    else:
        factor = _prolonged(steps, _shrunk_power(steps, costs), last_step, max_steps)
        change = (1 - factor) / 2  # a trend that is prolonged may end here
    return Cost(mean * factor, float(np.hypot(scatter, mean * change)))


def _power(steps: Floats, costs: Floats) -> tuple[float, float] | None:
    """The power of the step that the costs follow, and its variance; None where there are too few."""
    known = costs > 0
    x, y = np.log(steps[known]), np.log(costs[known])
    away = x - x.mean() if len(x) else x
    square = float((away**2).sum())
    if len(x) < _LEAST_FOR_TREND or square <= 0:
        return None
    power = float((away * y).sum()) / square
    rest = y - y.mean() - power * away
    return power, float((rest**2).sum()) / (len(x) - 2) / square


def _shrunk_power(steps: Floats, costs: Floats) -> float:
    """The power as far as it is more than chance."""
    found = _power(steps, costs)
    if found is None or not found[0]:
        return 0.0
    power, variance = found
    return power * max(0.0, 1 - 4 * variance / power**2)


def _learned_power(steps: Floats, costs: Floats) -> tuple[float, float]:
    """The power between what other runs did and what this one does, and its standard deviation."""
    usual, usual_sd = _LEARNS
    found = _power(steps, costs)
    if found is None:
        return _LEARNS
    own = 1 / max(found[1], 1e-9)
    others = usual_sd**-2
    return (own * found[0] + others * usual) / (own + others), float((own + others) ** -0.5)


def _prolonged(steps: Floats, power: float, last_step: int, max_steps: int) -> float:
    """What stops to come will take over what the mean so far is, if their cost follows a power of the step.

    The mean of step ** power over the steps to come, against that over those seen.
    """
    to_come = np.log(np.linspace(last_step, max_steps, _POINTS))
    middle = float(to_come.mean())
    # Logs of both, and their largest taken out: powers of stops that lie close together may be huge.
    whole, seen = (power * (logs - middle) for logs in (to_come, np.log(steps)))
    largest = max(float(whole.max()), float(seen.max()))
    ratio = float(np.exp(whole - largest).mean()) / max(float(np.exp(seen - largest).mean()), 1e-300)
    return float(np.clip(ratio, 1 / _FARTHEST, _FARTHEST))
