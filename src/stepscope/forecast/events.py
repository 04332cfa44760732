"""What the stops to come will cost: evaluations with and without a checkpoint apart where both were seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.core.message import Message, Share, say
from stepscope.forecast.pace import StopCost, Timeline
from stepscope.forecast.schedule import Schedule
from stepscope.forecast.stop_cost import Cost, cost_of
from stepscope.ledger import priors
from stepscope.ledger.phases import Ledger, Price
from stepscope.run.model import Run
from stepscope.run.stops import last_stops

# Usual evaluation intervals. An interval that the log has not reached yet is any of those larger than its last step.
_ROUND = (50, 100, 200, 250, 500, 1000, 2000)
# An evaluation of 200 batches of two splits, as trainers of this kind ship it, in micro-steps; and its log spread.
_STOCK_STEPS, _STOCK_LOG_SD = 136.0, 1.0


# A validation of the whole set, once an epoch, seldom takes more than this share of the training between two of them.
_MOST_OF_TRAINING, _ABOUT = 0.25, 0.8


class WorkLeft(NamedTuple):
    """A class of work still to come; seconds None where its price is unknown."""

    num: int | None
    seconds: float | None


class StopsLeft(NamedTuple):
    """The stops still to come: evaluations and checkpoints, their standard error in seconds, and what was assumed."""

    evaluation: WorkLeft
    checkpoint: WorkLeft
    error_s: float
    assumptions: tuple[Message, ...]
    in_steps_s: float = 0.0  # what of them the level of the steps contains already
    untimed_s: float = 0.0  # what evaluations may take for which the clock stops and that nothing times

    @property
    def seconds(self) -> float:
        """All of them together, beyond what the steps' level contains."""
        return (self.evaluation.seconds or 0.0) + (self.checkpoint.seconds or 0.0) - self.in_steps_s


def price_stops(run: Run, ledger: Ledger, timeline: Timeline, schedule: Schedule, level_s: float) -> StopsLeft:
    """Price the stops of a schedule at the level to come."""
    if timeline.holds_stops:
        return _inside_steps(schedule, ledger, level_s)
    assumptions: list[Message] = []

    def cost(stops: list[StopCost]) -> Cost | None:
        if not stops:
            return None
        generates = run.format.habits.evaluation.generates_text is True and stops[0].evaluated
        return cost_of(stops, level_s, schedule.last_step, schedule.max_steps, generates=generates)

    with_save = cost([stop for stop in timeline.stops if stop.evaluated and stop.saved])
    without = cost([stop for stop in timeline.stops if stop.evaluated and not stop.saved])
    saved_s: float | None
    if schedule.num_evaluations is None:
        evaluation, saved_s, error_s = _unannounced(run, schedule, level_s, assumptions)
    elif with_save or without:
        evaluation, saved_s, error_s = _seen(ledger, schedule, with_save, without)
    else:
        evaluation, saved_s, error_s = _unseen(run, ledger, schedule, level_s, assumptions)
    lone, num_lone = cost([stop for stop in timeline.stops if not stop.evaluated]), schedule.num_lone_checkpoints
    if num_lone and lone:
        saved_s = (saved_s or 0.0) + num_lone * lone.seconds
        error_s = float(np.hypot(error_s, num_lone * lone.error))
    price, num_saves = ledger.checkpoint_price, schedule.num_checkpoints
    if saved_s is None and num_saves and price is not None:
        # Those that were seen came at starts or after the last row, and what they took is known all the same.
        saved_s = num_saves * price.seconds
        error_s = float(np.hypot(error_s, num_saves * _spread(price)))
    if schedule.num_checkpoints and 0 < schedule.save_probability < 1 and schedule.num_evaluations:
        assumptions.append(say("assume-saves", share=Share(schedule.save_probability)))
    return StopsLeft(
        evaluation=evaluation,
        checkpoint=WorkLeft(
            num=_rounded(schedule.num_checkpoints), seconds=0.0 if schedule.num_checkpoints == 0 else saved_s
        ),
        error_s=error_s,
        assumptions=tuple(assumptions),
        untimed_s=_untimed_s(run, timeline, schedule, evaluation, level_s),
    )


def _untimed_s(run: Run, timeline: Timeline, schedule: Schedule, evaluation: WorkLeft, level_s: float) -> float:
    """What the evaluations to come may take at most, where the clock stops for them and nothing shows their time."""
    if not evaluation.num or evaluation.seconds is not None or timeline.on_wall or run.clock.runs_during("evaluation"):
        return 0.0
    done = sum(stop.evaluated for stop in last_stops(run))
    every = schedule.max_steps / (done + evaluation.num)
    epoch = run.settings.count("steps_per_epoch")
    if not run.format.counts_epochs and (not epoch or every < epoch * _ABOUT):
        return 0.0  # of a few batches each
    return evaluation.num * _MOST_OF_TRAINING * every * level_s


def _inside_steps(schedule: Schedule, ledger: Ledger, level_s: float) -> StopsLeft:
    """Every line of the log holds its evaluation, so the level of the steps contains their cost; the ledger's share."""
    counts = [schedule.num_evaluations, _rounded(schedule.num_checkpoints)]
    evaluation, checkpoint = (WorkLeft(num=num, seconds=0.0 if num == 0 else None) for num in counts)
    room_s = schedule.num_steps * level_s
    if ledger.evaluation_price is not None and evaluation.num:
        evaluation = evaluation._replace(seconds=min(evaluation.num * ledger.evaluation_price.seconds, room_s))
        room_s -= evaluation.seconds or 0.0
    if ledger.checkpoint_price is not None and checkpoint.num:
        checkpoint = checkpoint._replace(seconds=min(checkpoint.num * ledger.checkpoint_price.seconds, room_s))
    inside_s = (evaluation.seconds or 0.0) + (checkpoint.seconds or 0.0)
    return StopsLeft(evaluation, checkpoint, error_s=0.0, assumptions=(), in_steps_s=inside_s)


def _rounded(count: float | None) -> int | None:
    return None if count is None else round(count)


def _seen(
    ledger: Ledger, schedule: Schedule, with_save: Cost | None, without: Cost | None
) -> tuple[WorkLeft, float | None, float]:
    """From evaluations of this run. What a checkpoint adds is the difference, where both kinds were seen."""
    num, p, doubt = schedule.num_evaluations or 0, schedule.save_probability, schedule.save_doubt
    saves = num * p
    if with_save and without:
        every, save = without.seconds, max(0.0, with_save.seconds - without.seconds)
        error = float(np.hypot((1 - p) * without.error, p * with_save.error))
        if ledger.checkpoint_price is not None and saves:
            # The sum is what was seen; the border between the two is the ledger's, here as everywhere.
            seconds = num * every + saves * save
            save = min(ledger.checkpoint_price.seconds, seconds / max(saves, 1.0))
            every = max(0.0, seconds - saves * save) / max(num, 1)
    else:
        seen = with_save or without
        assert seen is not None
        every, error = seen
        known = ledger.checkpoint_price
        if known is None and not with_save:
            # Checkpoints will come, but nothing has shown what one costs.
            return WorkLeft(num=num, seconds=num * every), None if saves else 0.0, num * error
        save = known.seconds if known else 0.0
        if with_save:
            # Only their sum was seen: the ledger's border between them, and a checkpoint fewer where one is not
            # expected.
            save = min(save, every)
            every -= save
    return WorkLeft(num=num, seconds=num * every), saves * save, num * float(np.hypot(error, doubt * save))


def _unseen(
    run: Run, ledger: Ledger, schedule: Schedule, level_s: float, assumptions: list[Message]
) -> tuple[WorkLeft, float | None, float]:
    """Before the first evaluation: the ledger's estimate, or what it should cost by first principles."""
    num = schedule.num_evaluations or 0
    inside = run.clock.runs_during("evaluation")
    price = ledger.evaluation_price
    if price is None and inside:
        price = _expected_evaluation(run, level_s)
        if price is not None and num:
            assumptions.append(say("assume-evaluation-prior"))
    if price is None:
        if num:
            assumptions.append(say("assume-evaluation-unpriced" if inside else "assume-evaluation-outside"))
        return WorkLeft(num=num, seconds=None if num else 0.0), None, 0.0
    save = ledger.checkpoint_price
    if save is None and schedule.num_checkpoints and run.clock.runs_during("checkpoint"):
        save = _expected_save(run)
        assumptions.append(say("assume-save-prior"))
    saves = schedule.num_checkpoints or 0.0
    error = num * _spread(price)
    if save is not None:
        error = float(np.hypot(error, np.hypot(saves * _spread(save), num * schedule.save_doubt * save.seconds)))
    return WorkLeft(num=num, seconds=num * price.seconds), None if save is None else saves * save.seconds, error


def _unannounced(
    run: Run, schedule: Schedule, level_s: float, assumptions: list[Message]
) -> tuple[WorkLeft, float | None, float]:
    """The evaluation interval is unknown, but the run evaluated before its first step and so will again.

    The next one has not come yet, so the interval is longer than the steps done; and no evaluation takes longer than
    the first row, which held one, took beyond a step.
    """
    inside = run.clock.runs_during("evaluation")
    longer = [every for every in _ROUND if schedule.last_step < every <= schedule.max_steps]
    steps = run.steps
    evaluated_first = run.format.habits.evaluates_at_first_step and inside and len(steps) and int(steps.step[0]) == 0
    if not evaluated_first or not longer:
        assumptions.append(say("assume-no-evaluations"))
        return WorkLeft(num=None, seconds=None), None, 0.0
    each_s = min(max(0.0, float(steps.seconds[0]) - level_s), _STOCK_STEPS * level_s)
    counts = np.array([schedule.max_steps // every for every in longer], dtype=np.float64)
    assumptions.append(say("assume-evaluations-unannounced"))
    error = each_s * float(np.hypot(np.std(counts), _STOCK_LOG_SD * counts.mean()))
    return WorkLeft(num=None, seconds=each_s * float(counts.mean())), None, error


def _spread(price: Price) -> float:
    """Standard deviation behind a price's 90 % interval."""
    return (price.high_s - price.low_s) / 3.29


def _expected_save(run: Run) -> Price:
    """What a checkpoint should cost by first principles, before the log shows one."""
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
