"""The last step printed once more: two writers of one process, or two states of one bar. It counts once."""

from __future__ import annotations

from stepscope.core.units import NS
from stepscope.reading.rows import Row, RowBatch
from stepscope.reading.rules._verdict import MERGE, RuleSample, Verdict
from stepscope.reading.so_far import SoFar

SAMPLES = (
    # The second state of the bar has the loss.
    RuleSample(
        (
            " 10%|#         | 10/100 [00:15<02:15,  1.50s/it]",
            "{'loss': 3.9, 'learning_rate': 1e-04, 'epoch': 0.1}",
            " 20%|##        | 20/100 [00:30<02:00,  1.50s/it]",
            " 20%|##        | 20/100 [00:31<02:04,  1.55s/it, loss=3.8]",
            " 30%|###       | 30/100 [00:45<01:45,  1.50s/it]",
        ),
        (10, 20, 30),
    ),
)

# Two ranks that draw the same bar did not start their clocks in the same second.
_JITTER_NS = 2 * NS - 1


def judge(row: Row, so_far: SoFar) -> Verdict | None:
    """Merge a row with the last one where the step is the same, and the printed time too if it is one step's."""
    if row.step != so_far.last_step or not so_far.is_inside_segment or so_far.segments.is_over:
        return None
    if so_far.is_announced and so_far.clock.is_running and row.figure < so_far.rows.last_figure - _JITTER_NS:
        return None  # the training was over, and the clock went back: another one's
    if so_far.segments.starting and so_far.clock.is_per_window and row.per > 1:
        return None  # a whole pass, and another was announced before it
    is_same_time = so_far.clock.covers != "step" or row.figure == so_far.rows.last_figure
    return MERGE if is_same_time else None


def is_quiet(batch: RowBatch, so_far: SoFar) -> bool:
    """The first step of the batch is beyond the last one."""
    return bool(batch.step[0] > so_far.last_step)
