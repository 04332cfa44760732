"""restarted: the log holds more than one start of the same training.

What it looks at
    Step numbers that go back, and headers that come again. Another phase or another run in the same file is no
    restart.

Why it matters
    Steps after the checkpoint that was resumed from were done twice.

Example
    Step 106 is followed by step 100: seven steps were lost.

What to change
    Nothing, if it was meant. Save more often where lost work hurts.
"""

from __future__ import annotations

import numpy as np

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.columns.statistics import median
from stepscope.core.message import Seconds, say
from stepscope.run.model import Run
from stepscope.run.repeated import num_repeated

CODE = "restarted"
_MAX_ALARMS = 10
_LEAST_ROWS = 3


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm per restart, at most ten."""
    run = evidence.run
    found: list[Alarm] = []
    steps = run.steps
    typical_s = evidence.ledger.step.typical_s if evidence.ledger.step is not None else None
    for index, segment in enumerate(run.segments):
        if index == 0 or segment.training != run.segments[index - 1].training:
            continue
        if len(found) == _MAX_ALARMS:
            break
        before, after = int(steps.step[segment.first_row - 1]), int(steps.step[segment.first_row])
        lost = num_repeated(run, index)
        message = say(
            "alarm-restarted", before=before, step=after, count=lost, lost=Seconds(lost_seconds(run, index, typical_s))
        )
        found.append(
            Alarm(code=CODE, severity="info", step=after, line=int(steps.line[segment.first_row]), message=message)
        )
    return found


def lost_seconds(run: Run, index: int, typical_s: float | None) -> float:
    """Seconds of the steps before segment `index` that it repeats; unprinted steps count at the level of the others.

    Where too few of these steps are printed for a level, `typical_s` of the whole run is used.
    """
    steps, segment = run.steps, run.segments[index]
    previous = run.segments[index - 1]
    rows = np.arange(previous.first_row, segment.first_row)
    rows = rows[(steps.step[rows] >= steps.step[segment.first_row]) & (steps.span[rows] > 0)]
    if not len(rows):
        return 0.0
    num = int(steps.step[segment.first_row - 1] - steps.step[segment.first_row]) + 1
    silent = max(0, num - int(steps.span[rows].sum()))
    level_s = float(median(steps.dur_ns[rows])) / 1e9
    if len(rows) < _LEAST_ROWS and typical_s is not None:
        level_s = typical_s
    return float(steps.seconds[rows].sum() + silent * level_s)
