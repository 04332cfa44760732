"""false_done: the log says that training is done, and the steps say otherwise.

What it looks at
    The words with which a trainer closes ("Training completed", "[after training is done]", "Training of experiment is
    done") against the steps printed before them. Some trainers close in the same words after a crash, or when their
    data ran out; early stopping is no such case.

Why it matters
    A script that looks for these words takes a broken run for a finished one.

Example
    `Training of experiment is done and the best AP is 0.00`, and not one step before it.

What to change
    Check the steps, or the exit code, rather than the words.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say
from stepscope.run.ending import is_short
from stepscope.run.model import Notice, Run

CODE = "false_done"
# A traceback this many lines around the closing line belongs to it.
_NEAR_LINES = 40


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm: for the last line that wrongly says the run is done, else for an earlier launch."""
    run = evidence.run
    claims = [notice for notice in run.notices if notice.kind == "done"]
    final = [notice for notice in claims if notice.row == len(run)]
    total = run.settings.count("max_steps")
    if final and len(run) and total is not None and not run.has_stopped_early:
        last = int(run.steps.step[-1])
        if is_short(run, total):
            message = say("alarm-false-done", line=final[-1].line, step=last, total=total, count=total - last)
            return [Alarm(code=CODE, severity="warning", step=last, line=final[-1].line, message=message)]
    empty = [notice for notice in claims if _did_nothing(run, notice, claims)]
    if not empty:
        return []
    message = say("alarm-false-done-empty", line=empty[0].line, count=len(empty))
    return [Alarm(code=CODE, severity="warning", step=None, line=empty[0].line, message=message)]


def _did_nothing(run: Run, claim: Notice, claims: list[Notice]) -> bool:
    """Whether a launch closed without one step, and crashed."""
    starts = {segment.first_row for segment in run.segments} | {0, len(run)}
    before = [other.row for other in claims if other.line < claim.line]
    if claim.row not in starts or (claim.row > 0 and claim.row not in before):
        return False
    return any(
        notice.kind in {"traceback", "killed", "oom"} and abs(notice.line - claim.line) <= _NEAR_LINES
        for notice in run.notices
    )
