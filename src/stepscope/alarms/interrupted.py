"""interrupted: somebody or something stopped the run.

What it looks at
    Ctrl-C, SIGTERM, a scheduler's time limit or cancellation, as the log shows them.

Why it matters
    The run ended because it was asked to, not because of a fault of its own.

Example
    `KeyboardInterrupt`, `Signal 15 (SIGTERM) received by PID 1454089`

What to change
    Resume from the last checkpoint; ask `stepscope eta` whether the next time limit suffices.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say
from stepscope.run.ending import find_ending, signal_name

CODE = "interrupted"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, when the run's end is an interruption."""
    ending, ended = find_ending(evidence.run), evidence.run.exit
    if ending is not None and ending.evidence.key == "state-signal" and ending.value == CODE and ended is not None:
        message = say("alarm-signal", name=signal_name(ended.ended_by or 0), code=ended.code)
        return [Alarm(CODE, "warning", ending.step, ending.line, message)]
    return [
        Alarm(
            code=CODE,
            severity="warning",
            step=evidence.step_before(death.row),
            line=death.cause.line,
            message=say("alarm-interrupted", text=death.cause.text),
        )
        for death in evidence.deaths(CODE)
    ]
