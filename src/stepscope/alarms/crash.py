"""crash: the log holds a traceback or a fatal signal.

What it looks at
    Python tracebacks, an exception's line that ends the log without one, and a shell's, launcher's or scheduler's word
    that the process was killed. An interrupt, out of memory and a collective that timed out are alarms of their own;
    an exception that Python says it ignored is none.

Why it matters
    Steps after the last checkpoint have to be done again.

Example
    `ZeroDivisionError: division by zero`

What to change
    The exception says; `Traceback` and the line number lead to it.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say

CODE = "crash"
_INTERRUPTS = {"KeyboardInterrupt", "SignalException", "ChildFailedError"}


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm for the first crash that no other alarm explains."""
    run = evidence.run
    notices = run.notices
    explained = any(notice.kind in {"interrupted", "oom", "hang"} for notice in notices)
    tracebacks = [notice for notice in notices if notice.kind == "traceback"]
    alone = [notice for notice in run.last_words if notice.kind == "error"]
    causes = [
        notice for notice in notices if notice.kind in {"exception", "killed"} and notice.type_name not in _INTERRUPTS
    ]
    if not causes and (explained or not (tracebacks or alone)):
        return []
    # Some loggers draw the values into a traceback; then its exception stands far from its first line.
    torn = [notice for notice in notices if notice.kind == "error" and tracebacks and notice.line > tracebacks[0].line]
    where = (causes or alone or torn or tracebacks)[0]
    # After the last step of all, nothing is lost.
    total = run.settings.count("max_steps")
    is_late = where.row == len(run) > 0 and total is not None and int(run.steps.step[-1]) >= total
    message = say("alarm-crash", text=where.text)
    return [
        Alarm(
            code=CODE,
            severity="warning" if is_late else "error",
            step=evidence.step_before(where.row),
            line=where.line,
            message=message,
        )
    ]
