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

import re

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import Seconds, say
from stepscope.core.redact import redact
from stepscope.run.deaths import find_deaths

CODE = "hang"
# `ran for 600057 milliseconds before timing out`, `Timed out waiting 1800000ms`
_WAITED = re.compile(r"\b(?:ran for|[Tt]imed out waiting) (?P<ms>\d{1,12}) ?(?:ms|milliseconds)\b")


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, at the first line that says so; also where the rank that stopped says why it did."""
    lines = [death.hang for death in find_deaths(evidence.run) if death.hang is not None]
    if not lines:
        return []
    first = lines[0]
    waited = next((found for line in lines if (found := _WAITED.search(line.text)) is not None), None)
    text = redact(first.text)
    message = say("alarm-hang", text=text)
    if waited is not None:
        message = say("alarm-hang-after", text=text, duration=Seconds(float(waited["ms"]) / 1000))
    return [Alarm(code=CODE, severity="error", step=evidence.step_before(first.row), line=first.line, message=message)]
