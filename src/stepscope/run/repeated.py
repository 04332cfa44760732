"""Steps that a restart made the run do again, counted in one place for the alarm and for what it cost."""

from __future__ import annotations

from itertools import pairwise

from stepscope.run.model import Run


def num_repeated(run: Run, index: int) -> int:
    """How many steps of the process before segment `index` were done again: at most all that it did."""
    steps, one = run.steps.step, run.segments[index - 1]
    last = int(steps[one.first_row + one.num_rows - 1])
    again = last - int(steps[run.segments[index].first_row]) + 1
    return max(0, min(again, last - int(steps[one.first_row]) + 1))


def restarts(run: Run, end_row: int | None = None) -> list[int]:
    """The segments, by index, that go on with the training of the one before; only those that begin by `end_row`."""
    return [
        index
        for index, (one, following) in enumerate(pairwise(run.segments), start=1)
        if one.training == following.training and (end_row is None or following.first_row <= end_row)
    ]


def again_from(run: Run, end_row: int | None = None) -> dict[int, int]:
    """The step from which on the work of a segment was done again by the next one, by the segment's index."""
    steps = run.steps.step
    return {
        index - 1: int(steps[run.segments[index].first_row])
        for index in restarts(run, end_row)
        if num_repeated(run, index)
    }
