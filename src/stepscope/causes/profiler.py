"""C32: a profiler records or writes its trace.

What it looks at
    A line about a profiler's trace or a memory snapshot before a slow step.

Why it costs time
    Recording slows every kernel launch of its window, and writing the trace costs more than the printed figure.

Example
    `Finished dumping profiler traces in 0.22 seconds`, and the window takes 0.68 s longer.

What to change
    Profile a few steps once, not every thousand; switch it off for a long run.
"""

from __future__ import annotations

import re

from stepscope.causes._evidence import Case
from stepscope.core.message import say
from stepscope.ledger.phases import Finding

CODE = "C32"
PLACE = 12
_PROFILER = re.compile(
    r"profil(?:er|ing) trace|memory snapshot|[Dd]umping (?:profil|trace)|torch\.profiler|chrome trace"
)


def explain_step(case: Case) -> Finding | None:
    """A profiler's line before the row."""
    if not case.stall_s:
        return None
    lines = [
        int(kind.line[index])
        for kind, index in case.evidence.remarks_at(case.row)
        if _PROFILER.search(case.evidence.text(int(kind.line[index])))
    ]
    if not lines:
        return None
    return Finding(CODE, "profiler", "logging", 0.85, case.stall_s, say("cause-c32-evidence"), tuple(lines[:2]))
