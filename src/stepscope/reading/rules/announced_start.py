"""The first row after a line that announces a process, or of the log: it begins a segment, whatever its step."""

from __future__ import annotations

from stepscope.reading.rows import Row, RowBatch
from stepscope.reading.rules._verdict import NEW_PROCESS, RuleSample, Verdict
from stepscope.reading.so_far import SoFar

SAMPLES = (
    RuleSample(
        (
            "iter 0: loss 4.1, time 900.00ms, mfu -100.00%",
            "iter 10: loss 3.9, time 170.11ms, mfu 30.00%",
            "tokens per iteration will be: 32,768",
            "iter 20: loss 3.8, time 950.42ms, mfu -100.00%",
        ),
        (0, 10, 20),
        num_segments=2,
    ),
)


def judge(row: Row, so_far: SoFar) -> Verdict | None:
    """Begin a segment."""
    del row
    return NEW_PROCESS if not so_far.segments.starts or so_far.segments.starting else None


def is_quiet(batch: RowBatch, so_far: SoFar) -> bool:
    """A segment is under way and nothing was announced."""
    del batch
    return bool(so_far.segments.starts) and not so_far.segments.starting
