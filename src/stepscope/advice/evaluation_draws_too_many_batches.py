"""A102: an evaluation draws more batches than its answer needs.

What it looks at
    `eval_iters`, the scatter of the printed losses (what one batch's loss varies by), and how fast the
    validation loss still falls.

Why it costs time
    An evaluation's cost grows with the number of batches; its precision only with the square root.

Example
    `eval_iters = 200` at a batch scatter of 0.11: standard error 0.008. 50 batches: 0.016, a quarter of the time.

What to change
    Lower `eval_iters` as far as the improvement between two evaluations stays visible.
"""

from __future__ import annotations

from stepscope.advice._base import (
    Advice,
    Situation,
    batch_loss_sd,
    error_digits,
    gain_decimal,
    is_visible,
    paste,
    recent_improvement,
)
from stepscope.core.message import Decimal, Message, say

CODE = "A102"
_WORTH_IT = 0.01
_CHOICES = (20, 50, 100, 200, 500, 1000)


def advise(situation: Situation) -> Advice | None:
    """Fewer batches per evaluation; None when there are few already or evaluations cost little."""
    batches = situation.run.settings.count("eval_iters")
    if batches is None or batches <= _CHOICES[0] or situation.worth("evaluation", _WORTH_IT) is None:
        return None
    proposed = fewest_batches(situation, batches)
    if proposed >= batches:
        return None
    splits = situation.run.format.habits.evaluation.num_splits or 1
    return Advice(
        code=CODE,
        setting="eval_iters",
        now=batches,
        proposed=proposed,
        saves=situation.of_evaluations(1 - proposed / batches),
        costs=_costs(situation, batches, proposed),
        evidence=say("advice-a102-evidence", count=batches, splits=splits),
        phases=("evaluation",),
        effect=situation.evaluation_effect,
        paste=paste(situation.run, ("eval_iters", proposed)),
    )


def fewest_batches(situation: Situation, batches: int) -> int:
    """The fewest batches at which twice the error of a difference stays below what the loss still gains."""
    sd, improvement = batch_loss_sd(situation.run), recent_improvement(situation.run)
    smaller = [choice for choice in _CHOICES if choice < batches]
    if sd is None or not improvement:
        return max((choice for choice in smaller if choice <= batches // 2), default=batches)
    enough = [choice for choice in smaller if is_visible(sd / choice**0.5, improvement)]
    # Never less than a quarter at once: precision is also wanted for the final figure.
    return max(min(enough, default=batches), max((c for c in smaller if c <= batches / 4), default=batches // 4))


def _costs(situation: Situation, batches: int, proposed: int) -> Message:
    """The error of the validation loss before and after, and whether what it still gains would be seen."""
    sd, improvement = batch_loss_sd(situation.run), recent_improvement(situation.run)
    if sd is None:
        return say("advice-a102-costs-unknown", factor=Decimal((batches / proposed) ** 0.5, 1))
    before, after = sd / batches**0.5, sd / proposed**0.5
    digits = error_digits(before)
    errors = {"before": Decimal(before, digits), "after": Decimal(after, digits)}
    if improvement is None:
        return say("advice-a102-costs", **errors)
    if improvement == 0:
        return say("advice-a102-costs-flat", **errors)
    key = "advice-a102-costs-seen" if is_visible(after, improvement) else "advice-a102-costs-unseen"
    return say(key, gain=gain_decimal(improvement, digits), **errors)
