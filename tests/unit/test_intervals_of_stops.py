"""How often a run prints, evaluates and saves, by its own lines."""

from __future__ import annotations

import pytest

from stepscope.run.intervals import evaluation_interval
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


def test_evaluations_known_to_the_printed_line_alone_have_one_interval():
    """Every 1,222 steps, told between lines of every 50th: 1,200 or 1,250 apart, and never the 50 that divides both."""
    lines, at = [], 0
    for step in range(50, 20_001, 50):
        at += 10
        if step // 1222 > (step - 50) // 1222:
            at += 8
            stamp = f"2025-05-19 {5 + at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d},000"
            lines.append(f"{stamp} maskrcnn_benchmark.inference INFO: Total inference time: 0:00:08.0 (0.1 s / img)")
        stamp = f"2025-05-19 {5 + at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d},000"
        lines.append(
            f"{stamp} maskrcnn_benchmark.trainer INFO: eta: 1:00:00  iter: {step}  loss: 1.1 (1.2)  "
            "mask: 0.4 (0.5)  time: 0.2 (0.2)  data: 0.0 (0.0)"
        )
    assert evaluation_interval(run_of(lines))[0] == pytest.approx(1222, abs=5)
