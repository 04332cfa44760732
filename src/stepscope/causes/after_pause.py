"""C33: the first step after an evaluation is a little slow.

What it looks at
    Slow steps right after evaluations, when most evaluations have one.

Why it costs time
    Caches are cold, the loader's queue has run dry or must be refilled, clocks have dropped. It is part of the price of
    an evaluation.

Example
    140 ms per step, 152 ms for two steps after every validation.

What to change
    Fewer evaluations; persistent loader workers.
"""

from __future__ import annotations

import numpy as np

from stepscope.causes._evidence import Case, Evidence, Rhythmic
from stepscope.core.message import Share, say
from stepscope.ledger.phases import Finding

CODE = "C33"
PLACE = 34
_LEAST = 4
_MOSTLY = 0.6


def _share(evidence: Evidence) -> float | None:
    """How many rows after evaluations are slow, when that is the rule there and not elsewhere."""
    rows = evidence.after_evaluations
    if len(rows) < _LEAST or len(rows) == len(evidence.raised):
        return None
    share, elsewhere = float(evidence.raised[rows].mean()), float(np.delete(evidence.raised, rows).mean())
    return share if share >= _MOSTLY and share >= 3 * elsewhere else None


def explain_step(case: Case) -> Finding | None:
    """A row right after an evaluation, when such rows are slow as a rule."""
    evidence = case.evidence
    rows = evidence.after_evaluations
    share = evidence.once(_share) if case.stall_s else None
    if share is None or case.row not in rows:
        return None
    message = say("cause-c33-evidence", share=Share(share), count=len(rows))
    return Finding(CODE, "evaluation", "evaluation", round(0.5 + 0.35 * share, 2), case.stall_s, message)


def explain_period(rhythm: Rhythmic) -> Finding | None:
    """A comb at the interval of evaluations that the log's clock leaves out."""
    every = rhythm.evidence.run.settings.count("eval_interval")
    if not every or rhythm.period.every % every or rhythm.evidence.run.clock.runs_during("evaluation"):
        return None
    num_near = sum(rhythm.evidence.is_near_stop(row) for row in rhythm.period.rows)
    if num_near < _MOSTLY * len(rhythm.period.rows):
        return None
    message = say("cause-c33-period", count=len(rhythm.period.rows))
    return Finding(CODE, "evaluation", "evaluation", 0.8, rhythm.period.each_s, message)
