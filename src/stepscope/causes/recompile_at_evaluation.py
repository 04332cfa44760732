"""C05: the first evaluation compiles the model a second time.

What it looks at
    The first evaluation after training began against the later ones, and a level that changes right after it.

Why it costs time
    Evaluation runs other shapes, or without gradients: guards fail and the compiler starts again. At the limit of
    recompilations it gives up, and every later step is slower.

Example
    82 s at the first evaluation, 25 s at each later one.

What to change
    Evaluate with the uncompiled module, or run both modes once before timing. `TORCH_LOGS=recompiles` names the guard.
"""

from __future__ import annotations

import numpy as np

from stepscope.causes._evidence import Case, Shift
from stepscope.columns.statistics import median, quantile
from stepscope.core.message import Seconds, say
from stepscope.ledger.phases import Cause, Finding

CODE = "C05"
PLACE = 28
_LEAST_LATER = 2
_LONGER = 1.3
_NEAR_ROWS = 3


def explain_step(case: Case) -> Finding | None:
    """The first evaluation past the start, when all later ones are alike and shorter."""
    evidence = case.evidence
    rows = evidence.rows_evaluated_later
    if evidence.is_compiled is False or len(rows) <= _LEAST_LATER or case.row != rows[0]:
        return None
    later = np.array([evidence.evaluating[row] for row in rows[1:]])
    middle, own = float(median(later)), evidence.evaluating[case.row]
    # The later ones must agree with each other better than the first agrees with them.
    if middle <= 0 or own < _LONGER * middle or own < quantile(later, 0.95):
        return None
    message = say("cause-c05-evidence", own=Seconds(own), others=Seconds(middle), count=len(later))
    confidence = 0.75 if evidence.is_compiled else 0.65
    # A step that the ledger already calls warm-up keeps that cause.
    cause: Cause = "warmup" if case.slow.cause == "warmup" else "recompile"
    return Finding(CODE, cause, "warmup", confidence, own - middle, message)


def explain_level(shift: Shift) -> Finding | None:
    """A slower level that begins right after the first evaluation of a compiled run."""
    evidence = shift.evidence
    rows = [row for row in evidence.after_evaluations.tolist() if not evidence.is_first(max(0, row - 1))]
    if evidence.is_compiled is False or not rows or shift.change <= 0:
        return None
    if not 0 <= shift.after.first_row - rows[0] <= _NEAR_ROWS:
        return None
    message = say("cause-c05-level", step=int(evidence.run.steps.step[rows[0]]))
    return Finding(CODE, "recompile", None, 0.55 if evidence.is_compiled else 0.35, 0.0, message)
