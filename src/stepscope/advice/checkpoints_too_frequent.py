"""A108: checkpoints come more often than crashes make worth while.

What it looks at
    What one save stalls training for, how often one comes, and how often this run was restarted.

Why it costs time
    A save costs its stall each time; a crash costs the work since the last save. Young's rule balances the two: the
    best interval is the root of twice the stall times the mean time between crashes.

Example
    A stall of 20 s, a save every 100 s, a crash a day: the best interval is 31 minutes.

What to change
    Raise the checkpoint interval towards that figure, or as far as the work you accept to lose.
"""

from __future__ import annotations

import math

from stepscope.advice._base import Advice, Situation, paste
from stepscope.message import Seconds, say

CODE = "A108"
_WORTH_IT = 0.01
# Before anything is known: one crash in a week, counted as one seen.
_WEEK_S = 7 * 86400.0


def advise(situation: Situation) -> Advice | None:
    """A longer checkpoint interval by Young's rule; None where saves hang on evaluations or cost little."""
    run, price = situation.run, situation.ledger.checkpoint_price
    interval = run.settings.count("checkpoint_interval")
    level = situation.ledger.step.typical_s if situation.ledger.step else 0.0
    if price is None or interval is None or not level or run.format.saves_only_after_evaluation:
        return None
    stall_s = price.seconds
    share = stall_s / (interval * level + stall_s)
    crashes = max(0, len(run.segments) - 1)
    between_s = (situation.ledger.wall_s + _WEEK_S) / (crashes + 1)
    best = math.sqrt(2 * stall_s * between_s) / level
    if share < _WORTH_IT or best < 1.5 * interval:
        return None
    factor = max(2, math.floor(min(best / interval, 10)))
    saved = share * situation.horizon_s * (1 - 1 / factor)
    return Advice(
        code=CODE,
        setting="checkpoint_interval",
        now=interval,
        proposed=interval * factor,
        saves_s=saved,
        saves_low_s=saved * price.low_s / stall_s,
        saves_high_s=saved * price.high_s / stall_s,
        costs=say("advice-a108-costs", duration=Seconds(interval * factor * level)),
        evidence=say("advice-a108-evidence", duration=Seconds(stall_s), best=Seconds(best * level)),
        paste=paste(run, "checkpoint_interval", interval * factor),
    )
