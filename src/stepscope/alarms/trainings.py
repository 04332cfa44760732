"""trainings: the log holds several trainings, one after the other.

What it looks at
    A step number that begins again after the last step of a total, under another total, or after another kind of
    header: nanochat's phases, a second `fit`, another run appended to the same file.

Why it matters
    The level, the time left and the advice are about the last training. The seconds of the others are in the ledger.

Example
    5,742 steps of base training, then 503 steps of fine-tuning.

What to change
    Nothing. To ask about an earlier training, cut the log before the line that is named.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say

CODE = "trainings"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, at the first line of the last training."""
    run = evidence.run
    if run.num_trainings < 2:
        return []
    first = next(segment for segment in run.segments if segment.training == run.num_trainings - 1)
    line = int(run.steps.line[first.first_row])
    step = int(run.steps.step[first.first_row])
    message = say("alarm-trainings", count=run.num_trainings, line=line)
    return [Alarm(code=CODE, severity="info", step=step, line=line, message=message)]
