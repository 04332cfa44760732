"""oom: out of memory.

What it looks at
    The exception that PyTorch raises, or the kernel's own word that it killed the process.

Why it matters
    The run is over, or lost a step.

Example
    `torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.46 GiB`

What to change
    A smaller `batch_size` with `gradient_accumulation_steps` raised by the same factor keeps the tokens per step.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say

CODE = "oom"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, at the first line that says so."""
    deaths = evidence.deaths(CODE)
    if not deaths:
        return []
    first = deaths[0].cause
    message = say("alarm-oom", text=first.text)
    return [Alarm(code=CODE, severity="error", step=evidence.step_before(first.row), line=first.line, message=message)]
