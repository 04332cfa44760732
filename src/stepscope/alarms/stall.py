"""stall: long stretches that nothing in the log explains.

What it looks at
    Iterations far above their neighbours whose seconds no evaluation, checkpoint, collection or wait accounts for; an
    evaluation that took many times what the others did.

Why it matters
    Minutes or hours in which nothing was trained, and which no printed figure shows: often only the timestamps do.

Example
    Two lines of a detection run are three hours apart, around an evaluation that takes three minutes elsewhere.

What to change
    Look at what else ran on the machine then: a suspended laptop, a full disk, a network file system, a job of
    somebody else. `stepscope run` timestamps every line, so that the next one can be placed to the second.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import Seconds, say
from stepscope.run.model import Run

CODE = "stall"
# Stalls worth an alarm: a minute that is also this share of all the time, or an hour at any share.
_LEAST_S, _LEAST_SHARE = 60.0, 0.005
_LONG_S = 3600.0
_MAX_ALARMS = 5


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm per long stall, the longest first, at most five."""
    ledger, found = evidence.ledger, []
    for slow in ledger.slow:
        seconds = sum(part.seconds for part in slow.parts if part.phase == "stall")
        if _is_start_up(evidence.run, slow.row):
            continue
        if seconds < _LEAST_S or (seconds < _LONG_S and seconds < _LEAST_SHARE * ledger.wall_s):
            continue
        before = evidence.step_before(slow.row)
        last = slow.step if before is None else before
        message = say("alarm-unexplained", before=last, step=slow.step, duration=Seconds(seconds))
        found.append((seconds, Alarm(code=CODE, severity="warning", step=slow.step, line=slow.line, message=message)))
    found.sort(key=lambda item: -item[0])
    return [alarm for _, alarm in found[:_MAX_ALARMS]]


def _is_start_up(run: Run, row: int) -> bool:
    """Whether a row is a process's first with a time: data, indices and kernels are prepared before it."""
    begins = max((segment.first_row for segment in run.segments if segment.first_row <= row), default=0)
    return bool(run.segments) and not (run.steps.span[begins:row] > 0).any()
