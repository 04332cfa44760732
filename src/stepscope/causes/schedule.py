"""C34: a step costs more by plan.

What it looks at
    Levels that climb in small steps with hardly any noise around them, and never recover; surer where the log prints
    how much each step has to do.

Why it costs time
    Sequence length, batch size or attention window grow on a schedule. It looks like a leak and is meant to be so: the
    forecast follows the level, or takes it from an earlier run of the same program.

Example
    149 ms per step at first, 168 ms at the end, in lockstep with a growing attention window.

What to change
    Nothing.
"""

from __future__ import annotations

from stepscope.causes._evidence import Shift
from stepscope.core.message import Share, say
from stepscope.ledger.phases import Finding

CODE = "C34"
PLACE = 114


def explain_level(shift: Shift) -> Finding | None:
    """A climb with hardly any noise."""
    shape = shift.evidence.shape
    if shape is None or shape.kind not in {"line", "saturating"} or shift.returns or not shift.evidence.is_planned:
        return None
    if shift.change * shape.change <= 0:
        return None
    message = say("cause-c34-evidence", change=Share(shape.change), noise=Share(shape.noise))
    return Finding(CODE, "schedule", None, 0.5 if shape.kind == "line" else 0.4, 0.0, message)
