"""A118: every checkpoint stays on disk.

What it looks at
    How many checkpoints the log shows and how many are to come, the model's size, and whether this trainer deletes old
    ones.

Why it costs time
    None while there is room; a full disk ends the run, often in the middle of a checkpoint. A checkpoint is 8 to 18
    bytes per parameter (weights and both moments of Adam in 16 or 32 bits).

Example
    1.1 B parameters, a checkpoint every 500 of 20,000 iterations: 40 checkpoints of 13 GB are 530 GB; the last three
    are 40.

What to change
    Keep the last few: `save_total_limit` in Hugging Face's Trainer, `--checkpoint.keep_latest_k` in torchtitan; a
    clean-up job where the trainer has no such setting. Copy aside what must stay.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Saving, Situation, paste
from stepscope.advice._checkpoints import disk
from stepscope.core.message import Decimal, say

CODE = "A118"
_KEEP = 3
_LEAST_BYTES = 10e9


def advise(situation: Situation) -> Advice | None:
    """Keep the last few checkpoints only; None where few are written, they are small, or old ones go already."""
    run, found = situation.run, disk(situation)
    if found is None or not found.keeps_all or found.num <= 2 * _KEEP or (found.total or 0.0) < _LEAST_BYTES:
        return None
    freed = (found.num - _KEEP) * found.each
    return Advice(
        code=CODE,
        setting="keep_saves",
        now=None,
        proposed=_KEEP,
        saves=Saving(0.0, 0.0, 0.0),
        costs=say("advice-a118-costs", count=_KEEP),
        evidence=say(
            "advice-a118-evidence",
            count=found.num,
            each=Decimal(found.each / 1e9, 1),
            total=Decimal((found.total or 0.0) / 1e9, 0),
        ),
        phases=(),
        paste=paste(run, ("keep_saves", _KEEP)),
        change=say("advice-a118-change", count=_KEEP),
        saves_bytes=freed,
    )
