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

from bisect import bisect_right
from itertools import islice
from operator import attrgetter

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
    ledger = evidence.ledger
    long = []
    for slow in ledger.slow:
        seconds = sum(part.seconds for part in slow.parts if part.phase == "stall")
        if seconds >= _LEAST_S and (seconds >= _LONG_S or seconds >= _LEAST_SHARE * ledger.wall_s):
            long.append((seconds, slow))
    long.sort(key=lambda item: -item[0])
    shown = list(islice((item for item in long if not _is_start_up(evidence.run, item[1].row)), _MAX_ALARMS))
    found = []
    for seconds, slow in shown:
        before = evidence.step_before(slow.row)
        last = slow.step if before is None else before
        message = say("alarm-unexplained", before=last, step=slow.step, duration=Seconds(seconds))
        found.append(Alarm(code=CODE, severity="warning", step=slow.step, line=slow.line, message=message))
    return found


def _is_start_up(run: Run, row: int) -> bool:
    """Whether a row is a process's first with a time: data, indices and kernels are prepared before it."""
    own = bisect_right(run.segments, row, key=attrgetter("first_row")) - 1
    begins = run.segments[own].first_row if own >= 0 else 0
    return bool(run.segments) and not (run.steps.span[begins:row] > 0).any()
