"""ended_early: the run stopped before its last step.

What it looks at
    The last step against `max_iters`, where the log also shows an end (a traceback, a signal, a kill).
    A log that merely stops may belong to a run that is still going.

Why it matters
    The remaining steps are still to be done, and those after the last checkpoint again.

Example
    `max_iters = 10000`, a SIGTERM after step 9,900.

What to change
    Resume with `--init_from=resume`.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say

CODE = "ended_early"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, when the log ends in the words of an end and steps are missing."""
    run = evidence.run
    fatal = [notice for notice in run.last_words if notice.kind != "done"]
    if not fatal:
        return []
    last = int(run.steps.step[-1]) if len(run) else None
    total = run.settings.count("max_steps")
    known = total is not None and run.settings["max_steps"].origin != "default"
    if last is None:
        return [
            Alarm(code=CODE, severity="error", step=None, line=fatal[0].line, message=say("alarm-ended-before-steps"))
        ]
    if known and total is not None and last >= total:
        return []
    message = (
        say("alarm-ended-early", step=last, total=total)
        if known and total
        else say("alarm-ended-early-unknown", step=last)
    )
    return [Alarm(code=CODE, severity="error", step=last, line=fatal[0].line, message=message)]
