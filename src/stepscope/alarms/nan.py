"""nan: a loss is NaN or infinite.

What it looks at
    The loss of every printed step and evaluation.

Why it matters
    From there on every step trains on nothing: the seconds after it are lost.

Example
    `iter 1300: loss nan, time 170.00ms`

What to change
    Go back to the last checkpoint before it; lower the learning rate, clip gradients, or leave float16.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say

CODE = "nan"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, at the first such loss."""
    first = evidence.run.first_nonfinite
    if first is None:
        return []
    step, line = first
    message = say("alarm-nan", step=step, count=evidence.run.num_nonfinite)
    return [Alarm(code=CODE, severity="error", step=step, line=line, message=message)]
