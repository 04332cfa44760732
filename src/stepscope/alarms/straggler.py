"""straggler: one rank is slower than the others.

What it looks at
    The steps that every rank prints itself, compared step by step. Ranks that wait for each other in every step print
    the same times; then there is nothing to compare, and nothing is said.

Why it matters
    All ranks wait for the slowest one.

Example
    Rank 3 takes 212 ms per step, the others 170 ms.

What to change
    Look at that rank's GPU (`nvidia-smi -i`), its host's load, and its data.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import Seconds, Share, say
from stepscope.core.redact import redact
from stepscope.run.ranks import find_slowest

CODE = "straggler"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, for the slowest rank where it really differs."""
    slowest = find_slowest(evidence.run)
    if slowest is None:
        return []
    message = say(
        "alarm-straggler-host" if slowest.host else "alarm-straggler",
        rank=slowest.number,
        own=Seconds(slowest.typical_s),
        others=Seconds(slowest.others_s),
        share=Share(slowest.typical_s / slowest.others_s - 1),
        **({"host": redact(slowest.host, 64)} if slowest.host else {}),
    )
    return [Alarm(code=CODE, severity="warning", step=None, line=None, message=message)]
