"""A wall clock that jumps between two rows of one segment: daylight saving, or a clock that was set back."""

from __future__ import annotations

from stepscope.reading.rows import Row, RowBatch
from stepscope.reading.rules._verdict import RuleSample, Verdict
from stepscope.reading.so_far import SoFar
from stepscope.run.model import NO_TIME

SAMPLES = (
    RuleSample(
        (
            "2026-03-01 10:00:00,000 iter 0: loss 4.1, time 900.00ms, mfu -100.00%",
            "2026-03-01 10:00:20,000 iter 10: loss 3.9, time 2000.11ms, mfu 30.00%",
            "2026-03-01 10:00:40,000 iter 20: loss 3.8, time 2000.42ms, mfu 30.00%",
            "2026-03-01 09:31:00,000 iter 30: loss 3.7, time 1999.98ms, mfu 30.00%",
            "2026-03-01 09:31:20,000 iter 40: loss 3.6, time 2000.10ms, mfu 30.00%",
        ),
        (0, 10, 20, 30, 40),
    ),
)


def judge(row: Row, so_far: SoFar) -> Verdict | None:
    """Correct the timestamp of a row whose steps go on."""
    t = so_far.rows.t
    if row.stamp == NO_TIME or not so_far.is_inside_segment or len(t) - so_far.segments.starts[-1].row <= 1:
        return None
    if NO_TIME in t[-2:]:
        return None
    return row._replace(stamp=so_far.timestamps.settle(row.stamp, t[-1], max(0, t[-1] - t[-2])))


def is_quiet(batch: RowBatch, so_far: SoFar) -> bool:
    """The timestamps go on as they are, or there are none."""
    if batch.placed is None:
        return batch.t_ns is None and not so_far.timestamps.is_new
    return batch.t_ns is not None
