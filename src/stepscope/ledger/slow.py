"""The slow rows, each with its cause and what speaks for it."""

from __future__ import annotations

import numpy as np

from stepscope.ledger.accounts import Books
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.phases import Cause, Part, Phase, SlowStep
from stepscope.run import Run
from stepscope.stops import Stop

_CAUSES: dict[Phase, Cause] = {
    "evaluation": "evaluation",
    "checkpoint": "checkpoint",
    "warmup": "warmup",
    "data": "data",
    "gc": "gc",
    "stall": "unexplained",
}


def describe_slow(run: Run, baseline: Baseline, books: Books, timed: dict[int, Stop]) -> tuple[SlowStep, ...]:
    """Every slow row, costliest first."""
    found = []
    for row in np.flatnonzero(baseline.slow).tolist():
        parts = books.parts(row)
        evaluation = timed.get(row)
        cause: Cause = next((_CAUSES[part.phase] for part in parts if part.phase in _CAUSES), "unexplained")
        found.append(
            SlowStep(
                row=row,
                step=int(run.steps.step[row]),
                line=int(run.steps.line[row]),
                seconds=float(run.steps.seconds[row]),
                cause=cause,
                confidence=_confidence(cause, parts, evaluation),
                parts=tuple(parts),
                evidence_lines=_evidence_lines(evaluation),
            )
        )
    return tuple(sorted(found, key=lambda slow: (-slow.seconds, slow.row)))


def _evidence_lines(evaluation: Stop | None) -> tuple[int, ...]:
    if evaluation is None or not evaluation.printed:
        return ()
    return (evaluation.line,) if evaluation.save_line is None else (evaluation.line, evaluation.save_line)


def _confidence(cause: Cause, parts: list[Part], evaluation: Stop | None) -> float:
    """A printed marker is near certainty about *what* ran; the rest is how much of the excess it can explain."""
    if cause == "unexplained":
        return 0.0
    if cause == "warmup":
        return 0.9
    if evaluation is None or not evaluation.printed:
        return 0.7
    excess = sum(part.seconds for part in parts if part.phase != "step")
    known = sum(part.seconds for part in parts if part.phase not in {"step", "stall"})
    return round(0.98 * known / excess, 2) if excess > 0 else 0.5
