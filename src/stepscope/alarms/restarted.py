"""restarted: the log holds more than one start of the same training.

What it looks at
    Step numbers that go back, and headers that come again. Another phase or another run in the same file is no
    restart.

Why it matters
    Steps after the checkpoint that was resumed from were done twice.

Example
    Step 106 is followed by step 100: seven steps were lost.

What to change
    Nothing, if it was meant. Save more often where lost work hurts.
"""

from __future__ import annotations

import numpy as np

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import Seconds, say
from stepscope.ledger.done_again import lost_seconds
from stepscope.run.repeated import num_repeated, restarts

CODE = "restarted"
_MAX_ALARMS = 10


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm per restart, at most ten."""
    run, ledger = evidence.run, evidence.ledger
    found: list[Alarm] = []
    steps = run.steps
    shown = restarts(run)[:_MAX_ALARMS]
    lost_s = lost_seconds(run, ledger) if shown else np.zeros(0)
    for index in shown:
        segment = run.segments[index]
        before, after = int(steps.step[segment.first_row - 1]), int(steps.step[segment.first_row])
        count, lost = num_repeated(run, index), Seconds(float(lost_s[index]))
        message = say("alarm-restarted", before=before, step=after, count=count, lost=lost)
        line = int(steps.line[segment.first_row])
        found.append(Alarm(code=CODE, severity="info", step=after, line=line, message=message))
    return found
