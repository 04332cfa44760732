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
    Seed the generator of the evaluation's batches anew each time, and lower `eval_iters`. The level of the curve then
    has a constant offset (the scatter over the root of the number of batches): measure once with many at the end.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, batch_loss_sd, paste
from stepscope.advice.evaluation_draws_too_many_batches import fewest_batches
from stepscope.message import Decimal, Message, say

CODE = "A105"
_WORTH_IT = 0.01
_FEWER = 8  # below the 16 to 58 times that the measured correlation allows
_LEAST = 20


def advise(situation: Situation) -> Advice | None:
    """The same batches each time, and fewer of them; None where few are drawn or evaluations cost little."""
    run = situation.run
    batches = run.settings.count("eval_iters")
    if batches is None or batches <= 2 * _LEAST or run.format.evaluation_splits is None or not situation.horizon_s:
        return None
    total = situation.num_evaluations * situation.evaluation_s
    if total / situation.horizon_s < _WORTH_IT:
        return None
    proposed = max(_LEAST, batches // _FEWER)
    # What fewer batches save anyway is A102's: this is what fixed ones save on top of it.
    fewest = fewest_batches(situation, batches)
    if proposed >= fewest:
        return None
    saved = total * (fewest - proposed) / batches
    low, high = situation.uncertainty
    return Advice(
        code=CODE,
        setting="fixed evaluation batches",
        now=False,
        proposed=True,
        saves_s=saved,
        saves_low_s=saved * low,
        saves_high_s=saved * high,
        costs=_costs(run_sd=batch_loss_sd(run), proposed=proposed),
        evidence=say("advice-a105-evidence", count=batches, fewer=proposed),
        paste=paste(run, "eval_iters", proposed),
    )


def _costs(*, run_sd: float | None, proposed: int) -> Message:
    if run_sd is None:
        return say("advice-a105-costs-unknown")
    return say("advice-a105-costs", offset=Decimal(run_sd / proposed**0.5, 4))
