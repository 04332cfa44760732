"""A104: saving the checkpoint blocks training.

What it looks at
    The price of a checkpoint, where the log separates it from the evaluation before it, and how often one follows.

Why it costs time
    `torch.save` copies, pickles and writes while the GPU waits.

Example
    Each checkpoint 2.1 s, one after every evaluation, 40 to come: 84 s.

What to change
    Save only when the validation loss improves (`always_save_checkpoint = False`), or less often.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Saving, Situation, paste
from stepscope.advice._checkpoints import improving_share
from stepscope.core.message import Share, say

CODE = "A104"
_WORTH_IT = 0.01


def advise(situation: Situation) -> Advice | None:
    """Save on improvement only; None when it already does, or checkpoints are cheap or their price is unknown."""
    run, price = situation.run, situation.ledger.checkpoint_price
    if price is None or not price.seconds or situation.worth("checkpoint", _WORTH_IT) is None:
        return None
    every = run.settings.count("checkpoint_interval")
    could = (
        every is not None
        and every == run.settings.count("eval_interval")
        and "save_on_improvement" in run.format.controls.settable
    )
    if run.settings.truth("always_save_checkpoint") is not True and not could:
        return None
    if situation.checkpoints_s * price.low_s / price.seconds / situation.horizon_s < _WORTH_IT:
        return None
    low, middle, high = improving_share(run)
    most = situation.of_checkpoints(1 - low)
    return Advice(
        code=CODE,
        setting="always_save_checkpoint",
        now=True,
        proposed=False,
        saves=Saving(
            situation.of_checkpoints(1 - high).low_s, situation.of_checkpoints(1 - middle).middle_s, most.high_s
        ),
        costs=say("advice-a104-costs"),
        evidence=say(
            "advice-a104-evidence",
            share=Share(situation.checkpoints_s / situation.horizon_s),
            improving=Share(middle),
        ),
        phases=("checkpoint",),
        paste=paste(run, ("save_on_improvement" if could else "always_save_checkpoint", False)),
        change=say("advice-a104-change") if could else None,
    )
