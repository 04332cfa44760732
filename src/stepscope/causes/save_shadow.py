"""C03: an asynchronous checkpoint slows the steps after it.

What it looks at
    Steps right after a checkpoint that are slow again and again, for as many steps as the write may take, while the
    checkpoint itself took next to nothing.

Why it costs time
    The copy to host memory shares the GPU's copy engine, a pickling thread holds Python's lock, and the write competes
    with the loader for the disk.

Example
    A checkpoint of 0.02 s, and the next window of ten steps takes 1.3 s longer; no other window does.

What to change
    Write from a process instead of a thread, wait for the staging copy before the next optimizer step, use pinned
    memory, keep one checkpoint in flight at most, and space checkpoints wider than a write takes.
"""

from __future__ import annotations

import numpy as np

from stepscope.causes._evidence import Case, Evidence
from stepscope.core.message import Share, say
from stepscope.ledger.phases import Finding

CODE = "C03"
PLACE = 100
_REACH = 12  # rows: a write is over in a few steps, or checkpoints would overlap
_LEAST_SAVES = 3
_MOSTLY = 0.6


def _shadow(evidence: Evidence, first: int) -> int:
    """How many rows from `first` on are raised without a break."""
    count = 0
    while count < _REACH and first + count < len(evidence.run) and evidence.raised[first + count]:
        count += 1
    return count


def _share(evidence: Evidence) -> float | None:
    """How many checkpoints cast a shadow, when most do and rows elsewhere are not as slow."""
    share = float(np.mean([_shadow(evidence, row) > 0 for row in evidence.after_saves.tolist()]))
    return share if share >= _MOSTLY and share >= 3 * float(evidence.raised.mean()) else None


def explain_step(case: Case) -> Finding | None:
    """A row in the shadow of a checkpoint, when most checkpoints cast one."""
    evidence = case.evidence
    saves = evidence.after_saves
    place = int(np.searchsorted(saves, case.row, side="right")) - 1
    if len(saves) < _LEAST_SAVES or place < 0 or not case.stall_s:
        return None
    first = int(saves[place])
    if case.row >= first + _shadow(evidence, first):
        return None
    share = evidence.once(_share)
    if share is None:
        return None
    message = say("cause-c03-evidence", share=Share(share), count=len(saves))
    return Finding(CODE, "async-checkpoint", "checkpoint", round(0.5 + 0.35 * share, 2), case.stall_s, message)
