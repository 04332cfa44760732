"""What is still to be done: steps, evaluations and checkpoints, counted one by one from the run's settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import distinct, median
from stepscope.run.model import Run
from stepscope.run.stops import Stop

# How much less the checkpoint before last says about the next one: improvement ends at some point.
_FADE = 0.6
_PRIOR_SAVED, _PRIOR_TOTAL = 0.3, 0.5
# Spacings of which the middle one is this many times their common divisor are not one period.
_UNEVEN = 1.5


class Schedule(NamedTuple):
    """What is left. `num_evaluations` is None where the evaluation interval is unknown."""

    last_step: int
    max_steps: int
    num_steps: int
    num_evaluations: int | None
    save_probability: float
    save_doubt: float = 0.0  # standard deviation of the share of evaluations that will save
    num_lone_checkpoints: int = 0  # checkpoints without an evaluation
    num_trainings: int = 0  # trainings after this one, whose work is in the numbers above

    @property
    def num_checkpoints(self) -> float | None:
        """Expected number of checkpoints still to come."""
        if self.num_evaluations is None:
            return float(self.num_lone_checkpoints) if self.num_lone_checkpoints else None
        return self.num_evaluations * self.save_probability + self.num_lone_checkpoints

    def closed(self, last_step: int) -> Schedule:
        """The schedule of a run that is over: nothing is left."""
        return self._replace(last_step=last_step, num_steps=0, num_evaluations=0, num_lone_checkpoints=0)


def plan(run: Run, max_steps: int, *, evaluation_interval: int | None = None) -> Schedule:
    """The schedule after the last line; `evaluation_interval` asks "what if" it were another."""
    last_step = int(run.steps.step[-1])
    evaluations = [stop for stop in run.stops if stop.evaluated]
    done_up_to = last_step
    if evaluations and evaluations[-1].next_row == len(run):
        done_up_to = max(done_up_to, evaluations[-1].step)  # evaluated already, its step not finished
    num = _num_evaluations(run, evaluations, done_up_to, max_steps, evaluation_interval)
    lone = [stop for stop in run.stops if stop.saved and not stop.evaluated]
    more = run.num_trainings_left
    if more and num is not None:
        num += more * (_num_evaluations(run, [], 0, max_steps, evaluation_interval) or 0)
    probability, doubt = _saving(run, evaluations, num or 0)
    return Schedule(
        last_step=last_step,
        max_steps=max_steps,
        num_steps=max(0, max_steps - max(last_step, done_up_to - 1)) + more * max_steps,
        num_trainings=more,
        num_evaluations=num,
        save_probability=probability,
        save_doubt=doubt,
        num_lone_checkpoints=_counted(lone, last_step, max_steps, 0) if len(lone) >= 2 else 0,
    )


def _num_evaluations(
    run: Run, evaluations: list[Stop], done_up_to: int, max_steps: int, what_if: int | None
) -> int | None:
    """Evaluations after step `done_up_to`, at the interval `what_if` or else the run's own; None where unknown."""
    every = what_if or run.settings.count("eval_interval")
    if every is None:
        every = _first_spacing(evaluations, int(run.steps.step[-1]))
    if every is None:
        return None
    num = max(0, max_steps // every - done_up_to // every)
    interval = run.settings.get("eval_interval")
    is_detected = what_if is None and interval is not None and interval.origin == "detected"
    if is_detected and evaluations:
        last = evaluations[-1].step  # which need not be a multiple: the last batch of an epoch is not always printed
        num = max(0, (max_steps - last) // every - max(0, done_up_to - last) // every)
        num = _counted(evaluations, done_up_to, max_steps, num)
    if run.format.habits.evaluates_at_last_step:
        num += _evaluates_last(evaluations, run, done_up_to, max_steps, every)
    return num


def _evaluates_last(evaluations: list[Stop], run: Run, done_up_to: int, max_steps: int, every: int) -> bool:
    """Whether the last step, which is no multiple of the interval, still has its evaluation to come.

    Where steps count from 0, it may be `max_steps` or the one before. An evaluation printed before its step's line
    comes right after the line of the step before.
    """
    last = max_steps if run.format.layout.first_step else max_steps - 1
    is_printed = bool(evaluations) and evaluations[-1].next_row == len(run) and done_up_to >= last - 1
    return last % every > 0 and max_steps % every > 0 and done_up_to < last and not is_printed


def _first_spacing(evaluations: list[Stop], last_step: int) -> int | None:
    """The spacing that a single evaluation shows: the next takes as many steps as the first did.

    None if the second is overdue: then the first was one before the training, or after its first step. Where steps
    count from 0, the last one before the second is twice the first and one more.
    """
    steps = {stop.step for stop in evaluations if stop.next_row > 0}
    every = steps.pop() if len(steps) == 1 else 0
    return every if every and last_step <= 2 * every + 1 else None


def _counted(stops: Sequence[Stop], last_step: int, max_steps: int, regular: int) -> int:
    """How many more there will be: counted on from the last at the usual spacing where that is uneven."""
    steps = distinct([stop.step for stop in stops if stop.step <= last_step])
    gaps = np.diff(steps)
    if len(gaps) < 1 or int(gaps.min()) < 1:
        return regular
    usual = float(median(gaps))
    if regular and usual < _UNEVEN * int(np.gcd.reduce(gaps)):
        return regular
    return max(0, int((max_steps - int(steps[-1])) / usual + 1e-9))


def _saving(run: Run, evaluations: list[Stop], num_left: int) -> tuple[float, float]:
    """The share of the evaluations to come that will save, and its standard deviation."""
    always = run.settings.truth("always_save_checkpoint")
    if always:
        return 1.0, 0.0
    if not any(line.kind == "checkpoint" for line in run.format.lines):
        return 0.0, 0.0  # the trainer prints no checkpoints: they would be counted without a cost
    saved = [evaluation.saved for evaluation in evaluations if evaluation.step > 0]
    if saved and all(saved) and always is False:
        return _streak(len(saved), num_left)
    # Every evaluation so far saved, and there were many: the setting is most likely to save always.
    if len(saved) >= 5 and all(saved):
        return 1.0, 0.0
    # A trainer that was never seen to save after an evaluation, and does not print its checkpoints, has none to count.
    if saved and not any(saved) and len(saved) >= 5:
        return 0.0, 0.0
    # The share follows the past evaluations, weighted towards the latest.
    weight, hits = _PRIOR_TOTAL, _PRIOR_SAVED
    for age, flag in enumerate(reversed(saved)):
        weight += _FADE**age
        hits += _FADE**age * flag
    share = hits / weight
    return share, (share * (1 - share) / (1 + weight)) ** 0.5


def _streak(num_so_far: int, num_left: int) -> tuple[float, float]:
    """It saves as long as the loss improves, has done so every time, and will stop at some time.

    When is unknown. If all times from nothing to endless are alike on a scale of ratios, a streak of n lasts for j
    more with a chance of n / (n + j).
    """
    if not num_left:
        return 1.0, 0.0
    more = np.arange(1, num_left + 1)
    lasts = num_so_far / (num_so_far + more)
    mean, square = float(lasts.sum()), float(((2 * more - 1) * lasts).sum())
    return mean / num_left, max(0.0, square - mean**2) ** 0.5 / num_left
