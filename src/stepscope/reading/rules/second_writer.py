"""Rows of a second process that writes into the same file without a tag: they are put aside and count for no step."""

from __future__ import annotations

from stepscope.reading.rows import Row, RowBatch
from stepscope.reading.rules._verdict import DROP, RuleSample, Verdict
from stepscope.reading.so_far import SoFar
from stepscope.run.model import NO_TIME

# A stretch of rows that may yet turn out to be another writer's is never longer than this.
_MAX_DOUBTFUL_ROWS = 64

SAMPLES = (
    # The same step with another time.
    RuleSample(
        (
            "iter 0: loss 4.1, time 900.00ms, mfu -100.00%",
            "iter 0: loss 4.1, time 902.00ms, mfu -100.00%",
            "iter 10: loss 3.9, time 170.11ms, mfu 30.00%",
            "iter 10: loss 3.9, time 171.30ms, mfu 30.00%",
            "iter 20: loss 3.8, time 170.42ms, mfu 30.00%",
            "iter 20: loss 3.8, time 171.50ms, mfu 30.00%",
        ),
        (0, 10, 20),
    ),
    # A run that is further on goes on after a few rows of one that began later.
    RuleSample(
        (
            "iter 500: loss 3.1, time 170.20ms, mfu 30.00%",
            "iter 510: loss 3.1, time 170.11ms, mfu 30.00%",
            "iter 0: loss 4.1, time 171.00ms, mfu -100.00%",
            "iter 520: loss 3.0, time 170.42ms, mfu 30.00%",
            "iter 10: loss 3.9, time 171.50ms, mfu 30.00%",
            "iter 530: loss 3.0, time 170.30ms, mfu 30.00%",
        ),
        (500, 510, 520, 530),
    ),
)


def judge(row: Row, so_far: SoFar) -> Verdict | None:
    """Put a row aside that goes on where a second writer left off."""
    writers, last = so_far.writers, so_far.last_step
    is_suspected = row.step > last and _goes_on_from_before(row, so_far)
    if writers.other is None and row.step != last and not is_suspected:
        return None
    if not so_far.segments.starts or so_far.is_announced or so_far.is_timed_by_running_clock(row):
        return None
    if writers.other is not None:
        if not writers.is_others(row.step, last, so_far.spacing):
            return None
        writers.add_other(row.step, row.figure, row.stamp)
        return DROP
    if row.step == last and so_far.clock.covers == "step":
        # The same step with another time, and nothing between that speaks of an end.
        writers.open_other([row.step], [row.figure], [row.stamp])
        return DROP
    if is_suspected and _shows_interleaving(row, so_far):
        _put_segment_aside(so_far)
    return None


def is_quiet(batch: RowBatch, so_far: SoFar) -> bool:
    """There is no second writer, known or suspected, and the steps go on."""
    is_alone = so_far.writers.other is None and so_far.doubtful is None
    return is_alone and bool(batch.step[0] > so_far.last_step)


def _goes_on_from_before(row: Row, so_far: SoFar) -> bool:
    """Whether a row goes on where the run was before a segment that no line announced."""
    if so_far.doubtful is None:
        return False
    before, spacing = so_far.doubtful
    return row.step == before + spacing


def _shows_interleaving(row: Row, so_far: SoFar) -> bool:
    """Whether it does not go on where the segment is, which is short: the run seemed to have left for good."""
    num_rows = len(so_far.rows) - so_far.segments.starts[-1].row
    return num_rows <= _MAX_DOUBTFUL_ROWS and row.step != so_far.last_step + so_far.spacing


def _put_segment_aside(so_far: SoFar) -> None:
    """The rows of the doubtful segment were the second writer's: the only rows that are ever taken back."""
    rows, first = so_far.rows, so_far.segments.starts[-1].row
    stamps = rows.t[first:].tolist() or [NO_TIME] * (len(rows) - first)
    so_far.writers.open_other(rows.step[first:].tolist(), rows.figure[first:].tolist(), stamps)
    so_far.drop_segment()
    so_far.doubtful = None
