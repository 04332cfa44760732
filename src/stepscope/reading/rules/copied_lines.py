"""Lines that were read before: a log that holds the same stretch twice, or a file that repeats another, counts once."""

from __future__ import annotations

from stepscope.reading.rows import Row, RowBatch
from stepscope.reading.rules._verdict import DROP, RuleSample, Verdict
from stepscope.reading.so_far import SoFar
from stepscope.run.model import NO_TIME

_LINES = (
    "iter 0: loss 4.1000, time 900.00ms, mfu -100.00%",
    "iter 10: loss 3.9000, time 170.11ms, mfu 30.00%",
    "iter 20: loss 3.8000, time 170.42ms, mfu 30.00%",
    "iter 30: loss 3.7000, time 169.98ms, mfu 30.00%",
)
SAMPLES = (RuleSample((*_LINES, *_LINES, "iter 40: loss 3.6000, time 170.20ms, mfu 30.00%"), (0, 10, 20, 30, 40)),)


def judge(row: Row, so_far: SoFar) -> Verdict | None:
    """Drop a row that is the same as one read before, and those that go on from there."""
    at, starts = so_far.copied_row, so_far.segments.starts
    if at is None:
        if not starts or row.step > so_far.last_step:
            return None
        # Only where the whole training is repeated does it begin with the training's first row.
        first = starts[-1].training_row
        is_first = so_far.rows.step_of(first) == row.step
        at = first if is_first else so_far.rows.first_from(starts[-1].row, row.step)
    if at < len(so_far.rows) and _is_same(at, row, so_far):
        so_far.copied_row = at + 1
        return DROP
    so_far.copied_row = None
    return None


def is_quiet(batch: RowBatch, so_far: SoFar) -> bool:
    """Nothing is being repeated, and the steps go on."""
    return so_far.copied_row is None and bool(batch.step[0] > so_far.last_step)


def _is_same(at: int, row: Row, so_far: SoFar) -> bool:
    rows = so_far.rows
    if rows.step_of(at) != row.step or rows.figure_of(at) != row.figure:
        return False
    if rows.is_stamped and row.stamp != NO_TIME:
        return rows.stamp_of(at) == row.stamp
    if row.loss is None or rows.loss_of(at) != row.loss:
        return False
    # Without timestamps, only times that are never quite the same show that these are the same lines.
    around = [rows.figure_of(near) for near in range(max(0, at - 1), min(at + 2, len(rows)))]
    return len(set(around)) == len(around) > 1
