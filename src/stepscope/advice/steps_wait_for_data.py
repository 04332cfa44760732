"""A112: steps wait for their data.

What it looks at
    The seconds of the log that its data times, or the pattern of its slow steps, put down to loading.

Why it costs time
    The card is idle until the next batch is there: too few workers, a slow disk, or workers that start anew each epoch.

Example
    `data_time` 0.217 s of a 0.3 s step; with more workers it was 0.003 s.

What to change
    More loader workers and a deeper prefetch, `persistent_workers=True`, `pin_memory=True`, the data on a local disk;
    the next shard read ahead in a thread.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation
from stepscope.message import Share, say

CODE = "A112"
_WORTH_IT = 0.01


def advise(situation: Situation) -> Advice | None:
    """Feed the steps better; None where loading costs little or is not seen."""
    lost = situation.phase_left_s("data")
    if not situation.horizon_s or lost / situation.horizon_s < _WORTH_IT:
        return None
    return Advice(
        code=CODE,
        setting="num_workers",
        now=None,
        proposed="more",
        saves_s=0.7 * lost,
        saves_low_s=0.0,
        saves_high_s=lost,
        costs=say("advice-a112-costs"),
        evidence=say("advice-a112-evidence", share=Share(lost / situation.horizon_s)),
    )
