"""The steps before the first printed row are steps; only what is beyond them, and beyond noise, is warm-up."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.unit.logs import report_of

START = dt.datetime(2024, 5, 6, 7, 0, 0)


def windows(*, num=19, every=1000, step_s=1.37, first_extra_s=0.0, header=True, wobble=0.0):
    """Rows of a window's mean with timestamps, as mmcv prints them."""
    now, lines = START, []
    if header:
        lines.append(f"{now:%Y-%m-%d %H:%M:%S},000 - mmdet - INFO - workflow: [('train', 1)], max: 4 epochs")
    for index in range(1, num + 1):
        own_s = step_s * (1 + wobble * (-1) ** index) + (first_extra_s / every if index == 1 else 0.0)
        now += dt.timedelta(seconds=own_s * every)
        lines.append(
            f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d} - mmdet - INFO - Epoch [1][{index * every}/40000]\t"
            f"lr: 1.000e-02, eta: 9:09:09, time: {own_s:.4f}, memory: 99, loss: 0.{index + 10}"
        )
    return lines


def phases(report):
    return {total.phase: total for total in report.ledger.phases}


def test_a_constant_log_has_no_warm_up():
    found = phases(report_of(windows()))
    assert "warmup" not in found
    assert found["step"].seconds == pytest.approx(19 * 1370, rel=1e-3)
    assert found["step"].num == 19_000


def test_four_quoted_lines_are_four_windows():
    found = phases(report_of(windows(num=4)))
    assert set(found) == {"step"}
    assert found["step"].num == 4000


def test_only_the_excess_of_the_first_window_is_warm_up():
    found = phases(report_of(windows(every=10, step_s=1.39, first_extra_s=9.2)))
    assert found["warmup"].seconds == pytest.approx(9.2, abs=0.3)
    assert found["step"].seconds == pytest.approx(19 * 13.9, rel=0.01)


def test_noise_in_the_first_window_is_no_warm_up():
    found = phases(report_of(windows(wobble=0.04, first_extra_s=20.0)))
    assert "warmup" not in found


def test_a_pasted_piece_does_not_reach_back_before_its_first_line():
    """Its first row is far beyond one window: the log shows no moment before it."""
    lines = windows(header=False)[8:]
    found = phases(report_of(lines))
    assert "warmup" not in found
    assert found["step"].seconds == pytest.approx(11 * 1370, rel=0.11)


def test_a_first_row_of_one_step_keeps_its_compile_time():
    """Prints step 1, then every tenth: the first row is one step with 30 s of start-up inside."""
    now, lines = START, [f"{START:%Y-%m-%d %H:%M:%S},000 - mmdet - INFO - workflow: [('train', 1)], max: 4 epochs"]
    for step in [1, *range(10, 200, 10)]:
        num, own_s = (1, 31.0) if step == 1 else (9, 1.0) if step == 10 else (10, 1.0)
        now += dt.timedelta(seconds=num * own_s)
        lines.append(
            f"{now:%Y-%m-%d %H:%M:%S},000 - mmdet - INFO - Epoch [1][{step}/40000]\tlr: 1.000e-02, eta: 9:09:09, "
            f"time: {own_s:.4f}, memory: 99, loss: 0.71"
        )
    found = phases(report_of(lines))
    assert found["warmup"].seconds == pytest.approx(30, abs=0.5)
    assert found["step"].num == 190
