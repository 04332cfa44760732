"""C36: a line before the step announces other work.

What it looks at
    Lines of one wording before slow steps, or before evaluations longer than the others, and hardly
    anywhere else.

Why it costs time
    Trainers are extended: a line search, a sample, an upload, a profile of the weights. What their lines say is not
    known here, but that these steps are the slow ones is.

Example
    `LINESEARCH!!!` before 12 of 101 evaluations: those take 44 s, the others 25 s.

What to change
    Do it less often, or in parallel to the training.
"""

from __future__ import annotations

import numpy as np

from stepscope.causes._evidence import Case, Evidence
from stepscope.columns.statistics import distinct, median, quantile
from stepscope.core.message import Seconds, say
from stepscope.ledger.phases import Finding
from stepscope.run.model import RemarkKind

CODE = "C36"
PLACE = 17
_COMMON = 0.25  # a line before this share of the rows announces nothing
_LEAST_GAIN = 4.0
_LONGER = 1.2


def explain_step(case: Case) -> Finding | None:
    """A line whose kind goes with slow rows."""
    best: Finding | None = None
    for kind, index in case.evidence.remarks_at(case.row):
        found = _longer_evaluation(case, kind, index) or _slow_rows(case, kind, index)
        if found is not None and (best is None or found.confidence > best.confidence):
            best = found
    return best


def _slow_rows(case: Case, kind: RemarkKind, index: int) -> Finding | None:
    """Rows after such a line are slow far more often than others."""
    evidence = case.evidence
    rows = distinct(kind.row[kind.row < len(evidence.run)])
    if not case.stall_s or len(rows) > _COMMON * len(evidence.run):
        return None
    slow = np.isin(rows, list(evidence.stalls))
    hits = int(slow.sum())
    background = (len(evidence.stalls) - hits + 0.5) / max(len(evidence.run) - len(rows), 1)
    rate = hits / len(rows)
    if rate <= background:
        return None
    gain = hits * np.log(rate / background)
    # A single line before a single slow step proves little; it is still the first thing to look at.
    confidence = min(0.9, 0.5 + 0.4 * rate) if hits > 1 and gain > _LEAST_GAIN and rate > 0.5 else 0.3
    if hits == 1 and len(rows) > 3:
        return None
    message = say("cause-c36-evidence", hits=hits, count=len(rows))
    return Finding(CODE, "announced", None, round(confidence, 2), case.stall_s, message, (int(kind.line[index]),))


def _longer_evaluation(case: Case, kind: RemarkKind, index: int) -> Finding | None:
    """Evaluations after such a line take longer than the others."""
    evidence = case.evidence
    if case.row not in evidence.evaluating or evidence.is_first(case.row):
        return None
    with_it, without = _split(evidence, kind)
    if len(with_it) < 2 or len(without) < 3:
        return None
    longer, usual = float(median(with_it)), float(median(without))
    extra_s = evidence.evaluating[case.row] - usual
    if longer < _LONGER * usual or longer < quantile(without, 0.9) or extra_s <= 0:
        return None
    message = say("cause-c36-evaluation", own=Seconds(longer), others=Seconds(usual), count=len(with_it))
    line = int(kind.line[index])
    return Finding(CODE, "announced", None, 0.55, extra_s, message, (line,))


def _split(evidence: Evidence, kind: RemarkKind) -> tuple[list[float], list[float]]:
    rows = set(kind.row.tolist())
    later = evidence.later_evaluations
    return [own for row, own in later.items() if row in rows], [own for row, own in later.items() if row not in rows]
