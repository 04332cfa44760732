"""A110: every start compiles again.

What it looks at
    The seconds of warm-up, and how often the run was started.

Why it costs time
    Compiled kernels are kept in a cache on disk; where that is lost between starts (a container, a scheduler's node, a
    cleaned /tmp), each start pays the whole compilation again.

Example
    42 s of warm-up, five starts: 3.5 minutes, of which one start's share was needed.

What to change
    Keep the cache: `TORCHINDUCTOR_CACHE_DIR` on a disk that survives the restart.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation
from stepscope.message import Seconds, say

CODE = "A110"
_WORTH_IT = 0.01
# With a warm cache a start took a tenth of a cold one (26 s and 2.3 s measured on a CPU); loading and first touch stay.
_SAVED = (0.2, 0.6, 0.9)


def advise(situation: Situation) -> Advice | None:
    """Keep the compile cache; None for a run that was started once, or whose warm-up is short."""
    starts = sum(1 for segment in situation.run.segments if segment.fresh)
    warm_s = situation.ledger.seconds("warmup")
    if starts < 2 or not situation.ledger.wall_s or warm_s / situation.ledger.wall_s < _WORTH_IT:
        return None
    again_s = warm_s * (starts - 1) / starts
    low, middle, high = (share * again_s for share in _SAVED)
    return Advice(
        code=CODE,
        setting="TORCHINDUCTOR_CACHE_DIR",
        now=None,
        proposed="~/.cache/inductor",
        saves_s=middle,
        saves_low_s=low,
        saves_high_s=high,
        costs=say("advice-a110-costs"),
        evidence=say("advice-a110-evidence", count=starts, duration=Seconds(warm_s)),
        paste="export TORCHINDUCTOR_CACHE_DIR=$HOME/.cache/inductor",
    )
