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

from stepscope.advice._base import Advice, Situation, share_of
from stepscope.core.message import Seconds, say

CODE = "A110"
_WORTH_IT = 0.01
# With a warm cache a start took a tenth of a cold one (26 s and 2.3 s measured on a CPU); loading and first touch stay.
_SAVED = (0.2, 0.6, 0.9)


def advise(situation: Situation) -> Advice | None:
    """Keep the compile cache; None for a run that was started once, does not compile, or warms up quickly."""
    run = situation.run
    stated = run.settings.truth("compile")
    compiles = run.format.controls.defaults.get("compile") is True if stated is None else stated
    starts = sum(1 for segment in run.segments if segment.fresh)
    warm_s = situation.ledger.seconds("warmup")
    if starts < 2 or not situation.ledger.wall_s or not compiles:
        return None
    if warm_s / situation.ledger.wall_s < _WORTH_IT:
        return None
    return Advice(
        code=CODE,
        setting="TORCHINDUCTOR_CACHE_DIR",
        now=None,
        proposed="~/.cache/inductor",
        # Savings over the starts so far: the number of starts to come is unknown.
        saves=share_of(warm_s * (starts - 1) / starts, _SAVED),
        costs=say("advice-a110-costs"),
        evidence=say("advice-a110-evidence", count=starts, duration=Seconds(warm_s)),
        phases=("warmup",),
        paste="export TORCHINDUCTOR_CACHE_DIR=$HOME/.cache/inductor",
        assumed=say("advice-a110-assumed"),
        change=say("advice-a110-change"),
    )
