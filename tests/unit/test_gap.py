"""One long pause between normal lines is a gap by stamps, and unexplained where a step's own time holds it."""

from __future__ import annotations

import datetime as dt

from tests.unit.logs import report_of, training


def stamped(num, *, pause_s=0.0):
    """A detectron2 log of a line every twenty iterations, 10 s apart, with a pause in the middle."""
    now, lines = dt.datetime(2026, 1, 5, 8, 0, 0), []
    for index in range(1, num + 1):
        now += dt.timedelta(seconds=10 + (pause_s if index == num // 2 else 0))
        lines.append(
            f"[{now:%m/%d %H:%M:%S} d2.utils.events]:  eta: 1:00:00  iter: {20 * index - 1}  total_loss: 1.2  "
            f"time: 0.5000  data_time: 0.0050  lr: 0.0010  max_mem: 4000M"
        )
    return lines


def seconds(report, phase):
    return sum(total.seconds for total in report.ledger.phases if total.phase == phase)


def test_a_pause_between_stamps_is_a_gap():
    report = report_of(stamped(60, pause_s=7200))
    assert abs(seconds(report, "gap") - 7200) < 60
    assert seconds(report, "stall") < 60


def test_a_long_step_stays_unexplained():
    lines = training(600, every=10)
    lines[30] = lines[30].replace("time 100.00", "time 7200000.00")
    report = report_of(lines)
    assert seconds(report, "stall") > 7000
    assert seconds(report, "gap") == 0
