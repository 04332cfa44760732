"""A step number that goes back: a new process, with or without a header."""

from __future__ import annotations

from stepscope.reading.rows import Row, RowBatch
from stepscope.reading.rules._verdict import NEW_PROCESS, RuleSample, Verdict
from stepscope.reading.so_far import SoFar

SAMPLES = (
    RuleSample(
        (
            "iter 0: loss 4.1, time 900.00ms, mfu -100.00%",
            "iter 10: loss 3.9, time 170.11ms, mfu 30.00%",
            "iter 20: loss 3.8, time 170.42ms, mfu 30.00%",
            "iter 10: loss 3.7, time 980.00ms, mfu -100.00%",
            "iter 20: loss 3.7, time 171.00ms, mfu 30.00%",
        ),
        (0, 10, 20, 10, 20),
        num_segments=2,
    ),
)


def judge(row: Row, so_far: SoFar) -> Verdict | None:
    """Begin a segment."""
    return NEW_PROCESS if so_far.goes_back(row) else None


def is_quiet(batch: RowBatch, so_far: SoFar) -> bool:
    """The steps go on."""
    return bool(batch.step[0] > so_far.last_step)
