"""C17: the GPU's memory is full and spills into the host's.

What it looks at
    A sudden change to a level about twice as slow or worse that does not come back, and how full the GPU is.

Why it costs time
    Drivers for Windows and WSL move pages over the bus instead of failing; Apple's cache grows until the system swaps.
    Load may read 100 % while power and temperature fall.

Example
    15 s per step, 60 s from step 500 on; 11.9 of 12 GB used.

What to change
    "Prefer no sysmem fallback" in the driver, a smaller batch or sequence, activation checkpointing.
"""

from __future__ import annotations

from stepscope.causes._evidence import Shift
from stepscope.core.message import Share, say
from stepscope.ledger.phases import Finding

CODE = "C17"
PLACE = 121
_LEAST_CHANGE = 0.8
_FULL, _ROOM = 0.97, 0.9


def explain_level(shift: Shift) -> Finding | None:
    """An abrupt, lasting, large change; the GPU's memory decides."""
    if shift.change < _LEAST_CHANGE or shift.returns:
        return None
    hardware = shift.evidence.hardware
    if hardware is not None and hardware.memory_used and hardware.memory_total:
        used = hardware.memory_used / hardware.memory_total
        if used < _ROOM:
            return None
        message = say("cause-c17-full", share=Share(used), change=Share(shift.change))
        return Finding(CODE, "memory", None, 0.75 if used >= _FULL else 0.5, 0.0, message)
    return Finding(CODE, "memory", None, 0.25, 0.0, say("cause-c17-evidence", change=Share(shift.change)))
