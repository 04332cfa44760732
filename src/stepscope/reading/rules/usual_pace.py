"""A row that goes on at the usual pace: what was announced or ended since the last one was another process."""

from __future__ import annotations

from stepscope.reading.rows import Row, RowBatch
from stepscope.reading.rules._verdict import RuleSample, Verdict
from stepscope.reading.so_far import SoFar
from stepscope.run.model import NO_TIME

SAMPLES = (
    RuleSample(
        (
            "2026-03-01 10:00:00,000 iter 0: loss 4.1, time 900.00ms, mfu -100.00%",
            "2026-03-01 10:00:02,000 iter 10: loss 3.9, time 200.11ms, mfu 30.00%",
            "2026-03-01 10:00:04,000 iter 20: loss 3.8, time 200.42ms, mfu 30.00%",
            "2026-03-01 10:00:05,000 tokens per iteration will be: 32,768",
            "2026-03-01 10:00:06,000 iter 30: loss 3.7, time 199.98ms, mfu 30.00%",
        ),
        (0, 10, 20, 30),
    ),
)


def judge(row: Row, so_far: SoFar) -> Verdict | None:
    """Forget announcements where the row came too soon for a restart; the row itself is for the next rules."""
    if so_far.is_announced and so_far.is_inside_segment and _had_no_time_to_restart(row, so_far):
        so_far.segments.forget_announcements()
    return None


def is_quiet(batch: RowBatch, so_far: SoFar) -> bool:
    """It never drops a row and never begins a segment."""
    del batch, so_far
    return True


def _had_no_time_to_restart(row: Row, so_far: SoFar) -> bool:
    rows, num = so_far.rows, len(so_far.rows)
    if row.step != so_far.last_step + so_far.spacing or num < 2 or not rows.is_stamped:
        return False
    last, before = rows.stamp_of(num - 1), rows.stamp_of(num - 2)
    if NO_TIME in (row.stamp, last, before):
        return False
    return num - so_far.segments.starts[-1].row > 1 and row.stamp - last <= 2 * (last - before)
