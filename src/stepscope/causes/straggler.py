"""C21: one rank is slow and all others wait for it.

What it looks at
    Timers printed as (fastest rank, slowest rank) that are far apart at a slow step.

Why it costs time
    Gradients are exchanged at every step: the slowest rank sets the pace. Always the same rank means hardware or heat,
    a changing one means data or garbage collection.

Example
    `batch-generator …: (3.7, 9490.5)`: one rank waited 9.5 s for its batch.

What to change
    Log times per rank, compare the ranks' temperatures and clocks, set `OMP_NUM_THREADS` to the cores a rank has.
"""

from __future__ import annotations

import re

from stepscope.causes._evidence import Case
from stepscope.core.message import Seconds, say
from stepscope.ledger.phases import Finding

CODE = "C21"
PLACE = 15
_PAIR = re.compile(r"\(([\d.]+), ([\d.]+)\)\s*$")
_APART = 5.0


def explain_step(case: Case) -> Finding | None:
    """A printed pair of ranks far apart at this row."""
    events = case.evidence.run.events
    for index in events.before(case.row):
        line = int(events.line[index])
        pair = _PAIR.search(case.evidence.text(line))
        if pair is None:
            continue
        fastest, slowest = float(pair[1]) / 1000, float(pair[2]) / 1000
        if slowest < _APART * fastest or slowest - fastest < 0.3 * max(case.excess_s, 1e-9):
            continue
        message = say("cause-c21-evidence", slowest=Seconds(slowest), fastest=Seconds(fastest))
        return Finding(CODE, "straggler", "communication", 0.55, slowest - fastest, message, (line,))
    return None
