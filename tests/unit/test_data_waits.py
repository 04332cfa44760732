"""Waiting for data that every row prints is a share of the time, and said."""

from __future__ import annotations

import pytest

import stepscope
from tests.unit.logs import full


def said(report):
    return full(report)


def report_of(tmp_path, text):
    path = tmp_path / "pasted.txt"
    path.write_text(text)
    return stepscope.explain(stepscope.read(str(path)))


def epoch_line(batch, seconds, wait, means=None):
    """A row, and in brackets the means so far, those of the row itself unless they are given."""
    mean_s, mean_wait = means or (seconds, wait)
    return (
        f"Epoch: [1][{batch}/2000]\tTime {seconds:.3f} ({mean_s:.3f})\tData {wait:.3f} ({mean_wait:.3f})\t"
        "Loss 0.1000 (0.1000)\tPrec@1 10.000 (10.000)\tPrec@5 10.000 (10.000)\n"
    )


def test_a_printed_wait_is_a_phase(tmp_path):
    report = report_of(tmp_path, "".join(epoch_line(10 * i, 4.0 + 0.01 * (i % 3), 3.4) for i in range(20)))
    shares = {total.phase: total.share for total in report.ledger.phases}
    assert shares["data"] == pytest.approx(0.85, abs=0.02)
    assert sum(total.ns for total in report.ledger.phases) == report.ledger.wall_ns
    assert "loading is the bottleneck" in said(report)
    assert [advice.code for advice in report.advice] == ["A112"]


def test_a_short_wait_is_said_to_be_none_of_the_trouble(tmp_path):
    report = report_of(tmp_path, "".join(epoch_line(10 * i, 4.0 + 0.01 * (i % 3), 0.02) for i in range(20)))
    assert "data loading is not the bottleneck" in said(report)
    assert not report.advice


def test_what_only_the_first_step_waits_is_not_to_come_again(tmp_path):
    rows = [epoch_line(0, 40.0, 39.0)]
    for batch in range(10, 200, 10):
        means = (40.0 + 0.5 * batch) / (batch + 1), (39.0 + 0.001 * batch) / (batch + 1)
        rows.append(epoch_line(batch, 0.5, 0.001, means))
    report = report_of(tmp_path, "".join(rows))
    assert "nearly all of it at iteration 2,000" in said(report)
    assert not report.advice
