"""Logs that end before their run does: what is left holds the evaluations that are still to come."""

from __future__ import annotations

import json

import pytest

from tests.unit.logs import report_of


def test_ms_swift_evaluates_after_its_last_step():
    """Of 438 steps with an evaluation every 100, those at 200, 300 and 400 are left, and the one after the last."""
    lines, clock = [], 0.0
    for step in range(10, 181, 10):
        clock += 50
        at = {"global_step/max_steps": f"{step}/438", "elapsed_time": f"{clock // 60:.0f}m {clock % 60:.0f}s"}
        lines.append(json.dumps({"loss": 1.5, "grad_norm": 0.5, **at, "train_speed(iter/s)": 0.2}))
        if step == 100:
            clock += 150
            late = {**at, "elapsed_time": f"{clock // 60:.0f}m {clock % 60:.0f}s"}
            lines.append(json.dumps({"eval_loss": 1.1, "eval_runtime": 150.0, **late}))
    end = report_of(lines).forecast
    assert end.left["evaluation"].num == 4
    assert end.remaining_s == pytest.approx(258 * 5 + 4 * 150, rel=0.05)


def test_the_second_evaluation_of_steps_that_count_from_0_is_not_overdue():
    """The last steps of the first two epochs of 120 are 119 and 239: only one evaluation has been printed then."""
    lines = []
    for epoch in range(2):
        for batch in [*range(0, 120, 10), 119]:
            eta = "0:01:00"
            lines.append(
                f"Epoch: [{epoch}]  [{batch:3d}/120]  eta: {eta}  lr: 0.1  loss: 2.1 (2.2)  time: 0.5000  data: 0.0010"
            )
        lines.append(f"Epoch: [{epoch}] Total time: 0:01:00 (0.5000 s / it)")
        if not epoch:
            lines += [
                "Test:  [ 0/40]  eta: 0:00:20  loss: 1.9 (1.9)  time: 0.5000  data: 0.0010",
                "Test: Total time: 0:00:20 (0.5000 s / it)",
            ]
            lines.append("* Acc@1 40.000 Acc@5 70.000 loss 1.9")
    end = report_of(lines, max_steps=599).forecast
    assert end.left["evaluation"].num >= 3
