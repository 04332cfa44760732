"""A machine that was suspended: seconds of a gap, not of a stall."""

from __future__ import annotations

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read
from stepscope.source.trace_file import read_suspends

recorder = pytest.importorskip("stepscope.live.recorder", reason="pseudo-terminals are POSIX")
START = 1_780_000_000.0


def recorded(folder, sleep_s: float = 0.0, *, is_known: bool = True):
    """A recording of 200 steps of a second, with a sleep before step 120."""
    folder.mkdir()
    now, offset, log, stamps = START, 0, [], []
    for step in range(200):
        slept = sleep_s if step == 120 else 0.0
        now += 1.0 + slept
        line = f"iter {step}: loss 3.0000, time {1000 * (1 + slept):.2f}ms\n"
        offset += len(line)
        log.append(line)
        stamps.append(f"{offset}\t{now:.6f}\t{now - START:.6f}\n")
        if slept and is_known:
            (folder / "suspends.tsv").write_text(f"{now - 0.5:.6f}\t{slept:.6f}\n")
    (folder / "log.txt").write_text("".join(log))
    (folder / "stamps.tsv").write_text("".join(stamps))
    return explain(read(str(folder)), flags={"max_steps": 1000})


def test_a_sleep_is_a_gap_and_no_stall(tmp_path):
    report = recorded(tmp_path / "r", 7200.0)
    phases = {total.phase: total for total in report.ledger.phases}
    assert phases["gap"].seconds == pytest.approx(7200, abs=0.01)
    assert phases["gap"].basis == "measured"
    assert "stall" not in phases or phases["stall"].seconds < 1
    assert not {alarm.code for alarm in report.alarms} & {"stall", "slowdown"}
    assert sum(total.ns for total in report.ledger.phases) == report.ledger.wall_ns
    (slow,) = [slow for slow in report.ledger.slow if slow.step == 120]
    assert slow.cause == "interruption"


def test_without_the_recorders_word_it_is_a_stall(tmp_path):
    """The stamps alone cannot tell a lid that was closed from a disk that hung."""
    report = recorded(tmp_path / "r", 7200.0, is_known=False)
    assert "stall" in {alarm.code for alarm in report.alarms}


def test_the_recorder_notices_a_sleep():
    asleep = [10.0, 10.0, 10.001, 95.5, 95.5]
    sleeps = recorder.Sleeps(lambda: asleep.pop(0))
    assert [sleeps.last_s() for _ in range(4)] == [None, None, pytest.approx(85.499), None]


def test_a_clock_that_is_set_is_no_sleep_where_a_clock_counts_sleep(monkeypatch):
    sleeps = recorder.Sleeps()
    monkeypatch.setattr(recorder.time, "time", lambda: START + 3600)
    assert (sleeps.last_s() is None) == hasattr(recorder.time, "CLOCK_BOOTTIME")


def test_a_torn_file_of_sleeps_is_read_as_far_as_it_goes(tmp_path):
    (tmp_path / "suspends.tsv").write_bytes(b"1780000000.0\t5.0\nx\t3\n1780000100.0\tnan\n17800")
    (found,) = read_suspends(tmp_path).values()
    assert found.shape == (1, 2)
    assert read_suspends(tmp_path / "no" / "log.txt") == {}
