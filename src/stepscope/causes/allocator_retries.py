"""C16: memory is so full that the allocator gives back and asks again.

What it looks at
    The count of allocation retries that the log prints, in this window and in the others.

Why it costs time
    A failed request frees every cached block and synchronises the device before it is tried again.

Example
    `37,859 CUDA memory allocation retries.` at 95 % memory: 20 more in this window than in the last.

What to change
    `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, a slightly smaller batch, activation checkpointing.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.causes._evidence import Case, Evidence
from stepscope.columns.statistics import median
from stepscope.core.message import say
from stepscope.ledger.phases import Finding
from stepscope.run.model import Ints, RemarkKind

CODE = "C16"
PLACE = 14
_RETRIES = re.compile(r"(\d[\d,]*) CUDA memory allocation retries|num_alloc_retries\D{1,4}(\d[\d,]*)")
_MORE = 1.5


def _retries(evidence: Evidence) -> RemarkKind | None:
    return next((kind for kind in evidence.remarks if _RETRIES.search(evidence.text(int(kind.line[0])))), None)


def _count(evidence: Evidence, line: int) -> int:
    found = _RETRIES.search(evidence.text(line))
    return int((found[1] or found[2]).replace(",", "")) if found else 0


def _new(evidence: Evidence) -> Ints:
    """How many retries each count has more than the one before."""
    kind = evidence.once(_retries)
    lines = kind.line.tolist() if kind is not None else []
    counts: Ints = np.array([_count(evidence, line) for line in lines], dtype=np.int64)
    return counts[1:] - counts[:-1]


def explain_step(case: Case) -> Finding | None:
    """Retries counted within the row: the cause when there are more than usual, a candidate when there are any."""
    evidence = case.evidence
    kind = evidence.once(_retries) if case.stall_s else None
    if kind is None:
        return None
    here = np.flatnonzero(kind.row == case.row)
    if not len(here) or here[-1] == 0:
        return None
    new = evidence.once(_new)
    own, usual = int(new[here[-1] - 1]), int(median(new))
    if own <= 0:
        return None
    line = int(kind.line[here[-1]])
    if own > _MORE * max(usual, 1):
        message = say("cause-c16-more", count=own, usual=usual)
        return Finding(CODE, "memory", None, 0.75, case.stall_s, message, (line,))
    message = say("cause-c16-usual", count=own, usual=usual)
    return Finding(CODE, "memory", None, 0.35, case.stall_s, message, (line,))
