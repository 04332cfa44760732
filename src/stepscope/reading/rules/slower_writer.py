"""Two writers by one running clock: the rows of the slower one, whose clock goes on while its steps go back."""

from __future__ import annotations

from stepscope.core.units import NS
from stepscope.reading.rows import Row, RowBatch
from stepscope.reading.rules._verdict import DROP, RuleSample, Verdict
from stepscope.reading.so_far import SoFar
from stepscope.run.model import NO_TIME

# Stamps and clocks are rounded.
_SOON_NS = 2 * NS

SAMPLES = (
    RuleSample(
        (
            "step:0/100 train_loss:10.80 train_time:1ms step_avg:nanms",
            "step:10/100 train_loss:9.80 train_time:1500ms step_avg:150.00ms",
            "step:20/100 train_loss:8.80 train_time:3000ms step_avg:150.00ms",
            "step:10/100 train_loss:9.70 train_time:3100ms step_avg:310.00ms",
            "step:30/100 train_loss:7.80 train_time:4500ms step_avg:150.00ms",
        ),
        (0, 10, 20, 30),
    ),
)


def judge(row: Row, so_far: SoFar) -> Verdict | None:
    """Drop a row that goes back while its clock does not: a resumed process would begin its clock again."""
    if not so_far.clock.is_running or not so_far.goes_back(row) or not so_far.is_timed_by_running_clock(row):
        return None
    return None if so_far.restarts_clock(row) or _began_later(row, so_far) else DROP


def _began_later(row: Row, so_far: SoFar) -> bool:
    """Whether the clock of a row began, by its timestamp, after the last row was printed: then it is no other's."""
    rows = so_far.rows
    last = rows.stamp_of(len(rows) - 1) if rows.is_stamped and row.stamp != NO_TIME else NO_TIME
    return last != NO_TIME and row.figure is not None and row.stamp - row.figure > last + _SOON_NS


def is_quiet(batch: RowBatch, so_far: SoFar) -> bool:
    """The clock goes on."""
    return not so_far.clock.is_running or so_far.rows.rises_to(batch.figure)
