"""slowdown: steps have become slower and stayed so.

What it looks at
    The levels of the run: stretches of steps whose time differs by more than 3 %.

Why it matters
    Every step left costs the difference.

Example
    170 ms up to step 4,000, 230 ms since.

What to change
    The log alone cannot tell a hot card from a neighbour or a slow loader. `nvidia-smi -q -d PERFORMANCE,CLOCK`
    while it lasts tells the first; `nvidia-smi` and `top` the second.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, Evidence
from stepscope.message import Seconds, Share, say

CODE = "slowdown"
_WORTH_A_WORD = 0.25
_LEAST_ROWS = 15


def find(evidence: Evidence) -> list[Alarm]:
    """One alarm, when the last level is a quarter above the fastest one before it."""
    step = evidence.ledger.step
    if step is None or len(step.regimes) < 2:
        return []
    last = step.regimes[-1]
    long_enough = [
        regime
        for regime in step.regimes
        if ((step.rows >= regime.first_row) & (step.rows <= regime.last_row)).sum() >= _LEAST_ROWS
    ]
    if last not in long_enough or len(long_enough) < 2:
        return []
    fastest = min(long_enough[:-1], key=lambda regime: regime.typical_s)
    ratio = last.typical_s / fastest.typical_s - 1
    if ratio < _WORTH_A_WORD:
        return []
    message = say(
        "alarm-slowdown",
        step=last.first_step,
        before=Seconds(fastest.typical_s),
        after=Seconds(last.typical_s),
        share=Share(ratio),
    )
    line = int(evidence.run.steps.line[last.first_row])
    return [Alarm(code=CODE, severity="warning", step=last.first_step, line=line, message=message)]
