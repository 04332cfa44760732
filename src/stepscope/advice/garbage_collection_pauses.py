"""A111: Python's garbage collector stops the steps.

What it looks at
    The seconds of the log that its lines, or the pattern of its slow steps, put down to garbage collection.

Why it costs time
    A full collection walks every live object: some 0.5 s in a process that holds a model. With several ranks each
    collects at its own time, and all wait for each.

Example
    Steps of 683 ms, two in a hundred of 1,350 ms (nanochat's issue 477); 185.5 minutes became 182.3.

What to change
    After the first step: `gc.collect(); gc.freeze(); gc.disable()`, then `gc.collect()` every few thousand steps on
    all ranks. torchtitan: `gc_freq`; Megatron: `--manual-gc`.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste, share_of
from stepscope.core.message import Share, say

CODE = "A111"
_WORTH_IT = 0.005
# Share of the time saved: a collection every few thousand steps stays.
_SAVED = (0.5, 0.9, 1.0)


def advise(situation: Situation) -> Advice | None:
    """Collect by hand; None where collections cost little or are not seen."""
    lost = situation.worth("gc", _WORTH_IT)
    if lost is None:
        return None
    return Advice(
        code=CODE,
        setting="gc",
        now="automatic",
        proposed="gc.freeze(); gc.disable()",
        saves=share_of(lost, _SAVED),
        costs=say("advice-a111-costs"),
        evidence=say("advice-a111-evidence", share=Share(lost / situation.horizon_s)),
        phases=("gc",),
        paste=paste(situation.run, ("gc", "by hand")) or "import gc; gc.collect(); gc.freeze(); gc.disable()",
        change=say("advice-a111-change"),
    )
