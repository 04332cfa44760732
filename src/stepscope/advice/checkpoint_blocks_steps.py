"""A104: saving the checkpoint blocks training.

What it looks at
    The price of a save, where the log separates it from the evaluation before it, and how often one follows.

Why it costs time
    `torch.save` copies, pickles and writes while the GPU waits.

Example
    Each save 2.1 s, one after every evaluation, 40 to come: 84 s.

What to change
    Save only when the validation loss improves (`always_save_checkpoint = False`), or less often.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste
from stepscope.forecast.finish import Forecast
from stepscope.message import Share, say

CODE = "A104"
_WORTH_IT = 0.01
# Without a record of which evaluations improve, half of them is the guess; the interval runs from none to all.
_IMPROVES = 0.5


def advise(situation: Situation) -> Advice | None:
    """Save on improvement only; None when it already does, or saves are cheap or their price is unknown."""
    price = situation.ledger.checkpoint_price
    always = situation.run.settings.truth("always_save_checkpoint")
    if price is None or always is not True or not situation.horizon_s or not isinstance(situation.forecast, Forecast):
        return None
    total = situation.num_evaluations * price.seconds
    if price.low_s * situation.num_evaluations / situation.horizon_s < _WORTH_IT:
        return None
    return Advice(
        code=CODE,
        setting="always_save_checkpoint",
        now=True,
        proposed=False,
        saves_s=total * _IMPROVES,
        saves_low_s=0.0,
        saves_high_s=situation.num_evaluations * price.high_s,
        costs=say("advice-a104-costs"),
        evidence=say("advice-a104-evidence", count=situation.num_evaluations, share=Share(total / situation.horizon_s)),
        paste=paste(situation.run, "always_save_checkpoint", False),
    )
