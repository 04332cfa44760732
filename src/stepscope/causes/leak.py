"""C29: something grows with every step.

What it looks at
    A level that rises in a straight line up to the end of the log, and falls back at a restart.

Why it costs time
    Losses summed without `detach`, a list that keeps every batch, operations added to a graph in the loop, a cache
    without a bound: each step has a little more to carry.

Example
    13 ms per step at first, 18 ms after 5,000, still rising.

What to change
    Watch memory along with time: `torch.cuda.memory_allocated()` and the process's RSS. Sum `loss.item()`, not `loss`.
"""

from __future__ import annotations

from itertools import pairwise

from stepscope.causes._evidence import Shift
from stepscope.core.message import Share, say
from stepscope.ledger.phases import Finding

CODE = "C29"
PLACE = 111


def explain_level(shift: Shift) -> Finding | None:
    """A straight rise that never settles."""
    shape = shift.evidence.shape
    if shift.change <= 0 or shift.returns or shape is None or shape.change <= 0:
        return None
    step = shift.evidence.ledger.step
    levels = [] if step is None else [regime.typical_s for regime in step.regimes]
    climbing = len(levels) >= 3 and all(b > a for a, b in pairwise(levels))
    if shape.kind == "line":
        # A noisy line, or one that sets in late, may be anything; one that the points keep to for long is growth.
        since = shape.onset_step / max(1, int(shift.evidence.run.steps.step[-1]))
        confidence = 0.6 if shape.noise < 0.12 * shape.change and since < 0.5 else 0.4
        confidence -= 0.15 if shift.evidence.is_planned else 0.0
    elif climbing:
        confidence = 0.4
    else:
        return None
    return Finding(CODE, "leak", None, confidence, 0.0, say("cause-c29-evidence", change=Share(shape.change)))
