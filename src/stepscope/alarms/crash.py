"""crash: the log holds a traceback or a fatal signal.

What it looks at
    Python tracebacks, and a shell's word that the process was killed. An interrupt and
    out of memory are alarms of their own.

Why it matters
    Steps after the last checkpoint have to be done again.

Example
    `ZeroDivisionError: division by zero`

What to change
    The exception says; `Traceback` and the line number lead to it.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, Evidence
from stepscope.message import say

CODE = "crash"
_INTERRUPTS = {"KeyboardInterrupt", "SignalException", "ChildFailedError"}


def find(evidence: Evidence) -> list[Alarm]:
    """One alarm for the first crash that no other alarm explains."""
    notices = evidence.run.notices
    explained = any(notice.kind in {"interrupted", "oom"} for notice in notices)
    tracebacks = [notice for notice in notices if notice.kind == "traceback"]
    causes = [
        notice for notice in notices if notice.kind in {"exception", "killed"} and notice.type_name not in _INTERRUPTS
    ]
    if not causes and (explained or not tracebacks):
        return []
    where = causes[0] if causes else tracebacks[0]
    message = say("alarm-crash", text=where.text)
    return [Alarm(code=CODE, severity="error", step=evidence.step_before(where.row), line=where.line, message=message)]
