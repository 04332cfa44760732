"""The slow rows, each with what its parts say; what the parts leave open is asked of the catalogue of causes."""

from __future__ import annotations

import numpy as np

from stepscope.core.units import NS
from stepscope.ledger.accounts import Books
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.phases import Cause, Part, Phase, SlowStep, joined
from stepscope.run.model import NO_TIME, Run
from stepscope.run.stops import Stop

# A wait outside the clock makes a slow step when it takes this share of a normal one, as for rows inside it.
_LONG_WAIT = 0.5
_CAUSES: dict[Phase, Cause] = {
    "evaluation": "evaluation",
    "checkpoint": "checkpoint",
    "warmup": "warmup",
    "data": "data",
    "gc": "gc",
    "stall": "unexplained",
}


def waits_outside_clock(run: Run) -> dict[int, float]:
    """Seconds that rows waited for data before their clock began, where the log prints that next to the step's time."""
    if not run.clock.is_per_step or run.clock.runs_during("data"):
        return {}
    events = run.events
    found: dict[int, float] = {}
    for index, kind in enumerate(events.kind):
        row = int(events.row[index])
        if kind == "data" and events.took_ns[index] != NO_TIME and row < len(run):
            found[row] = found.get(row, 0.0) + int(events.took_ns[index]) / NS
    printed = run.steps.data_s
    for row in np.flatnonzero((printed > 0) & (run.steps.span > 0)).tolist():
        found.setdefault(row, float(printed[row]))
    return found


def describe_slow(run: Run, baseline: Baseline, books: Books, timed: dict[int, Stop]) -> tuple[SlowStep, ...]:
    """Every slow row, costliest first."""
    waits = waits_outside_clock(run)
    long_waits = {row for row, seconds in waits.items() if seconds > _LONG_WAIT * float(baseline.level[row])}
    found, steps = [], run.steps
    rows = np.array(sorted({*np.flatnonzero(baseline.slow).tolist(), *long_waits}), dtype=np.int64)
    columns = (rows, steps.seconds[rows], steps.step[rows], steps.line[rows])
    for row, seconds, step, line in zip(*(column.tolist() for column in columns), strict=True):
        parts = books.parts(row)
        if not any(part.phase == "step" for part in parts):
            parts = sorted(
                [*parts, Part("step", seconds, seconds, seconds, "measured")], key=lambda part: -part.seconds
            )
        evaluation = timed.get(row)
        cause: Cause = next((_CAUSES[part.phase] for part in parts if part.phase in _CAUSES), "unexplained")
        found.append(
            SlowStep(
                row=row,
                step=step,
                line=line,
                seconds=seconds + waits.get(row, 0.0),
                cause=cause,
                confidence=_confidence(cause, parts, evaluation),
                parts=joined(parts),
                evidence_lines=_evidence_lines(run, row, cause, evaluation),
            )
        )
    return tuple(sorted(found, key=lambda slow: (-slow.seconds, slow.row)))


def _evidence_lines(run: Run, row: int, cause: Cause, evaluation: Stop | None) -> tuple[int, ...]:
    if evaluation is not None and evaluation.printed:
        return (evaluation.line,) if evaluation.save_line is None else (evaluation.line, evaluation.save_line)
    if cause in {"data", "gc"}:
        events = run.events
        own = [index for index in events.before(row) if events.kind[index] == cause]
        return tuple(int(events.line[index]) for index in own[-1:])
    return ()


def _confidence(cause: Cause, parts: list[Part], evaluation: Stop | None) -> float:
    """A printed marker is near certainty about *what* ran; the rest is how much of the excess it can explain."""
    if cause == "unexplained":
        return 0.0
    if cause == "warmup":
        return 0.9
    if cause not in {"data", "gc"} and (evaluation is None or not evaluation.printed):
        return 0.7
    excess = sum(part.seconds for part in parts if part.phase != "step")
    known = sum(part.seconds for part in parts if part.phase not in {"step", "stall"})
    return round(0.98 * known / excess, 2) if excess > 0 else 0.5
