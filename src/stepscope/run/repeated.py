"""Steps that a restart made a run do again, counted in one place for the alarm and for what it cost."""

from __future__ import annotations

from stepscope.run.model import Run


def num_repeated(run: Run, index: int) -> int:
    """How many steps of the process before segment `index` were done again: at most all that it did."""
    steps, one = run.steps.step, run.segments[index - 1]
    last = int(steps[one.first_row + one.num_rows - 1])
    again = last - int(steps[run.segments[index].first_row]) + 1
    return max(0, min(again, last - int(steps[one.first_row]) + 1))
