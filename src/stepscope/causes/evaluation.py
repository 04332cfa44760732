"""C01: an evaluation is charged to the step.

What it looks at
    The evaluation's own line before the step; without one, whether the slow steps keep the evaluation's interval.

Why it costs time
    Many trainers start a step's clock at the end of the step before, so an evaluation in between counts with the step
    that follows: `eval_iters` forward passes of each split, and the GPU does no training meanwhile.

Example
    6.7 s per step, 31.3 s at every 250th, each right under `step 250: train loss …, val loss …`.

What to change
    A larger `eval_interval`, a smaller `eval_iters`, only the validation split (the running train loss says the rest),
    larger batches in evaluation, evaluation spread over the ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.causes._evidence import Case, Evidence, Rhythmic
from stepscope.causes._stated import stated_interval
from stepscope.causes.data_wait import MOST
from stepscope.columns.statistics import median
from stepscope.core.message import Seconds, say
from stepscope.ledger.phases import Finding
from stepscope.run.stops import Stop

CODE = "C01"
PLACE = 10
_MOSTLY = 0.6


def explain_step(case: Case) -> Finding | None:
    """The evaluation that the step's parts hold."""
    own = sum(part.seconds for part in case.slow.parts if part.phase == "evaluation")
    # In a recording the evaluation's line came when it was over, or it was timed itself: what is beside it or follows
    # it is something else.
    evidence = case.evidence
    runs_on = evidence.run.clock.is_wall or evidence.run.clock.runs_during("evaluation")
    is_over = evidence.ledger.split == "trace" or (evidence.run.is_recorded and runs_on)
    is_open = (
        not is_over and case.stall_s > 0 and case.slow.cause == "unexplained" and case.waited_s < MOST * case.stall_s
    )
    nearby_s = case.evidence.once(_usual_nearby) if is_open else None
    is_usual = nearby_s is not None and case.stall_s < 3 * nearby_s and case.evidence.is_near_stop(case.row)
    if is_usual and (case.evidence.run.clock.runs_during("evaluation") or _may_hold_one(case.evidence, case.row)):
        message = say("cause-c01-beside", duration=Seconds(case.stall_s))
        return Finding(CODE, "evaluation", "evaluation", 0.8, own + case.stall_s, message, case.slow.evidence_lines)
    if case.slow.cause != "evaluation" or own <= 0:
        return None
    lines = case.slow.evidence_lines
    usual = case.evidence.once(_usual_rest) if case.stall_s and not is_over else None
    if usual is not None and 0 < case.stall_s < 2 * usual:
        message = say("cause-c01-rest", duration=Seconds(own), rest=Seconds(case.stall_s))
        return Finding(CODE, "evaluation", "evaluation", 0.9, own + case.stall_s, message, lines)
    message = say("cause-c01-evidence", duration=Seconds(own))
    return Finding(CODE, "evaluation", None, case.slow.confidence, own, message, lines)


def _usual_rest(evidence: Evidence) -> float | None:
    """Seconds that most evaluations take beyond what their line says: metrics, gathering, tidying up."""
    rests = [evidence.stalls.get(row, 0.0) for row in evidence.later_evaluations]
    if not rests or sum(rest > 0 for rest in rests) < max(1, _MOSTLY * len(rests)):
        return None
    return float(median(rests))


def _usual_nearby(evidence: Evidence) -> float | None:
    """Unexplained seconds that most evaluations have in a row next to theirs, where the log is a line off."""
    stops = [stop for stop in evidence.stops if stop.evaluated and stop.printed]
    found = [
        max((evidence.stalls.get(row, 0.0) for row in _rows_beside(evidence, stop)), default=0.0) for stop in stops
    ]
    hits = [seconds for seconds in found if seconds > 0]
    return float(median(hits)) if len(hits) >= max(2, _MOSTLY * len(found)) else None


def _rows_beside(evidence: Evidence, stop: Stop) -> Sequence[int]:
    """The rows that may hold what an evaluation took.

    A clock that is said to stop for evaluations may run on with the steps after them, where nothing else shows what
    they took. The row before is over by then.
    """
    if evidence.run.clock.runs_during("evaluation"):
        return stop.next_row - 1, stop.next_row, stop.next_row + 1
    return () if evidence.ledger.seconds("evaluation") > 0 else (evidence.row_after(stop),)


def _may_hold_one(evidence: Evidence, row: int) -> bool:
    return any(row in _rows_beside(evidence, stop) for stop in evidence.stops if stop.evaluated)


def explain_period(rhythm: Rhythmic) -> Finding | None:
    """A comb at the interval of evaluations that print no line here."""
    settings = rhythm.evidence.run.settings
    every = stated_interval(settings, "evaluation", rhythm.period.every) or settings.count("eval_interval")
    between_lines = settings.count("log_interval") or 1
    # A clock that is said to stop for evaluations does not, where rows at their interval are slow and no line is near.
    is_silent = not any(rhythm.evidence.is_near_stop(row) for row in rhythm.period.rows)
    if not every or not (rhythm.evidence.run.clock.runs_during("evaluation") or is_silent):
        return None
    off = rhythm.period.every % every
    # An interval that is no multiple of the printed one was measured on printed lines: neither is known to the step.
    if min(off, every - off) > (between_lines if every % between_lines else 0):
        return None
    message = say("cause-c01-period", every=every, count=rhythm.period.num_events)
    return Finding(CODE, "evaluation", "evaluation", 0.75, rhythm.period.each_s, message)
