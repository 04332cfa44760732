"""C30: numbers too small for the CPU's fast path.

What it looks at
    A run on the CPU whose level keeps rising while nothing else changes.

Why it costs time
    Weights or activations near zero become denormal numbers, which a CPU handles in microcode, up to fifty times
    slower. GPUs do not mind.

Example
    0.05 s per step on the CPU at first, 0.4 s at the end; memory flat.

What to change
    `torch.set_flush_denormal(True)` at the start.
"""

from __future__ import annotations

from stepscope.causes._evidence import Shift
from stepscope.core.message import say
from stepscope.ledger.phases import Finding

CODE = "C30"
PLACE = 113


def explain_level(shift: Shift) -> Finding | None:
    """A rise on the CPU that is not taken back."""
    device = shift.evidence.run.settings.get("device")
    shape = shift.evidence.shape
    if device is None or not str(device.value).startswith("cpu") or shift.change <= 0 or shift.returns:
        return None
    rising = shape is not None and shape.kind in {"line", "saturating"} and shape.change > 0
    return Finding(CODE, "denormals", None, 0.3 if rising else 0.15, 0.0, say("cause-c30-evidence"))
