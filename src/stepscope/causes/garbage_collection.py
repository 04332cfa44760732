"""C08: Python collects garbage in the middle of a step.

What it looks at
    A line that says so; without one, slow steps of the same height that keep no interval.

Why it costs time
    A full collection walks every live object while the GPU waits. Each rank collects at its own moment, and all others
    wait for it.

Example
    683 ms per step, 1,350 ms at steps 20, 23, 41 …: always some 660 ms more.

What to change
    After the first step `gc.collect(); gc.freeze(); gc.disable()`, then `gc.collect()` every few hundred steps on all
    ranks at once. Watch host memory afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.causes._evidence import Case, Evidence
from stepscope.columns.statistics import median
from stepscope.core.message import Seconds, Share, say
from stepscope.ledger.phases import Finding

CODE = "C08"
PLACE = 90
_LEAST_EVENTS = 6
_ALIKE = 0.12  # robust deviation of the heights: collections of one heap differ by some 5 %
_LEAST_S = 0.05


class _Alike(NamedTuple):
    """Stalls of about one height away from any stop; `is_even` when they come more evenly than chance."""

    rows: frozenset[int]
    middle_s: float
    spread: float
    is_even: bool


def _stalls_alike(evidence: Evidence) -> _Alike | None:
    rows = np.array([row for row in evidence.aperiodic.tolist() if not evidence.is_near_stop(row)], dtype=np.int64)
    if len(rows) < _LEAST_EVENTS:
        return None
    heights = np.array([evidence.stalls[row] for row in rows.tolist()])
    middle = float(median(heights))
    spread = 1.4826 * float(median(np.abs(heights - middle))) / middle
    if middle < _LEAST_S or spread > 2 * _ALIKE:
        return None
    gaps = np.diff(rows)
    # Allocation drives it, so it comes more evenly than chance; ranks that collect apart blur that.
    is_even = float(np.std(gaps) / max(float(np.mean(gaps)), 1e-9)) < 0.8
    return _Alike(frozenset(rows.tolist()), middle, spread, is_even)


def explain_step(case: Case) -> Finding | None:
    """A printed collection, or one of many stalls of one height that keep no interval."""
    printed = sum(part.seconds for part in case.slow.parts if part.phase == "gc")
    if printed > 0:
        confidence = round(0.98 * min(1.0, printed / max(case.excess_s, 1e-9)), 2)
        message = say("cause-c08-printed", duration=Seconds(printed))
        return Finding(CODE, "gc", None, confidence, printed, message, case.slow.evidence_lines)
    alike = case.evidence.once(_stalls_alike)
    if alike is None or case.row not in alike.rows or abs(case.stall_s / alike.middle_s - 1) > 0.5:
        return None
    confidence = 0.45 if alike.spread <= _ALIKE else 0.25
    confidence += (0.1 if len(alike.rows) >= 10 else 0.05) + (0.2 if alike.is_even else 0.0)
    message = say(
        "cause-c08-evidence", count=len(alike.rows), duration=Seconds(alike.middle_s), share=Share(alike.spread)
    )
    return Finding(CODE, "gc", "gc", round(confidence, 2), case.stall_s, message)
