"""hang: a rank stopped answering, and the others gave up waiting.

What it looks at
    The words of NCCL's watchdog and of gloo when a collective operation times out.

Why it matters
    The run is over. What stopped is on another rank than the one that complains, often minutes earlier: a crash, a
    stalled loader, an evaluation or a checkpoint that only one rank ran.

Example
    `Watchdog caught collective operation timeout: WorkNCCL(SeqNum=51, OpType=ALLREDUCE, Timeout(ms)=600000)`

What to change
    Look for the rank that is missing in the collective; `TORCH_NCCL_TRACE_BUFFER_SIZE` and `py-spy dump` show where.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say
from stepscope.run.deaths import find_deaths

CODE = "hang"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, at the first line that says so; also where the rank that stopped says why it did."""
    lines = [death.hang for death in find_deaths(evidence.run) if death.hang is not None]
    if not lines:
        return []
    first = lines[0]
    message = say("alarm-hang", text=first.text)
    return [Alarm(code=CODE, severity="error", step=evidence.step_before(first.row), line=first.line, message=message)]
