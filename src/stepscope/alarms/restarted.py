"""restarted: the log holds more than one start.

What it looks at
    Step numbers that go back, and headers that come again.

Why it matters
    Steps after the checkpoint that was resumed from were done twice.

Example
    Step 106 is followed by step 100: seven steps were lost.

What to change
    Nothing, if it was meant. Save more often where lost work hurts.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, Evidence
from stepscope.message import say

CODE = "restarted"


def find(evidence: Evidence) -> list[Alarm]:
    """One alarm per restart, at most ten."""
    steps, found = evidence.run.steps, []
    for segment in evidence.run.segments[1:11]:
        before, after = int(steps.step[segment.first_row - 1]), int(steps.step[segment.first_row])
        lost = max(0, before - after + 1)
        message = say("alarm-restarted", before=before, step=after, count=lost)
        found.append(
            Alarm(code=CODE, severity="info", step=after, line=int(steps.line[segment.first_row]), message=message)
        )
    return found
