"""ended_early: the run stopped before its last step.

What it looks at
    The last step against `max_iters`, where the log also shows an end (a traceback, a signal, a kill).
    A log that merely stops may belong to a run that is still going. Where another alarm says of what the run died
    (crash, oom, killed, interrupted, hang), there is only that one.

Why it matters
    The remaining steps are still to be done, and those after the last checkpoint again.

Example
    `max_iters = 10000`, a SIGTERM after step 9,900.

What to change
    Resume with `--init_from=resume`.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.audit._lacks import lacks_total, may_say
from stepscope.core.message import Message, say
from stepscope.run.ending import find_ending, stated_total
from stepscope.run.model import Run

CODE = "ended_early"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, when the log ends in the words of an end and steps are missing."""
    run, ending = evidence.run, find_ending(evidence.run)
    if ending is None or ending.value == "finished":
        return []
    total = stated_total(run)
    if ending.step is None:
        message = say("alarm-ended-before-steps")
    elif total is None:
        message = _without_total(run, ending.step)
    else:
        message = say("alarm-ended-early", step=ending.step, total=total)
    return [Alarm(code=CODE, severity="error", step=ending.step, line=ending.line, message=message)]


def _without_total(run: Run, last: int) -> Message:
    found = lacks_total(run)
    if found is None:
        return say("alarm-ended-early-unknown", step=last)
    return may_say("alarm-ended-early-unread", found, step=last)
