"""contradiction: a stated setting and the log disagree.

What it looks at
    Intervals from a config file or the log's header against the spacing of the lines themselves.

Why it matters
    A forecast built on the wrong interval counts the wrong number of evaluations.

Example
    `eval_interval = 500` in the config, evaluations every 100 steps in the log.

What to change
    Pass the config that the run was started with, or state the value with `--set eval_interval=100`.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, Evidence
from stepscope.cadence import contradictions
from stepscope.message import say

CODE = "contradiction"


def find(evidence: Evidence) -> list[Alarm]:
    """One alarm per setting that the log disproves."""
    return [
        Alarm(
            code=CODE,
            severity="warning",
            step=None,
            line=None,
            message=say("alarm-contradiction", setting=name, stated=str(stated), seen=str(seen)),
        )
        for name, stated, seen in contradictions(evidence.run)
    ]
