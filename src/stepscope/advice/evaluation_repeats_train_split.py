"""A103: every evaluation also measures the training split.

What it looks at
    Whether the trainer evaluates both splits, and what that costs on the rest of the run.

Why it costs time
    Half of each evaluation goes into a number that the log prints anyway: the loss of the training steps.

Example
    nanoGPT's `estimate_loss` runs `eval_iters` batches of `train` and as many of `val`.

What to change
    In `estimate_loss`, loop over `['val']` only. The training loss is then the mean of the step lines: as
    precise, though with dropout on and spread over the interval.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, same_precision
from stepscope.core.message import say

CODE = "A103"
_WORTH_IT = 0.01


def advise(situation: Situation) -> Advice | None:
    """Evaluate the validation split only; None where one split is all there is, or evaluations cost little."""
    splits = situation.run.format.habits.evaluation.num_splits
    if splits is None or splits < 2 or situation.worth("evaluation", _WORTH_IT) is None:
        return None
    if "eval_passes" in situation.run.settings:
        return None  # our own trainer: it says what it does, and this it does not
    return Advice(
        code=CODE,
        setting="estimate_loss",
        now="['train', 'val']",
        proposed="['val']",
        saves=situation.of_evaluations(1 - 1 / splits),
        costs=say("advice-a103-costs"),
        evidence=say("advice-a103-evidence"),
        phases=("evaluation",),
        effect=situation.evaluation_effect,
        precision=same_precision(situation),
    )
