"""C20: somebody else uses the GPU, the CPU or the disk.

What it looks at
    A level with abrupt edges that comes and goes, with evaluations slowed alike; and bursts of slow steps of every
    height close together.

Why it costs time
    Two programs share what one had. It begins and ends when the other does, not where this run does anything.

Example
    750 ms per step, 1,750 ms from 95,880 to 114,410, then 750 ms again.

What to change
    `nvidia-smi` lists the processes on the GPU, `top` those on the host. Ask, move, or wait.
"""

from __future__ import annotations

import numpy as np

from stepscope.causes._evidence import Case, Shift
from stepscope.core.message import Share, say
from stepscope.ledger.phases import Finding

CODE = "C20"
PLACE = 120
_BURST_ROWS = 0.1  # length of a burst, as a share of the run's rows
_LEAST_BURST = 5
_MUCH = 0.1  # another user of the GPU takes more than a few percent of it


def explain_level(shift: Shift) -> Finding | None:
    """An abrupt rise, surer when it is taken back; or the fall that takes it back."""
    evidence = shift.evidence
    follows = shift.evaluations_follow
    much = abs(shift.change) >= _MUCH
    if shift.change < 0:
        step = evidence.ledger.step
        earlier = [] if step is None else [r for r in step.regimes if r.last_row < shift.before.first_row]
        if not any(abs(shift.after.typical_s / max(own.typical_s, 1e-12) - 1) < 0.05 for own in earlier):
            return None
        return Finding(
            CODE, "neighbour", None, 0.6 if much else 0.3, 0.0, say("cause-c20-back", share=Share(-shift.change))
        )
    shape = evidence.shape
    abrupt = shape is None or shape.kind in {"step", "window", "flat"}
    confidence = (0.6 if shift.returns else 0.3) if abrupt else (0.45 if shift.returns else 0.2)
    confidence += 0.1 if follows else 0.0
    confidence -= 0.0 if much else min(confidence, 0.3) / 2
    key = "cause-c20-window" if shift.returns else "cause-c20-evidence"
    return Finding(CODE, "neighbour", None, round(confidence, 2), 0.0, say(key, change=Share(shift.change)))


def explain_step(case: Case) -> Finding | None:
    """One of a burst of slow rows of every height."""
    rows = case.evidence.aperiodic
    if case.row not in case.evidence.aperiodic_set:
        return None
    reach = max(20, int(_BURST_ROWS * len(case.evidence.run) / 2))
    first, last = np.searchsorted(rows, [case.row - reach, case.row + reach + 1])
    near = int(last - first)
    if near < _LEAST_BURST or near < 0.25 * len(rows):
        return None
    message = say("cause-c20-burst", count=near, steps=2 * reach)
    return Finding(CODE, "neighbour", None, 0.45, case.stall_s, message)
