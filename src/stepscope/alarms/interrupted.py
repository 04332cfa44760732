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

CODE = "interrupted"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, at the first line that says so."""
    lines = [notice for notice in evidence.run.notices if notice.kind == "interrupted"]
    if not lines:
        return []
    first = lines[0]
    message = say("alarm-interrupted", text=first.text)
    return [
        Alarm(code=CODE, severity="warning", step=evidence.step_before(first.row), line=first.line, message=message)
    ]
