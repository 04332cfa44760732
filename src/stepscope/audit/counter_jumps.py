"""R08: the counter jumps.

What it looks at
    The spacing of the step numbers, which is regular in nearly every log, and how often the count falls back without a
    word of a restart. In a log of no known format also whether several trainings count to the same end, as epochs do.

Why it matters
    A number that jumps about is no counter of steps, or several things that count were taken for one: train and
    validation bars, several workers, several runs.

Example
    1, 2, 3 … 27, 1, 2 … 14, 28: the bars of training and validation as one series.

What to change
    `stepscope formats try LOG` shows which lines were taken for steps.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import say
from stepscope.run.model import Run, Segment

CODE = "R08"
_LEAST_ROWS = 4
_REGULAR = 0.7
_FEW_ROWS_EACH = 10
_MANY = 3
_EPOCHS = 0.3  # trainings that nothing tells from the epochs of one
_AGAIN = 0.85  # whether earlier launches belong to the run's time cannot be told


def check(evidence: AuditEvidence) -> Check:
    """How many rows are not where the usual stride would have them, and how many restarts there are."""
    run = evidence.run
    if len(run) < _LEAST_ROWS:
        return Check(CODE, "cannot tell", say("audit-counter-short"))
    since = np.diff(run.steps.step)[np.diff(run.steps.segment) == 0]
    regular = _share_of_usual(since)
    restarts = len(run.segments) - run.num_trainings
    crowded = restarts >= _MANY and len(run) < _FEW_ROWS_EACH * len(run.segments)
    trainings = run.num_trainings > _MANY and len(run) < _FEW_ROWS_EACH * run.num_trainings
    if regular >= _REGULAR and not crowded and not trainings:
        again = _num_from_scratch(run)
        if again:
            return Check(CODE, "cannot tell", say("audit-counter-again", count=again), doubt=_AGAIN)
        if _may_be_epochs(run):
            return Check(CODE, "cannot tell", say("audit-counter-epochs", count=run.num_trainings), doubt=_EPOCHS)
        return Check(CODE, "agrees", say("audit-counter-regular"))
    doubt = max((_REGULAR - regular) / _REGULAR, 0.7 if crowded or trainings else 0.0)
    return Check(CODE, "disagrees", say("audit-counter-jumps", count=len(run.segments) - 1), doubt=doubt)


def _num_from_scratch(run: Run) -> int:
    """How many launches of the same training begin where the first one began: nothing says that it is the same."""
    first = int(run.steps.step[0])
    usual = int(np.median(np.abs(np.diff(run.steps.step))))
    begins = [
        int(run.steps.step[later.first_row]) for before, later in pairwise(run.segments) if _goes_on(before, later)
    ]
    return sum(step <= first + 2 * usual for step in begins)


def _may_be_epochs(run: Run) -> bool:
    """Whether a log of no known format has several trainings that all but the last count to the same end, and no word
    of folds.
    """
    if run.format.inferred is None or run.folds is not None or run.num_trainings < _MANY:
        return False
    last = {segment.training: int(run.steps.step[segment.first_row + segment.num_rows - 1]) for segment in run.segments}
    *ends, unfinished = last.values()
    return len(set(ends)) == 1 and unfinished <= ends[0]


def _goes_on(before: Segment, later: Segment) -> bool:
    return before.training == later.training and before.num_rows >= _LEAST_ROWS


def _share_of_usual(since: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> float:
    """The share of strides within half of the usual one; lines may be left out now and then."""
    if not len(since):
        return 0.0
    usual = float(np.median(since))
    return float(((since >= 0.5 * usual) & (since <= 2 * usual)).mean()) if usual > 0 else 0.0
