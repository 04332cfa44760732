"""writers: two processes write into one log, and their lines do not say which is whose.

What it looks at
    Step numbers that go back and then on from where they were, again and again.

Why it matters
    Only one of them is the run that the answer is about; the steps of the other are left out, so that none counts
    twice. Often a second launch of the same job was forgotten, and both share the GPU.

Example
    Steps 12, 13, 1, 14, 2, 15.

What to change
    Give each process a log of its own, or let the launcher tag the lines (`torchrun --tee 3`, `srun -l`).
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say

CODE = "writers"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, when steps of another writer were left out."""
    count = evidence.run.num_other_rows
    if not count:
        return []
    return [Alarm(code=CODE, severity="info", step=None, line=None, message=say("alarm-writers", count=count))]
