"""C18: the GPU gets hot and slows down.

What it looks at
    A level that rises smoothly in the first part of a process and settles, evaluations that slow by the same factor,
    and the GPU's temperature.

Why it costs time
    At its limit the GPU lowers its clock. Everything that computes slows alike, unlike a slow loader or disk.

Example
    221 ms per step at first, 276 ms after an hour, evaluations 26 s and 33 s.

What to change
    Air: fans, dust, distance to the next GPU, a cooling pad. `nvidia-smi -q -d PERFORMANCE,CLOCK` shows throttling.
"""

from __future__ import annotations

from stepscope.causes._evidence import Shift
from stepscope.core.message import Share, say
from stepscope.ledger.phases import Finding

CODE = "C18"
PLACE = 110
_MOST_CHANGE = 0.8  # clocks halve at worst
_HOT, _COOL = 83.0, 75.0


def explain_level(shift: Shift) -> Finding | None:
    """A rise that levels off; temperature and evaluations weigh in."""
    shape = shift.evidence.shape
    if not 0 < shift.change < _MOST_CHANGE or shift.returns or shape is None:
        return None
    early = shift.after.first_row < 0.4 * len(shift.evidence.run)
    settles = shape.kind == "saturating" or (shape.kind == "step" and early)
    confidence = (0.45 if shape.kind == "saturating" else 0.35 if settles else 0.2) if shape.change > 0 else 0.1
    follows = shift.evaluations_follow
    confidence += 0.15 if follows else -0.15 if follows is False else 0.0
    hardware = shift.evidence.hardware
    if hardware is not None and hardware.temperature is not None:
        if hardware.temperature < _COOL:
            return None
        confidence += 0.3 if hardware.temperature >= _HOT else 0.0
    if str(shift.evidence.run.settings.get("device") or "").startswith("cpu"):
        confidence -= 0.1
    if confidence < 0.1:
        return None
    key = "cause-c18-follows" if follows else "cause-c18-evidence"
    message = say(key, change=Share(shift.change))
    return Finding(CODE, "heat", None, round(min(confidence, 0.9), 2), 0.0, message)
