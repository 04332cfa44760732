"""A running clock that begins again while the steps go on: a resumed process, if the clock is a process's."""

from __future__ import annotations

from stepscope.reading.rows import Row, RowBatch
from stepscope.reading.rules._verdict import NEW_CLOCK, RuleSample, Verdict
from stepscope.reading.so_far import SoFar

SAMPLES = (
    RuleSample(
        (
            " 10%|#         | 10/100 [00:15<02:15,  1.50s/it]",
            "{'loss': 3.9, 'learning_rate': 1e-04, 'epoch': 0.1}",
            " 20%|##        | 20/100 [00:30<02:00,  1.50s/it]",
            " 30%|###       | 30/100 [00:14<01:45,  1.40s/it]",
            " 40%|####      | 40/100 [00:29<01:30,  1.50s/it]",
        ),
        (10, 20, 30, 40),
        num_segments=2,
    ),
)


def judge(row: Row, so_far: SoFar) -> Verdict | None:
    """Begin a segment in which the steps go on."""
    return NEW_CLOCK if so_far.clock.restarts_with == "process" and so_far.restarts_clock(row) else None


def is_quiet(batch: RowBatch, so_far: SoFar) -> bool:
    """The clock goes on."""
    return not so_far.clock.is_running or so_far.rows.rises_to(batch.figure)
