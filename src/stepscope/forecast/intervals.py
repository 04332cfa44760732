"""How far off a forecast may be: normalised conformal prediction.

Step noise is not what makes a forecast wrong; the level is, and how much a level wanders differs from run to run. So
each forecast gets a scale from what its own run shows: how far off earlier forecasts were, drift, scatter, how long it
has lasted, what is not known yet. The errors of complete runs, divided by their scales, say how many to allow on either
side. `tools/learn_forecast.py` makes that table from any folder of complete logs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

# What a forecast rests on: the run alone; alone, without knowing when it evaluates; alone, where the cost of a step
# follows a schedule that the log does not state; a previous run.
Kind = Literal["own", "unscheduled", "scheduled", "profile"]
# The probabilities whose quantiles a table holds.
LEVELS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99)
# The shares of steps done at which complete runs were asked.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75)
# The sources of error, each as a share of the time left; their weights are learned.
PARTS = ("scheduled", "trials", "last", "drift", "noise", "stops", "dispute", "blind", "unscheduled", "apart", "young")
# The kinds of forecast with quantiles of their own.
QUANTILE_TABLES = ("own", "blind", "profile")
# The error assumed where a run is too short for trials.
_UNTRIED = 0.05
# Stops that have not been seen yet may take this share of what is left, less of it late in the run.
_UNSEEN = 0.1
# The transients of the first minutes (caches that fill, clocks that settle, a GPU that warms up) fade over this many
# seconds, and with this power of the share left: half of a run shows most of them, even if the run takes minutes.
_SETTLES_S, _SHOWS = 100.0, 3
# No forecast is ever surer than this.
_LEAST_SCALE, _MOST_SCALE = 0.002, 1.0
# The largest error of a forecast, as a log: a wider interval would be useless.
_FARTHEST = math.log(5)


class Signs(NamedTuple):
    """What a run shows about how well it can be foreseen."""

    share_done: float
    errors: tuple[float, ...]  # errors of earlier forecasts of this run, as logs of ratios
    drift: float
    noise: float
    dispute: float  # how far rules for the level are apart
    stops: float  # standard error of all stops to come, as a share of what is left
    is_blind: bool  # stops would take time that counts and a line that is known, and none has been seen
    kind: Kind
    family: str
    apart: float = 0.0  # how far the forecast by a previous run is from the run's own
    elapsed_s: float = math.inf  # since the process began
    rounding: tuple[float, float] = (0.0, 0.0)  # how far printed times may all be off, down and up, as shares

    def parts(self) -> tuple[float, ...]:
        """What the scale is made of, in the order of PARTS."""
        squares = [error**2 for error in self.errors]
        tried = math.sqrt(sum(squares) / len(squares)) if squares else _UNTRIED
        last = abs(self.errors[-1]) if self.errors else _UNTRIED
        return (
            1.0 if self.kind == "scheduled" else 0.0,
            tried,
            last,
            abs(self.drift),
            self.noise,
            self.stops,
            self.dispute,
            _UNSEEN * (1 - self.share_done) if self.is_blind else 0.0,
            self.stops if self.kind == "unscheduled" else 0.0,
            abs(self.apart),
            0.0 if self.kind == "profile" else math.exp(-self.elapsed_s / _SETTLES_S) * (1 - self.share_done) ** _SHOWS,
        )


class Spread(NamedTuple):
    """The distribution of log(actual / forecast): quantiles at LEVELS."""

    quantiles: tuple[float, ...]

    def at(self, probability: float) -> float:
        """The quantile of a probability, straight lines between those known, and on beyond them as the last goes."""
        return _interpolate(probability, LEVELS, self.quantiles)

    def below(self, log_ratio: float) -> float:
        """The probability of at most `log_ratio`."""
        return min(0.999, max(0.001, _interpolate(log_ratio, self.quantiles, LEVELS)))


def nearness(share_done: float) -> tuple[float, ...]:
    """How much what was learned at each of the SHARES counts: between two of them, both, so that nothing jumps."""
    at = math.log(min(max(share_done, SHARES[0]), SHARES[-1]))
    places = [math.log(share) for share in SHARES]
    found = [0.0] * len(SHARES)
    after = next(index for index in range(1, len(SHARES)) if at <= places[index] + 1e-12)
    part = (at - places[after - 1]) / (places[after] - places[after - 1])
    found[after - 1], found[after] = 1 - part, part
    return tuple(found)


def scale(signs: Signs, weights: Sequence[float]) -> float:
    """How far off a forecast may be: what every run has at this point, and the parts, as independent ones.

    `weights` are the least size at each of the SHARES, the same after a previous run, and the weights of the parts.
    """
    near, shares = nearness(signs.share_done), weights[2 * len(SHARES) :]
    first = len(SHARES) if signs.kind == "profile" else 0
    least = math.exp(sum(share * math.log(weight) for share, weight in zip(near, weights[first:], strict=False)))
    size = math.hypot(least, *(share * part for share, part in zip(shares, signs.parts(), strict=True)))
    return min(_MOST_SCALE, max(_LEAST_SCALE, size))


def quantile_table(signs: Signs) -> str:
    """Which quantiles a forecast takes: after a previous run, or before the first stop, errors have other tails."""
    return "profile" if signs.kind == "profile" else "blind" if signs.is_blind else "own"


def spread_of(signs: Signs) -> Spread:
    """The spread of the truth around a forecast, by the shipped table."""
    from stepscope.forecast._learned import QUANTILES, WEIGHTS

    size = scale(signs, WEIGHTS)
    quantiles = QUANTILES[quantile_table(signs)]
    # Between the ends of what the rounding allows, nothing is likelier than anything else.
    less, more = signs.rounding
    shifts = [(2 * level - 1) * (more if level > 0.5 else less) for level in LEVELS]
    found = (size * value + shift for value, shift in zip(quantiles, shifts, strict=True))
    return Spread(tuple(min(_FARTHEST, max(-_FARTHEST, value)) for value in found))


def _interpolate(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """Straight lines through points in rising order, the outermost ones prolonged."""
    for index in range(1, len(xs)):
        if x <= xs[index] or index == len(xs) - 1:
            width = xs[index] - xs[index - 1]
            if width <= 0:
                return ys[index]
            return ys[index - 1] + (x - xs[index - 1]) / width * (ys[index] - ys[index - 1])
    return ys[-1]
