"""A105: every evaluation draws new batches.

What it looks at
    `eval_iters`, the scatter of one batch's loss, and what evaluations cost on the rest of the run.

Why it costs time
    Two evaluations on different batches differ by chance. On the same batches most of that chance cancels: measured on
    character models, the error of a difference shrinks 4 to 7.6 times at the same cost, so a quarter of the batches
    (and less) shows the same trend.

Example
    `eval_iters = 200` with new batches each time, or 50 fixed ones: the curve of 50 is the smoother one.

What to change
    Seed the generator of the evaluation's batches again each time, and lower `eval_iters`. The level of the curve then
    has a constant offset (the scatter over the root of the number of batches): measure once with many at the end.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, batch_loss_sd, error_digits, paste
from stepscope.advice.evaluation_draws_too_many_batches import fewest_batches
from stepscope.core.message import Decimal, Message, say

CODE = "A105"
_WORTH_IT = 0.01
_FEWER = 8  # the measured correlation allows 16 to 58 times fewer batches
_LEAST = 20
# How many times smaller the error of a difference is on the same batches, at the least of what was measured.
_PAIRED = 4.0


def advise(situation: Situation) -> Advice | None:
    """The same batches each time, and fewer of them; None where few are drawn or evaluations cost little."""
    run = situation.run
    batches, total = run.settings.count("eval_iters"), situation.worth("evaluation", _WORTH_IT)
    if batches is None or batches <= 2 * _LEAST or run.format.habits.evaluation.num_splits is None or total is None:
        return None
    if run.settings.text("eval") == "fixed":
        return None  # our own trainer does so already
    proposed = max(_LEAST, batches // _FEWER)
    # A102 covers what fewer batches save anyway; this rule counts what fixed ones save on top.
    fewest = fewest_batches(situation, batches)
    if proposed >= fewest:
        return None
    sd = batch_loss_sd(run)
    return Advice(
        code=CODE,
        setting="fixed evaluation batches",
        now=False,
        proposed=True,
        saves=situation.of_evaluations((fewest - proposed) / batches),
        costs=say("advice-a105-costs-unknown")
        if sd is None
        else say("advice-a105-costs", offset=Decimal(sd / proposed**0.5, error_digits(sd / proposed**0.5))),
        evidence=say("advice-a105-evidence", count=batches, fewer=proposed),
        phases=("evaluation",),
        effect=situation.evaluation_effect,
        paste=paste(run, ("eval_iters", proposed)),
        precision=_precision(sd, batches, proposed),
        change=say("advice-a105-change", now=batches, proposed=proposed),
    )


def _precision(sd: float | None, batches: int, proposed: int) -> Message | None:
    """The error of a difference between two evaluations, with new batches and with the same ones."""
    if sd is None:
        return None
    before, after = sd * (2 / batches) ** 0.5, sd * (2 / proposed) ** 0.5 / _PAIRED
    digits = error_digits(min(before, after))
    return say("advice-a105-precision", before=Decimal(before, digits), after=Decimal(after, digits))
