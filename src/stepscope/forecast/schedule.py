"""What is still to be done: steps, evaluations and saves, counted one by one from the run's settings."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.run import Run
from stepscope.stops import find_evaluations

# How much less the save before last says about the next one: improvement ends at some point.
_FADE = 0.6
_PRIOR_SAVED, _PRIOR_TOTAL = 0.3, 0.5


class Schedule(NamedTuple):
    """What is left. `num_evaluations` is None where nothing tells how often the run evaluates."""

    last_step: int
    max_steps: int
    num_steps: int
    num_evaluations: int | None
    save_probability: float

    @property
    def num_saves(self) -> float | None:
        """Expected number of checkpoints still to come."""
        return None if self.num_evaluations is None else self.num_evaluations * self.save_probability


def plan(run: Run, max_steps: int, *, evaluation_interval: int | None = None) -> Schedule:
    """The schedule after the last line; `evaluation_interval` asks "what if" it were another."""
    last_step = int(run.steps.step[-1])
    every = evaluation_interval or run.settings.count("eval_interval")
    evaluations = find_evaluations(run)
    done_up_to = last_step
    if evaluations and evaluations[-1].next_row == len(run):
        done_up_to = max(done_up_to, evaluations[-1].step)  # evaluated already, its step not finished
    num = None if every is None else max(0, max_steps // every - done_up_to // every)
    return Schedule(
        last_step=last_step,
        max_steps=max_steps,
        num_steps=max(0, max_steps - max(last_step, done_up_to - 1)),
        num_evaluations=num,
        save_probability=_save_probability(run),
    )


def _save_probability(run: Run) -> float:
    """How likely the next evaluation saves: certainly when always, else as the last ones did, the latest above all."""
    if run.settings.truth("always_save_checkpoint"):
        return 1.0
    saved = [evaluation.saved for evaluation in find_evaluations(run) if evaluation.step > 0]
    weight, hits = _PRIOR_TOTAL, _PRIOR_SAVED
    for age, flag in enumerate(reversed(saved)):
        weight += _FADE**age
        hits += _FADE**age * flag
    # Every save so far, and many: the setting is most likely to save always.
    if len(saved) >= 5 and all(saved):
        return 1.0
    return hits / weight
