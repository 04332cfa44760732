"""What a restart threw away: the seconds of the iterations that the next process had to do again, and of no stop."""

from __future__ import annotations

import numpy as np

from stepscope.ledger.phases import Ledger
from stepscope.ledger.timeline import levels, silent_steps
from stepscope.run.model import Floats, Run


def lost_seconds(run: Run, ledger: Ledger) -> Floats:
    """By segment, the training seconds of the steps before it that it did again; all of them in one pass.

    Unprinted steps count at the level of the run around them, a row that covers steps on both sides by its share.
    """
    steps, num = run.steps, len(run.segments)
    lost = np.zeros(num)
    if ledger.step is None or num < 2:
        return lost
    silent = silent_steps(run)
    seconds = steps.seconds.copy()
    for slow in ledger.slow:
        seconds[slow.row] = sum(part.seconds for part in slow.parts if part.phase == "step")
    seconds = seconds + silent * levels(run, ledger)
    covered = np.maximum(1, steps.span + silent)
    before = steps.segment < num - 1  # rows that another process comes after
    begins = steps.step[steps.first_rows[steps.segment[before] + 1]]
    redone = np.clip(steps.step[before] - begins + 1, 0, covered[before])
    lost[1:] = np.bincount(steps.segment[before], seconds[before] * redone / covered[before], minlength=num - 1)
    return lost
