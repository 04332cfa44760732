"""C19: the GPU runs at its power limit.

What it looks at
    A lasting change of level by up to a third with the same jitter as before, and the power the GPU draws against
    its limit.

Why it costs time
    A lowered limit, a weak supply or several GPUs on one supply pin the draw; the clock gives way.

Example
    315 of 315 W, 11 % slower, 62 °C.

What to change
    Raise the limit (`nvidia-smi -pl`), or accept it: the forecast already includes it.
"""

from __future__ import annotations

from stepscope.causes._evidence import Shift
from stepscope.core.message import Share, say
from stepscope.ledger.phases import Finding

CODE = "C19"
PLACE = 122
_MOST_CHANGE = 0.35
_PINNED = 0.97


def explain_level(shift: Shift) -> Finding | None:
    """A moderate, lasting change; the GPU's draw decides."""
    if not 0 < shift.change < _MOST_CHANGE or shift.returns:
        return None
    hardware = shift.evidence.hardware
    if hardware is not None and hardware.power is not None and hardware.power_limit:
        drawn = hardware.power / hardware.power_limit
        if drawn < _PINNED:
            return None
        return Finding(CODE, "power", None, 0.65, 0.0, say("cause-c19-pinned", share=Share(drawn)))
    return Finding(CODE, "power", None, 0.2, 0.0, say("cause-c19-evidence", change=Share(shift.change)))
