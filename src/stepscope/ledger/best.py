"""Where the validation loss was lowest, and what was spent after it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.ledger.phases import Ledger
from stepscope.ledger.timeline import row_ends
from stepscope.run.model import Run

# So much above the lowest, and so many evaluations later, the loss does not come back by chance.
_RISE = 0.01
_LEAST_LATER = 2


class Best(NamedTuple):
    """The evaluation with the lowest validation loss.

    row
        The row that its seconds are in.
    at_s
        When it was over, in seconds since the first line.
    seconds_after, share_after
        From then to the last line, and as a share of the wall time.
    is_past
        Whether the loss has risen since and stays above: what came after made the model worse.
    """

    step: int
    val_loss: float
    row: int
    at_s: float
    seconds_after: float
    share_after: float
    is_past: bool


def find_best(run: Run, ledger: Ledger) -> Best | None:
    """The best evaluation of the last training; None without a validation loss or without times."""
    events = run.events
    last = run.segments[-1].training if run.segments else 0
    training = np.array([segment.training for segment in run.segments], dtype=np.int64)
    own = np.flatnonzero(np.isfinite(events.val_loss))
    if len(own) and len(training):
        own = own[training[np.minimum(events.segment[own], len(training) - 1)] == last]
    if not len(own) or not len(run) or not ledger.wall_s > 0:
        return None
    losses = events.val_loss[own]
    place = int(np.argmin(losses))
    event = int(own[place])
    step = int(events.step[event])
    row = min(int(events.row[event]), len(run) - 1)
    ends = row_ends(run, ledger)
    # The evaluation and the save that follows it come first in the row that contains them.
    at_s = float(ends[row - 1]) if row else 0.0
    for slow in ledger.slow:
        if slow.row == row:
            at_s += sum(part.seconds for part in slow.parts if part.phase in {"evaluation", "checkpoint", "warmup"})
    following = _row_after(run, step, row)
    if following > row or not run.clock.runs_during("evaluation"):
        # It lies between two rows, where timestamps show that time: the next row's own seconds come after it.
        row = following
        at_s = max(at_s, float(ends[row] - run.steps.seconds[row]))
    if int(events.row[event]) >= len(run):
        at_s = float(ends[-1])
    after = min(max(0.0, float(ends[-1]) - at_s), ledger.wall_s)
    later = losses[place + 1 :]
    lowest = float(losses[place])
    is_past = len(later) >= _LEAST_LATER and lowest > 0 and float(later.min()) > lowest
    is_past = is_past and float(later[-_LEAST_LATER:].min()) > lowest * (1 + _RISE)
    if step < 0:
        step = int(run.steps.step[row])
    return Best(step, lowest, row, ledger.wall_s - after, after, after / ledger.wall_s, is_past)


def _row_after(run: Run, step: int, row: int) -> int:
    """The first row after the evaluation at a step."""
    found = (
        stop.next_row if stop.row is None else stop.row for stop in run.stops if stop.evaluated and stop.step == step
    )
    return min(max(row, max(found, default=row)), len(run) - 1)
