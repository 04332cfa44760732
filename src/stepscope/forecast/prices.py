"""What a stop of one kind will take, from those of its kind so far.

Averages, never the last one alone. Each is measured against the level around it and scaled to the level to come,
because an evaluation slows down with the card. Where their cost changes as the model learns (one that generates text
stops sooner once it has learned to end a sentence), it goes on changing, by the same share for each doubling of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepscope.forecast.timeline import StopCost
from stepscope.run import Floats

# A slowdown of the step is not followed further than this by an evaluation.
_FOLLOWS = (0.5, 2.0)
# With this many later ones, the first of its kind (cold caches, another compile) does not count.
_ENOUGH = 3
# One stop that took this many times the middle one held something else as well.
_ODD = 3.0
# From so many on, a change of their cost is told from chance.
_LEAST_FOR_TREND = 6
# The cost of an evaluation that generates text changes by up to about so much with every e-fold of steps: 37 runs of
# translation models, asked at 5 to 25 % of their steps, did so in nine cases of ten.
_LEARNING = 0.2
# No trend is followed further than this.
_FARTHEST = 3.0


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
        # The lower of two middle ones: of two that differ this much, the longer held something else as well.
        costs = np.minimum(costs, _ODD * float(np.sort(costs)[(len(costs) - 1) // 2]))
    mean = float(costs.mean())
    factor = _trend(np.array([stop.step for stop in own], dtype=np.float64), costs, last_step, max_steps)
    # Of the mean of a few alike things: their scatter, and a tenth of one for what so few cannot show. Things that
    # differ much go on to differ in the mean, however many were seen; and a trend that is prolonged may end here.
    spread = float(np.std(costs))
    scatter = float(np.hypot(np.hypot(spread, 0.1 * mean) / len(costs) ** 0.5, spread / 2))
    if generates and 0 < last_step < max_steps:
        scatter = float(np.hypot(scatter, _LEARNING * mean * np.log(max_steps / last_step)))
    return Cost(mean * factor, float(np.hypot(scatter, mean * (1 - factor) / 2)))


def _trend(steps: Floats, costs: Floats, last_step: int, max_steps: int) -> float:
    """What stops to come will take over what the mean so far is, as far as it is more than chance."""
    known = (steps > 0) & (costs > 0)
    if int(known.sum()) < _LEAST_FOR_TREND or not 0 < last_step < max_steps:
        return 1.0
    x, y = np.log(steps[known]), np.log(costs[known])
    x_mean, away = float(x.mean()), x - x.mean()
    square = float((away**2).sum())
    if square <= 0:
        return 1.0
    slope = float((away * y).sum()) / square
    rest = y - y.mean() - slope * away
    noise = float((rest**2).sum()) / (len(x) - 2) / square
    slope *= max(0.0, 1 - 4 * noise / slope**2) if slope else 0.0
    # The mean of step ** slope over the steps to come, against that over those seen.
    begin, end = np.log(last_step) - x_mean, np.log(max_steps) - x_mean
    power = slope + 1
    whole = (np.exp(power * end) - np.exp(power * begin)) / power if abs(power) > 1e-6 else end - begin
    seen = float(np.exp(slope * away).mean())
    return float(np.clip(whole / (np.exp(end) - np.exp(begin)) / seen, 1 / _FARTHEST, _FARTHEST))
