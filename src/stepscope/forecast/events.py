"""What the evaluations and saves to come will cost.

Averages, never the last one alone. Each stop is measured against the level around it and scaled to the level to come,
because an evaluation slows down with the card. Those with and without a save are averaged apart where both were seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.forecast.schedule import Schedule
from stepscope.forecast.timeline import StopCost, Timeline
from stepscope.ledger import priors
from stepscope.ledger.phases import Ledger, Price
from stepscope.message import Message, say
from stepscope.run import Run

# A slowdown of the step is not followed further than this by an evaluation.
_FOLLOWS = (0.5, 2.0)
# With this many later ones, the first of its kind (cold caches, another compile) does not count.
_ENOUGH = 3
# Intervals that people set. One that the log has not reached yet is any of the larger ones.
_ROUND = (50, 100, 200, 250, 500, 1000, 2000)
# An evaluation of 200 batches of two splits, as trainers of this kind ship it, in micro-steps; and its log spread.
_STOCK_STEPS, _STOCK_LOG_SD = 136.0, 1.0
# One stop that took this many times the middle one held something else as well.
_ODD = 3.0


class Left(NamedTuple):
    """A class of work still to come; seconds None where nothing tells its price."""

    num: int | None
    seconds: float | None


class StopsLeft(NamedTuple):
    """The stops still to come: evaluations and saves, their standard error in seconds, and what was assumed."""

    evaluation: Left
    checkpoint: Left
    error_s: float
    num_seen: int
    is_assumed: bool
    assumptions: tuple[Message, ...]

    @property
    def seconds(self) -> float:
        """All of them together."""
        return (self.evaluation.seconds or 0.0) + (self.checkpoint.seconds or 0.0)


def price_stops(run: Run, ledger: Ledger, timeline: Timeline, schedule: Schedule, level_s: float) -> StopsLeft:
    """Price the stops of a schedule at the level to come."""
    if timeline.holds_stops:
        # Every line holds its evaluation, so the steps' own level does too.
        counts = [schedule.num_evaluations, None if schedule.num_saves is None else round(schedule.num_saves)]
        left = [Left(num=num, seconds=0.0 if num == 0 else None) for num in counts]
        return StopsLeft(left[0], left[1], 0.0, 0, False, ())
    evaluations = [stop for stop in timeline.stops if stop.evaluated]
    saves = [stop for stop in timeline.stops if not stop.evaluated]
    assumptions: list[Message] = []
    with_save = _scaled([stop for stop in evaluations if stop.saved], level_s)
    without = _scaled([stop for stop in evaluations if not stop.saved], level_s)
    num = schedule.num_evaluations
    error_s = 0.0
    saved_s: float | None
    if num is None:
        evaluation, saved_s, error_s = _unannounced(run, schedule, level_s, assumptions)
    elif len(with_save) + len(without):
        evaluation, saved_s, error_s = _seen(ledger, schedule, with_save, without)
    else:
        evaluation, saved_s, error_s = _unseen(run, ledger, schedule, level_s, assumptions)
    lone_s = _scaled(saves, level_s)
    num_lone = schedule.num_lone_saves
    if num_lone and len(lone_s):
        saved_s = (saved_s or 0.0) + num_lone * float(lone_s.mean())
        error_s = float(np.hypot(error_s, num_lone * _standard_error(lone_s)))
    num_saves = schedule.num_saves
    if num_saves and 0 < schedule.save_probability < 1 and num:
        assumptions.append(_often(schedule))
    checkpoint = Left(
        num=None if num_saves is None else round(num_saves),
        seconds=saved_s if num_saves else 0.0 if num_saves == 0 else saved_s,
    )
    return StopsLeft(
        evaluation=evaluation,
        checkpoint=checkpoint,
        error_s=error_s,
        num_seen=len(timeline.stops),
        is_assumed=bool(num) and not evaluations and bool(evaluation.seconds),
        assumptions=tuple(assumptions),
    )


def _often(schedule: Schedule) -> Message:
    from stepscope.message import Share

    return say("assume-saves", share=Share(schedule.save_probability))


def _scaled(stops: list[StopCost], level_s: float) -> np.ndarray:
    """Seconds of each stop at the level to come; the first of its kind left out once there are enough others."""
    costs = np.array(
        [stop.seconds / stop.num * float(np.clip(level_s / max(stop.level_s, 1e-9), *_FOLLOWS)) for stop in stops]
    )
    if len(costs) > _ENOUGH:
        costs = costs[1:]
    if len(costs) > 1:
        # The lower of two middle ones: of two that differ this much, the longer held something else as well.
        costs = np.minimum(costs, _ODD * float(np.sort(costs)[(len(costs) - 1) // 2]))
    return costs


def mean_costs(stops: list[StopCost], level_s: float) -> dict[tuple[bool, bool], float]:
    """The average of each kind of stop at a level."""
    kinds = {stop.kind for stop in stops}
    return {kind: float(_scaled([stop for stop in stops if stop.kind == kind], level_s).mean()) for kind in kinds}


def _standard_error(costs: np.ndarray) -> float:
    """Of the mean of a few alike things: their scatter, and a tenth of one for what so few cannot show."""
    scatter = float(np.std(costs)) if len(costs) > 1 else 0.0
    return float(np.hypot(scatter, 0.1 * float(costs.mean())) / len(costs) ** 0.5)


def _seen(
    ledger: Ledger, schedule: Schedule, with_save: np.ndarray, without: np.ndarray
) -> tuple[Left, float | None, float]:
    """From evaluations of this run. What a save adds is the difference, where both kinds were seen."""
    num, p = schedule.num_evaluations or 0, schedule.save_probability
    saves = num * p
    if len(with_save) and len(without):
        plain, extra = float(without.mean()), max(0.0, float(with_save.mean() - without.mean()))
        every = plain + p * extra
        error = float(np.hypot((1 - p) * _standard_error(without), p * _standard_error(with_save)))
        return Left(num=num, seconds=num * plain), saves * extra, num * error
    seen = with_save if len(with_save) else without
    every, error = float(seen.mean()), _standard_error(seen)
    save = ledger.checkpoint_price.seconds if ledger.checkpoint_price else 0.0
    if len(with_save):
        # Only their sum was seen: the ledger's border between them, and a save fewer where one is not expected.
        save = min(save, every)
        return Left(num=num, seconds=num * (every - save)), saves * save, num * error
    return Left(num=num, seconds=num * every), saves * save, num * error


def _unseen(
    run: Run, ledger: Ledger, schedule: Schedule, level_s: float, assumptions: list[Message]
) -> tuple[Left, float | None, float]:
    """Before the first evaluation: the ledger's estimate, or what it should cost by first principles."""
    num = schedule.num_evaluations or 0
    inside = run.clock.covers == "stamp" or "evaluation" in run.clock.includes
    price = ledger.evaluation_price
    if price is None and inside:
        price = _expected_evaluation(run, level_s)
        if price is not None and num:
            assumptions.append(say("assume-evaluation-prior"))
    if price is None:
        if num:
            assumptions.append(say("assume-evaluation-unpriced" if inside else "assume-evaluation-outside"))
        return Left(num=num, seconds=None if num else 0.0), None, 0.0
    save = ledger.checkpoint_price
    if save is None and schedule.num_saves and (run.clock.covers == "stamp" or "checkpoint" in run.clock.includes):
        save = _expected_save(run)
        assumptions.append(say("assume-save-prior"))
    saves = schedule.num_saves or 0.0
    error = num * _spread(price)
    if save is not None:
        error = float(np.hypot(error, saves * _spread(save)))
    return Left(num=num, seconds=num * price.seconds), None if save is None else saves * save.seconds, error


def _unannounced(
    run: Run, schedule: Schedule, level_s: float, assumptions: list[Message]
) -> tuple[Left, float | None, float]:
    """Nothing tells how often it evaluates, but it evaluated before its first step and so will again.

    The next one has not come yet, so the interval is longer than the steps done; and no evaluation takes longer than
    the first row, which held one, took beyond a step.
    """
    inside = run.clock.covers == "stamp" or "evaluation" in run.clock.includes
    longer = [every for every in _ROUND if schedule.last_step < every <= schedule.max_steps]
    steps = run.steps
    is_told = run.format.evaluates_first_step and inside and len(steps) and int(steps.step[0]) == 0
    if not is_told or not longer:
        assumptions.append(say("assume-no-evaluations"))
        return Left(num=None, seconds=None), None, 0.0
    each_s = min(max(0.0, float(steps.seconds[0]) - level_s), _STOCK_STEPS * level_s)
    counts = np.array([schedule.max_steps // every for every in longer], dtype=np.float64)
    assumptions.append(say("assume-evaluations-unannounced"))
    error = each_s * float(np.hypot(np.std(counts), _STOCK_LOG_SD * counts.mean()))
    return Left(num=None, seconds=each_s * float(counts.mean())), None, error


def _spread(price: Price) -> float:
    """Standard deviation behind a price's 90 % interval."""
    return (price.high_s - price.low_s) / 3.29


def _expected_save(run: Run) -> Price:
    """What a save should cost by first principles, before the log shows one."""
    prior = priors.checkpoint_seconds(run.settings, run.format)
    factor = float(np.exp(1.645 * prior.log_sd))
    return Price(seconds=prior.median, low_s=prior.median / factor, high_s=prior.median * factor, basis="assumed")


def _expected_evaluation(run: Run, level_s: float) -> Price | None:
    """What an evaluation should cost by first principles, before the log shows one."""
    prior = priors.evaluation_steps(run.settings, run.format)
    if prior is None:
        return None
    middle = prior.median * level_s
    factor = float(np.exp(1.645 * prior.log_sd))
    return Price(seconds=middle, low_s=middle / factor, high_s=middle * factor, basis="assumed")
