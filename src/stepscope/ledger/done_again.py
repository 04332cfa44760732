"""What a restart threw away: the seconds of the iterations that the next process had to do again, and of no stop."""

from __future__ import annotations

import numpy as np

from stepscope.ledger.phases import Ledger
from stepscope.ledger.timeline import levels, silent_steps
from stepscope.run.model import Run
from stepscope.run.repeated import num_repeated


def lost_seconds(run: Run, ledger: Ledger, index: int) -> float:
    """Training seconds of the steps before segment `index` that it did again.

    Unprinted steps count at the level of the run around them, a row that covers steps on both sides by its share.
    """
    steps, before = run.steps, run.segments[index - 1]
    if ledger.step is None or not num_repeated(run, index):
        return 0.0
    rows = slice(before.first_row, before.first_row + before.num_rows)
    silent = silent_steps(run)[rows]
    seconds = steps.seconds[rows].copy()
    for slow in ledger.slow:
        if rows.start <= slow.row < rows.stop:
            seconds[slow.row - rows.start] = sum(part.seconds for part in slow.parts if part.phase == "step")
    seconds = seconds + silent * levels(run, ledger)[rows]
    covered = np.maximum(1, steps.span[rows] + silent)
    redone = np.clip(steps.step[rows] - int(steps.step[run.segments[index].first_row]) + 1, 0, covered)
    return float((seconds * redone / covered).sum())
