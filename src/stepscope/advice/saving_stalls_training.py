"""A109: training waits while a checkpoint is written.

What it looks at
    What the checkpoints still to come will stall training for.

Why it costs time
    Copying the state to host memory takes a fraction of a second; pickling and writing it takes the rest, and nothing
    needs the GPU for that.

Example
    An 8B model on eight H100: 27.3 s blocked, 0.54 s with asynchronous saving (NeMo Automodel's issue 635).

What to change
    Save asynchronously: a snapshot in host memory, written by another process. `stepscope train` does;
    torchtitan: `checkpoint.async_mode`; Megatron: `--async-save`.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Situation, paste, share_of
from stepscope.core.message import Share, say

CODE = "A109"
_WORTH_IT = 0.02
# Share of the stall saved: the copy stays, and steps that are slower during the write. Measured: 16 % of the stall
# stays on a processor, 2 % for an 8B model on eight H100.
_SAVED = (0.5, 0.8, 0.95)


def advise(situation: Situation) -> Advice | None:
    """Asynchronous saving; None when the checkpoints' price is unknown or small."""
    total = situation.worth("checkpoint", _WORTH_IT)
    if situation.ledger.checkpoint_price is None or total is None:
        return None
    return Advice(
        code=CODE,
        setting="saving",
        now="synchronous",
        proposed="asynchronous",
        saves=share_of(total, _SAVED),
        costs=say("advice-a109-costs"),
        evidence=say("advice-a109-evidence", share=Share(total / situation.horizon_s)),
        phases=("checkpoint",),
        paste=paste(situation.run, ("asynchronous_saving", True)),
        assumed=say("advice-a109-assumed"),
        change=say("advice-a109-change"),
    )
