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
from stepscope.run import Floats, Ints, Run
from stepscope.stops import find_evaluations
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

    num: int | None
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
    if last_step is not None and not (run.steps.span > 0).any():
        return NoForecast(reason=say("reason-no-times"), level_s=None, last_step=last_step)
    if level is None or last_step is None:
        return NoForecast(reason=say("reason-no-steps"), level_s=None, last_step=last_step)
    max_steps = run.settings.count("max_steps")
    if max_steps is None:
        return NoForecast(reason=say("reason-no-total"), level_s=level, last_step=last_step)
    schedule = plan(run, max_steps)
    if ledger.step is not None and 0 < ledger.step.num_rows < _LEAST_ROWS and schedule.num_steps:
        reason = say("reason-too-few", count=ledger.step.num_rows)
        return NoForecast(reason=reason, level_s=level, last_step=last_step)
    return _price(run, ledger, schedule, level, confidence)


def _price(run: Run, ledger: Ledger, schedule: Schedule, level: float, confidence: float) -> Forecast:
    steps_s = schedule.num_steps * level
    assumptions: list[Message] = []
    left = {"step": Left(num=schedule.num_steps, seconds=steps_s)}
    left["evaluation"], error_s = _evaluations_left(run, ledger, schedule, level, assumptions)
    evaluation_s = left["evaluation"].seconds or 0.0
    save = ledger.checkpoint_price
    if save is None and schedule.num_saves and _saves_are_inside(run):
        save = _expected_save(run)
        assumptions.append(say("assume-save-prior"))
    save_s = 0.0
    if schedule.num_saves is None:
        left["checkpoint"] = Left(num=None, seconds=None)
    elif save is None:
        left["checkpoint"] = Left(num=round(schedule.num_saves), seconds=None if schedule.num_saves else 0.0)
    else:
        save_s = schedule.num_saves * save.seconds
        left["checkpoint"] = Left(num=round(schedule.num_saves), seconds=save_s)
        error_s = float(np.hypot(error_s, _saves_error(run, schedule, save)))
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


def _evaluations_left(
    run: Run, ledger: Ledger, schedule: Schedule, level: float, assumptions: list[Message]
) -> tuple[Left, float]:
    """The evaluations to come with their price, and the standard error of that in seconds."""
    num = schedule.num_evaluations
    if num is None:
        assumptions.append(say("assume-no-evaluations"))
        return Left(num=None, seconds=None), 0.0
    inside = run.clock.covers == "stamp" or "evaluation" in run.clock.includes
    price = ledger.evaluation_price
    if price is None and inside:
        price = _expected_evaluation(run, level)
        if price is not None and num:
            assumptions.append(say("assume-evaluation-prior"))
    if price is None:
        if num:
            assumptions.append(say("assume-evaluation-unpriced" if inside else "assume-evaluation-outside"))
        return Left(num=num, seconds=None if num else 0.0), 0.0
    # Split or not, evaluation and save together are what was measured: only their sum's error counts.
    return Left(num=num, seconds=num * price.seconds), num * _price_error(ledger, price)


def recent_level(run: Run, ledger: Ledger) -> float | None:
    """Seconds of a normal step at the end of the log: the last regime, recent rows weighing more."""
    if ledger.step is None:
        return None
    rows = ledger.step.rows
    if not len(rows):
        return ledger.step.typical_s  # no normal step is printed: the level is worked out from what is
    recent = rows[rows >= ledger.step.regimes[-1].first_row]
    return _weighted_level(run.steps.dur_ns[recent] / NS, _tick_s(run, recent))


def _tick_s(run: Run, rows: Ints) -> float:
    """How far one row may be off because its clock counts in ticks: that is no straggler."""
    return float(np.median(run.doubt_ns[rows] / np.maximum(run.steps.span[rows], 1))) / NS


def _weighted_level(seconds: Floats, tick_s: float) -> float:
    """A mean (sums need means) with recent rows weighing more and stragglers held to three spreads."""
    middle = float(np.median(seconds))
    spread = max(1.4826 * float(np.median(np.abs(seconds - middle))), 0.02 * middle, tick_s)
    tamed = np.clip(seconds, middle - 3 * spread, middle + 3 * spread)
    weights = (np.arange(1, len(tamed) + 1) / len(tamed)) ** 2
    return float(np.average(tamed, weights=weights))


def _own_error(run: Run, ledger: Ledger) -> float:
    """How far off the level would have been, had one asked earlier in this run (root mean square of log ratios)."""
    assert ledger.step is not None
    seconds = run.steps.dur_ns[ledger.step.rows] / NS
    if not len(seconds):
        return 0.3 if ledger.wall_high_s > 1.2 * ledger.wall_s else 0.05
    if len(seconds) < 8:
        return 0.04
    errors = []
    for share in _BACKTESTS:
        cut = int(share * len(seconds))
        if cut >= 2:
            came, said = float(seconds[cut:].mean()), _weighted_level(seconds[:cut], _tick_s(run, ledger.step.rows))
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


def _saves_are_inside(run: Run) -> bool:
    return run.clock.covers == "stamp" or "checkpoint" in run.clock.includes


def _saves_error(run: Run, schedule: Schedule, save: Price) -> float:
    """Standard error, in seconds, of the saves to come: how many there will be, and what each costs."""
    num, p = schedule.num_evaluations or 0, schedule.save_probability
    seen = sum(1 for stop in find_evaluations(run) if stop.step > 0)
    # How often it saves is itself known only from so many evaluations.
    doubt = (p * (1 - p) / (seen + 2)) ** 0.5
    count_sd = (num * p * (1 - p) + (num * doubt) ** 2) ** 0.5
    return float(np.hypot(count_sd * save.seconds, 0.1 * num * p * save.seconds))


def _expected_save(run: Run) -> Price:
    """What a save should cost by first principles, before the log shows one."""
    prior = priors.checkpoint_seconds(run.settings, run.format)
    factor = float(np.exp(1.645 * prior.log_sd))
    return Price(seconds=prior.median, low_s=prior.median / factor, high_s=prior.median * factor, basis="assumed")


def _expected_evaluation(run: Run, level: float) -> Price | None:
    """What an evaluation should cost by first principles, before the log shows one."""
    prior = priors.evaluation_steps(run.settings, run.format)
    if prior is None:
        return None
    middle = prior.median * level
    factor = float(np.exp(1.645 * prior.log_sd))
    return Price(seconds=middle, low_s=middle / factor, high_s=middle * factor, basis="assumed")
