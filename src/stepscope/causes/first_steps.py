"""C04: the first steps compile, tune and touch everything for the first time.

What it looks at
    The first step of a process and those after it until three in a row are normal.

Why it costs time
    Compiling kernels, tuning them, creating the CUDA context, filling caches, spawning loader workers: once per
    process, often spread over two steps.

Example
    42.7 s, then 10.8 s, then 176 ms.

What to change
    Nothing in a long run. Keep the compiler's cache on disk between runs (`TORCHINDUCTOR_CACHE_DIR`), and leave the
    first steps out of any rate.
"""

from __future__ import annotations

from stepscope.causes._evidence import Case
from stepscope.core.message import Seconds, say
from stepscope.ledger.phases import Finding

CODE = "C04"
PLACE = 30


def explain_step(case: Case) -> Finding | None:
    """The warm-up that the step's parts hold."""
    own = sum(part.seconds for part in case.slow.parts if part.phase == "warmup")
    if own <= 0:
        return None
    is_main = case.slow.cause == "warmup"
    message = say("cause-c04-evidence", duration=Seconds(own))
    confidence = case.slow.confidence if is_main else round(0.9 * own / max(case.excess_s, 1e-9), 2)
    return Finding(CODE, "warmup", None, confidence, own, message)
