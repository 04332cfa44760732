"""C27: the step had more to do than others.

What it looks at
    Tokens (or the unit that the log counts) of each step against its time, over the whole run and at this step.

Why it costs time
    Batches of unequal length cost unequally; sorted data makes the run look slower and slower. It is no fault: compare
    seconds a token, not seconds a step.

Example
    0.5 s with 40,000 tokens, 1.1 s with 90,000.

What to change
    Batch by tokens instead of samples, or group by length if steps should be alike.
"""

from __future__ import annotations

import numpy as np

from stepscope.causes._evidence import Case, Evidence, Shift
from stepscope.columns.statistics import median
from stepscope.core.message import Decimal, say
from stepscope.ledger.phases import Finding

CODE = "C27"
PLACE = 70
_LEAST_ROWS = 20
_TIED = 0.6


def correlation(evidence: Evidence) -> float | None:
    """Rank correlation of work and time; None where work is not printed or does not vary."""
    steps = evidence.run.steps
    known = np.isfinite(steps.work) & (steps.work > 0) & (steps.span > 0)
    if known.sum() < _LEAST_ROWS or float(np.std(steps.work[known])) < 0.05 * float(np.mean(steps.work[known])):
        return None
    ranks = [np.argsort(np.argsort(column[known])) for column in (steps.work, steps.dur_ns)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _pace(evidence: Evidence, row: int) -> tuple[float, float] | None:
    """How much more work the row had than the median, and how its time per work compares with others'."""
    steps = evidence.run.steps
    known = np.isfinite(steps.work) & (steps.work > 0) & (steps.span > 0)
    if not known[row]:
        return None
    pace = steps.dur_ns[known] / steps.work[known]
    own = steps.dur_ns[row] / steps.work[row] / float(median(pace))
    return float(steps.work[row] / median(steps.work[known])), float(own)


def explain_step(case: Case) -> Finding | None:
    """A row whose time per unit of work is as usual."""
    tied = case.evidence.once(correlation) if case.stall_s else None
    pace = _pace(case.evidence, case.row) if tied is not None and tied >= _TIED else None
    if tied is None or pace is None or pace[0] < 1.2 or pace[1] > 1.3:
        return None
    message = say("cause-c27-evidence", factor=Decimal(pace[0], 1), tied=Decimal(tied, 2))
    return Finding(CODE, "length", "step", 0.85, case.stall_s, message)


def explain_level(shift: Shift) -> Finding | None:
    """A level whose work changed with it."""
    work = shift.evidence.run.steps.work
    parts = [work[r.first_row : r.last_row + 1] for r in (shift.before, shift.after)]
    if any(not np.isfinite(part).any() for part in parts):
        return None
    factor = float(np.nanmedian(parts[1]) / np.nanmedian(parts[0]))
    if abs(np.log(factor) - np.log1p(shift.change)) > 0.5 * abs(np.log1p(shift.change)):
        return None
    return Finding(CODE, "length", None, 0.85, 0.0, say("cause-c27-level", factor=Decimal(factor, 2)))
