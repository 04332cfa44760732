"""How often a run prints, evaluates and saves, by its own lines."""

from __future__ import annotations

import pytest

from stepscope.cadence import evaluation_interval
from tests.unit.logs import run_of


def _evaluated(*steps: int, last: int) -> int | None:
    lines = []
    for step in range(last + 1):
        if step in steps:
            lines.append(f"step {step}: train loss 3.1000, val loss 3.2000")
        lines.append(f"iter {step}: loss 3.1000, time {170 + step % 7}.00ms, mfu 30.00%")
    return evaluation_interval(run_of(lines))[0]


@pytest.mark.parametrize(
    ("steps", "last", "every"),
    [
        ((0, 200, 400, 502), 502, 200),  # once more after the last step
        ((0, 200, 400, 600), 600, 200),
        ((0, 200, 400), 450, 200),
        ((0, 100, 150, 200), 220, 50),  # an odd one in the middle is no last one
        ((0, 117, 233, 350, 466), 480, 116),  # epochs of 116.5 steps
    ],
)
def test_the_evaluation_after_the_last_step_is_not_part_of_the_rhythm(
    steps: tuple[int, ...], last: int, every: int
) -> None:
    assert _evaluated(*steps, last=last) == every
