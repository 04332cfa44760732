"""What a step will take from here on.

No single rule is right for every run: the last regime follows a slowdown, the mean of everything knows how often
something stalls, a trend follows a GPU that warms up. So each is tried on this run's own past, and the forecast
weighs them by how well they did there. That keeps it from ever being much worse than elapsed time over steps done.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median, quantiles
from stepscope.forecast.pace import Timeline
from stepscope.ledger.phases import Regime
from stepscope.run.model import Floats

# The rules are tried at these shares of the run so far.
_TRIALS = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
# Errors of the size of a run's own noise are luck, not merit; a clock has some, too.
_LEAST_LUCK = 0.002
# A trial needs at least this many rows.
_LEAST_TRIAL = 8
# A level is a disturbance when it is this much slower than every level before: a GPU that warms up stays below.
_DISTURBED = 0.3
_TINY_S = 1e-9


class StepCost(NamedTuple):
    """Seconds of a step to come, and how far off the same method was on the run so far (logs of ratios)."""

    seconds: float
    errors: tuple[float, ...]
    drift: float  # log of the last quarter's level over the first half's
    noise: float  # standard error of the mean, as a share
    dispute: float  # how far the rules are apart now (standard deviation of logs), and a passing slowdown
    is_transient: bool  # whether a new slowdown is taken to pass
    luck: float = 0.01  # errors of this size say nothing about a rule
    trials: tuple[tuple[int, float], ...] = ()  # rows at which it was tried, and what it would have said there


def estimate(timeline: Timeline, regimes: tuple[Regime, ...], steps_left: int, *, passes: bool = True) -> StepCost:
    """The level for the steps to come, from a timeline of at least one row.

    `passes` says whether a slowdown may be a disturbance at all: not where the step's cost changes by schedule.
    """
    num, seconds = timeline.num, timeline.seconds
    starts = [int(np.searchsorted(timeline.row, regime.first_row)) for regime in regimes]
    done = np.cumsum(num)
    trials: list[tuple[float, dict[str, float]]] = []
    cuts: list[int] = []
    for share in _TRIALS:
        cut = int(np.searchsorted(done, share * done[-1]))
        if cut < 2 or len(num) - cut < 2 or len(num) < _LEAST_TRIAL:
            continue
        came = float(seconds[cut:].sum() / num[cut:].sum())
        begun = max((start for start in starts if start <= cut - 3), default=0)
        trials.append((came, rules(num[:cut], seconds[:cut], begun, timeline.tick)))
        cuts.append(int(timeline.row[cut]))
    now = rules(num, seconds, starts[-1] if starts and starts[-1] < len(num) else 0, timeline.tick)
    luck = math.hypot(_LEAST_LUCK, 2 * _usual_noise(seconds / num))
    weights = _weights(now, trials, luck)
    level = sum(weights[name] * value for name, value in now.items())
    blends = [max(sum(weights[name] * said[name] for name in said), _TINY_S) for _, said in trials]
    errors = tuple(math.log(max(came, _TINY_S) / said) for (came, _), said in zip(trials, blends, strict=True))
    settled = _settled(timeline, regimes, starts, steps_left) if passes else None
    if settled is not None:
        level = now["recent"] * settled
    return StepCost(
        seconds=level,
        errors=errors,
        drift=_drift(num, seconds),
        noise=_noise(num, seconds),
        luck=luck,
        dispute=_dispute(now, settled),
        is_transient=settled is not None,
        trials=tuple(zip(cuts, blends, strict=True)),
    )


def rules(num: Floats, seconds: Floats, regime_start: int, tick: float) -> dict[str, float]:
    """What each rule makes of the rows so far."""
    rate = seconds / num
    middle = _half(num)
    mean = float(seconds.sum() / num.sum())
    late = float(seconds[middle:].sum() / num[middle:].sum())
    recent = _tamed(rate[regime_start:], tick)
    age = np.arange(1, len(recent) + 1) / len(recent)
    quarter = int(0.75 * len(num))
    latest = float(seconds[quarter:].sum() / num[quarter:].sum())
    return {
        "recent": float(np.average(recent, weights=num[regime_start:] * age**2)),
        "latest": latest,
        "late": late,
        "mean": mean,
        "steady": float(np.average(_tamed(rate, tick), weights=num)),
        # The drift so far continues by half: GPUs warm up towards a limit, not for ever.
        "drift": latest + max(0.5 * (latest - late), -0.5 * latest),
    }


def _tamed(rate: Floats, tick: float) -> Floats:
    """Rates with stragglers held to three spreads (a tick of the clock is none): one stall is not the level."""
    middle = float(median(rate))
    spread = max(1.4826 * float(median(np.abs(rate - middle))), max(0.02, tick) * float(rate.mean()))
    return np.clip(rate, middle - 3 * spread, middle + 3 * spread)


def _half(num: Floats) -> int:
    """The row at which half of the steps are done; at least one row is left after it."""
    done = np.cumsum(num)
    return int(min(np.searchsorted(done, done[-1] / 2), len(num) - 1))


def _weights(now: dict[str, float], trials: list[tuple[float, dict[str, float]]], luck: float) -> dict[str, float]:
    """How much each rule counts: the inverse square of its squared errors in the trials; alike without any.

    What none of them could have known in a trial is not held against any: only the error beyond the best one's counts.
    """
    misses = dict.fromkeys(now, 0.0)
    for came, said in trials:
        squares = {name: math.log(max(came, _TINY_S) / max(value, _TINY_S)) ** 2 for name, value in said.items()}
        best = min(squares.values())
        for name, square in squares.items():
            misses[name] += square - best
    # One more trial with an average result is assumed, so that a few trials do not crown a rule.
    merit = {name: (miss + luck**2) / (len(trials) + 1) + luck**2 for name, miss in misses.items()}
    inverse = {name: 1 / value**2 for name, value in merit.items()}
    total = sum(inverse.values())
    return {name: value / total for name, value in inverse.items()}


def _settled(timeline: Timeline, regimes: tuple[Regime, ...], starts: list[int], steps_left: int) -> float | None:
    """The factor by which a level never seen before will ease, when what slowed the run passes; None when it stays.

    What has lasted for `age` steps lasts as long again with even odds (Lindy): over a horizon h the slow share is
    (age/h) ln(1 + h/age). A run that got faster, or is back at a level it knows, is taken to stay there.
    """
    if len(regimes) < 2 or steps_left <= 0 or starts[-1] >= len(timeline):
        return None
    now = regimes[-1].typical_s
    others = [regime.typical_s for regime in regimes[:-1]]
    if now < (1 + _DISTURBED) * max(others):
        return None
    age = max(1.0, float(timeline.num[starts[-1] :].sum()))
    slow = age / steps_left * math.log1p(steps_left / age)
    before = regimes[-2].typical_s
    return (slow * now + (1 - slow) * before) / now


def _dispute(now: dict[str, float], settled: float | None) -> float:
    """How far the rules are apart; a slowdown that may or may not pass is a dispute as well."""
    apart = float(np.std([math.log(max(value, _TINY_S)) for value in now.values()]))
    return math.hypot(apart, math.log(settled)) if settled is not None else apart


def _drift(num: Floats, seconds: Floats) -> float:
    """How much slower the last quarter of the steps is than the first half, as a log."""
    done = np.cumsum(num)
    first, last = done <= done[-1] / 2, done > 0.75 * done[-1]
    if not first.any() or not last.any():
        return 0.0
    before = float(seconds[first].sum() / num[first].sum())
    after = float(seconds[last].sum() / num[last].sum())
    return math.log(max(after, _TINY_S) / max(before, _TINY_S))


def _noise(num: Floats, seconds: Floats) -> float:
    """Standard error of the mean step, as a share, from the scatter of the rows; long rows count for more."""
    if len(num) < 3:
        return 0.1
    total = max(float(seconds.sum()), _TINY_S)
    rest = seconds - num * (total / num.sum())
    return float(np.sqrt((rest**2).sum())) / total


def _usual_noise(rate: Floats) -> float:
    """The same by the rates of the middle half of the rows: a stall is no noise."""
    low, middle, high = quantiles(rate, (0.25, 0.5, 0.75))
    return float((high - low) / 1.349 / max(float(middle), _TINY_S) / math.sqrt(len(rate)))
