"""Ledger and schedule → the time left.

Each class of work is counted and priced by itself: steps at the level of the last regime, evaluations and
saves at their own price. What is uncertain is not the noise of single steps but the level, so the interval
comes from how far earlier forecasts of this very run would have been off.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from stepscope.forecast.schedule import Schedule, plan
from stepscope.ledger import priors
from stepscope.ledger.phases import Ledger, Price
from stepscope.message import Message, Seconds, Share, say
from stepscope.run import Floats, Run
from stepscope.units import NS

# Fewer normal steps than this carry no level.
_LEAST_ROWS = 3
# What even a steady run's level does by the end, by the share that is done: measured on complete nanoGPT logs.
_DRIFT = ((0.0, 0.05, 0.10, 0.25, 0.50, 0.75, 1.0), (0.04, 0.03, 0.03, 0.02, 0.015, 0.01, 0.01))
# Errors of forecasts have heavier tails than the normal law: the plain quantile covered 78 % instead of 90 %.
_TAIL = 1.4
_TINY_S = 1e-6  # a log may print steps of 0.00 ms
_BACKTESTS = (0.2, 0.35, 0.5, 0.7, 0.85)


class Left(NamedTuple):
    """A class of work still to come; seconds None where nothing tells its price."""

    num: int
    seconds: float | None


class Forecast(NamedTuple):
    """The time from the last line to the end of the last step."""

    schedule: Schedule
    level_s: float
    remaining_s: float
    low_s: float
    high_s: float
    confidence: float
    left: dict[str, Left]
    assumptions: tuple[Message, ...]

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left."""
        return self.schedule.num_steps == 0


class NoForecast(NamedTuple):
    """Why there is no forecast, and the rate if there is one."""

    reason: Message
    level_s: float | None
    last_step: int | None


def forecast(run: Run, ledger: Ledger, *, confidence: float = 0.9) -> Forecast | NoForecast:
    """When `run` will be done, or what is missing to say so."""
    level = None if ledger.step is None else recent_level(run, ledger)
    last_step = int(run.steps.step[-1]) if len(run) else None
    if level is None or last_step is None:
        return NoForecast(reason=say("reason-no-steps"), level_s=None, last_step=last_step)
    max_steps = run.settings.count("max_steps")
    if max_steps is None:
        return NoForecast(reason=say("reason-no-total"), level_s=level, last_step=last_step)
    schedule = plan(run, max_steps)
    if ledger.step is not None and ledger.step.num_rows < _LEAST_ROWS and schedule.num_steps:
        reason = say("reason-too-few", count=ledger.step.num_rows)
        return NoForecast(reason=reason, level_s=level, last_step=last_step)
    return _price(run, ledger, schedule, level, confidence)


def _price(run: Run, ledger: Ledger, schedule: Schedule, level: float, confidence: float) -> Forecast:
    steps_s = schedule.num_steps * level
    evaluation = ledger.evaluation_price or _expected_evaluation(run, level)
    evaluation_s, assumptions = 0.0, []
    left = {"step": Left(num=schedule.num_steps, seconds=steps_s)}
    error_s = 0.0
    if schedule.num_evaluations is None:
        left["evaluation"] = Left(num=0, seconds=None)
        assumptions.append(say("assume-no-evaluations"))
    elif evaluation is None:
        left["evaluation"] = Left(num=schedule.num_evaluations, seconds=None if schedule.num_evaluations else 0.0)
        if schedule.num_evaluations:
            assumptions.append(say("assume-evaluation-unpriced"))
    else:
        evaluation_s = schedule.num_evaluations * evaluation.seconds
        left["evaluation"] = Left(num=schedule.num_evaluations, seconds=evaluation_s)
        if ledger.evaluation_price is None and schedule.num_evaluations:
            assumptions.append(say("assume-evaluation-prior"))
        # Split or not, evaluation and save together are what was measured: only their sum's error counts.
        error_s = schedule.num_evaluations * _price_error(ledger, evaluation)
    save_s = 0.0
    if schedule.num_saves is not None and ledger.checkpoint_price is not None:
        save_s = schedule.num_saves * ledger.checkpoint_price.seconds
    left["checkpoint"] = Left(num=round(schedule.num_saves or 0), seconds=save_s)
    if schedule.num_saves and 0 < schedule.save_probability < 1:
        assumptions.append(say("assume-saves", share=Share(schedule.save_probability)))
    remaining = steps_s + evaluation_s + save_s
    done = schedule.last_step / max(1, schedule.max_steps)
    spread = float(np.hypot(_own_error(run, ledger), np.interp(done, _DRIFT[0], _DRIFT[1])))
    z = _TAIL * NormalDist().inv_cdf(0.5 + min(max(confidence, 0.01), 0.999) / 2)
    relative = z * float(
        np.hypot(spread * (steps_s / remaining if remaining else 0.0), error_s / remaining if remaining else 0.0)
    )
    if schedule.num_steps:
        assumptions.insert(0, say("assume-level", duration=Seconds(level)))
    origin = run.settings["max_steps"].origin
    if origin == "default":
        assumptions.append(say("assume-default-total", count=schedule.max_steps))
    return Forecast(
        schedule=schedule,
        level_s=level,
        remaining_s=remaining,
        low_s=remaining * float(np.exp(-relative)),
        high_s=remaining * float(np.exp(relative)),
        confidence=confidence,
        left=left,
        assumptions=tuple(assumptions),
    )


def recent_level(run: Run, ledger: Ledger) -> float | None:
    """Seconds of a normal step at the end of the log: the last regime, recent rows weighing more."""
    if ledger.step is None:
        return None
    rows = ledger.step.rows
    return _weighted_level(run.steps.dur_ns[rows[rows >= ledger.step.regimes[-1].first_row]] / NS)


def _weighted_level(seconds: Floats) -> float:
    """A mean (sums need means) with recent rows weighing more and stragglers held to three spreads."""
    middle = float(np.median(seconds))
    spread = max(1.4826 * float(np.median(np.abs(seconds - middle))), 0.02 * middle)
    tamed = np.clip(seconds, middle - 3 * spread, middle + 3 * spread)
    weights = (np.arange(1, len(tamed) + 1) / len(tamed)) ** 2
    return float(np.average(tamed, weights=weights))


def _own_error(run: Run, ledger: Ledger) -> float:
    """How far off the level would have been, had one asked earlier in this run (root mean square of log ratios)."""
    assert ledger.step is not None
    seconds = run.steps.dur_ns[ledger.step.rows] / NS
    if len(seconds) < 8:
        return 0.04
    errors = []
    for share in _BACKTESTS:
        cut = int(share * len(seconds))
        if cut >= 2:
            came, said = float(seconds[cut:].mean()), _weighted_level(seconds[:cut])
            errors.append(np.log(max(came, _TINY_S) / max(said, _TINY_S)))
    return float(np.sqrt(np.mean(np.square(errors))))


def _price_error(ledger: Ledger, price: Price) -> float:
    """Standard error, in seconds, of evaluation plus save."""
    if ledger.evaluation_price is None:
        return (price.high_s - price.low_s) / 3.29
    seen = [slow.seconds for slow in ledger.slow if slow.cause in {"evaluation", "checkpoint"}]
    if not seen:
        return (price.high_s - price.low_s) / 3.29
    return float(0.10 * price.seconds / len(seen) ** 0.5)


def _expected_evaluation(run: Run, level: float) -> Price | None:
    """What an evaluation should cost by first principles, before the log shows one."""
    prior = priors.evaluation_steps(run.settings, run.format)
    if prior is None:
        return None
    middle = prior.median * level
    factor = float(np.exp(1.645 * prior.log_sd))
    return Price(seconds=middle, low_s=middle / factor, high_s=middle * factor, basis="assumed")
