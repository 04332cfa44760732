"""C12: loader workers are started again at the edge of an epoch.

What it looks at
    Slow steps that are the first of an epoch, epoch after epoch.

Why it costs time
    Without persistent workers every epoch starts processes, imports, opens files and fills its queue before the first
    batch comes. It may hide outside the printed data time.

Example
    0.07 s per step, 0.29 s on the first line of every epoch of 720 steps.

What to change
    `persistent_workers=True`, longer virtual epochs, fewer workers.
"""

from __future__ import annotations

import numpy as np

from stepscope.causes._evidence import Case, Evidence, Rhythmic
from stepscope.core.message import Share, say
from stepscope.ledger.epochs import epoch_starts
from stepscope.ledger.phases import Finding
from stepscope.run.model import Ints

CODE = "C12"
PLACE = 40


def _edges(evidence: Evidence) -> Ints:
    return epoch_starts(evidence.run)


def _share(evidence: Evidence) -> float | None:
    """How many epochs begin slowly, when such rows are slow as a rule and others are not."""
    edges = evidence.once(_edges)
    if not len(edges) or len(edges) >= len(evidence.run):
        return None
    share, elsewhere = float(evidence.raised[edges].mean()), float(np.delete(evidence.raised, edges).mean())
    return share if share >= 0.5 and share >= 3 * elsewhere else None


def explain_step(case: Case) -> Finding | None:
    """A slow row at the beginning of an epoch, when such rows are slow as a rule."""
    evidence = case.evidence
    if not case.stall_s:
        return None
    edges, share = evidence.once(_edges), evidence.once(_share)
    place = int(np.searchsorted(edges, case.row))
    if share is None or place == len(edges) or edges[place] != case.row:
        return None
    confidence = 0.5 if len(edges) < 2 else 0.65 if len(edges) < 4 else 0.85
    message = say("cause-c12-evidence", count=len(edges), share=Share(share), steps=evidence.epoch_steps or 0)
    return Finding(CODE, "data", "data", confidence, case.stall_s, message)


def explain_period(rhythm: Rhythmic) -> Finding | None:
    """A comb as wide as an epoch."""
    epoch = rhythm.evidence.epoch_steps
    if not epoch or rhythm.period.every % epoch:
        return None
    message = say("cause-c12-period", steps=epoch, count=rhythm.period.num_events)
    return Finding(CODE, "data", "data", 0.85, rhythm.period.each_s, message)
