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
from stepscope.run.deaths import Death
from stepscope.run.ending import find_ending

CODE = "crash"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm for the first crash that no other alarm explains."""
    crashes = evidence.deaths(CODE)
    if not crashes:
        return []
    cause = crashes[0].cause
    return [
        Alarm(
            code=CODE,
            severity="warning" if _is_after_last_step(evidence, crashes[0]) else "error",
            step=evidence.step_before(cause.row),
            line=cause.line,
            message=say("alarm-crash", text=cause.text),
        )
    ]


def _is_after_last_step(evidence: AlarmEvidence, crash: Death) -> bool:
    """Whether the run had done all its steps: then nothing is lost."""
    ending = find_ending(evidence.run)
    return crash.row == len(evidence.run) > 0 and ending is not None and ending.value == "finished"
