"""A122: training goes on past its best validation loss.

What it looks at
    The evaluation with the lowest validation loss, and whether those after it are worse: overfitting, most often.

Why it costs time
    Every iteration after it makes the model worse, and takes as long as one that makes it better.

Example
    Best at iteration 1,750 of 5,000: the 3 minutes after it, 60 % of the run.

What to change
    Stop early: keep the checkpoint of the best evaluation, and end the run once several in a row are worse. Or make the
    rest worth while: more data, dropout, weight decay, a smaller model.
"""

from __future__ import annotations

import numpy as np

from stepscope.advice._base import Advice, Saving, Situation
from stepscope.core.message import Decimal, say
from stepscope.ledger.best import find_best

CODE = "A122"
_WORTH_IT = 0.1
_LEAST_LATER = 3


def advise(situation: Situation) -> Advice | None:
    """Stop at the best; None for a run whose last evaluations are about as good as any."""
    run = situation.run
    best = find_best(run, situation.ledger)
    if best is None or not best.is_past or best.share_after < _WORTH_IT:
        return None
    later = int((np.isfinite(run.events.val_loss) & (run.events.step > best.step)).sum())
    if later < _LEAST_LATER:
        return None
    seconds = situation.horizon_s if situation.is_future else best.seconds_after
    change = "advice-a122-change-now" if situation.is_future else "advice-a122-change"
    return Advice(
        code=CODE,
        setting="max_steps",
        now=run.settings.count("max_steps"),
        proposed=best.step,
        saves=Saving(seconds, seconds, seconds),
        costs=say("advice-a122-costs"),
        evidence=say("advice-a122-evidence", step=best.step, loss=Decimal(best.val_loss, 4), count=later),
        phases=("step", "evaluation", "checkpoint"),
        effect="learning",
        change=say(change, step=best.step),
    )
