"""Which rows begin an epoch.

Trainers that count their lines from the beginning of an epoch print its first step every time and one in `log_interval`
of the others, so the first step is a sample of no other.
"""

from __future__ import annotations

import numpy as np

from stepscope.run.model import Ints, Run


def epoch_starts(run: Run) -> Ints:
    """The rows that hold the first step of an epoch other than the first."""
    epoch, steps = run.settings.count("steps_per_epoch"), run.steps
    if not epoch or epoch < 2:
        return np.array([], dtype=np.int64)
    place = (
        steps.step.astype(np.int64) - run.format.layout.first_step
    )  # counts from 0: the first of an epoch is a multiple
    last, before = np.floor_divide(place, epoch), np.floor_divide(place - steps.span, epoch)
    return np.flatnonzero((last > before) & (place >= epoch) & (steps.span > 0) & (steps.span < epoch))
