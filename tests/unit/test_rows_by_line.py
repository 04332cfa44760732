"""Events belong to rows by their lines, also where rows are held back or taken back."""

from __future__ import annotations

import numpy as np

from stepscope.reading.rows import Row, RowStore
from tests.unit.logs import run_of

LINES = [
    "1: iter 0: loss 4.1, time 900.00ms, mfu -100.00%",
    "2: step 10: train loss 3.9, val loss 3.9",
    "3: iter 10: loss 3.9, time 2170.11ms, mfu 30.00%",
    "4: iter 20: loss 3.8, time 170.42ms, mfu 30.00%",
]


def test_an_event_between_numbered_lines_belongs_to_the_row_after_it():
    """The numbers may be ranks until there are enough of them, and so the rows are held back meanwhile."""
    run = run_of(LINES)
    assert run.steps.step.tolist() == [0, 10, 20]
    assert run.events.row.tolist() == [1]


def test_rows_that_were_held_back_are_counted_by_their_lines():
    rows = RowStore()
    for step, line in ((1, 2), (2, 3), (3, 6), (4, 8), (0, 1), (5, 5)):
        rows.append(Row(step, 1, None, None, per=0, line=line, stamp=0))
    assert rows.rows_before(np.array([0, 1, 4, 7, 9])).tolist() == [0, 1, 3, 5, 6]
