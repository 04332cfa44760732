"""Timestamps that go back: set clocks, parts in the wrong order, lines out of place; recordings know better."""

from __future__ import annotations

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read
from stepscope.report.json import document
from tests.consistency import breaches
from tests.unit.logs import run_of

START = 1_760_000_000


def lines_of(moments, *, steps=None):
    numbers = steps or range(len(moments))
    return [
        f"{moment:.3f} iter {step}: loss 3.0, time 10000.00ms" for moment, step in zip(moments, numbers, strict=True)
    ]


def check_of(report, code):
    (found,) = [check for check in report.reading.checks if check.code == code]
    return found


@pytest.mark.parametrize("by_s", [30, 90, 3600, 86_400 * 365 * 20])
def test_the_steps_go_on_while_the_clock_is_set_back(by_s):
    moments = [START + 10.0 * i - (by_s if i >= 60 else 0) for i in range(120)]
    report = explain(run_of(lines_of(moments)))
    ledger = report.ledger
    assert ledger.wall_s == pytest.approx(1200, rel=0.01)
    assert ledger.wall_low_s < ledger.wall_s < ledger.wall_high_s
    assert check_of(report, "R13").verdict == "disagrees"
    assert not breaches(report)
    # The clock that people have now is the one that was set.
    assert report.moment.timestamp() == pytest.approx(moments[-1], abs=0.01)


def test_a_restart_after_the_clock_was_set_back():
    """What passed before the new process's first line is unknown: the range is open upwards."""
    moments = [START + 10.0 * i for i in range(60)] + [START - 4000 + 10.0 * i for i in range(60)]
    steps = [*range(60), *range(40, 100)]
    report = explain(run_of(lines_of(moments, steps=steps)))
    assert report.ledger.wall_s == pytest.approx(1200, rel=0.02)
    assert report.ledger.wall_high_s > 1.9 * report.ledger.wall_s
    assert not breaches(report)
    assert document(report)["wall_low_s"] > 1100


@pytest.mark.parametrize("late_s", [-25.0, 25.0, 4000.0])
def test_one_line_out_of_place_is_no_clock_that_was_set(late_s):
    moments = [START + 10.0 * i + (late_s if i == 60 else 0.0) for i in range(120)]
    report = explain(run_of(lines_of(moments)))
    assert report.ledger.wall_s == pytest.approx(1200, rel=0.01)
    assert not report.run.clock_steps
    assert not breaches(report)


def test_lines_of_several_machines_are_out_of_order_and_no_clock_was_set():
    moments = [START + 10.0 * i - (14.0 if i % 3 == 1 else 0.0) for i in range(120)]
    report = explain(run_of(lines_of(moments)))
    assert report.ledger.wall_s == pytest.approx(1200, rel=0.02)
    assert not report.run.clock_steps


def test_an_evaluation_is_measured_on_the_clock_that_its_line_has():
    lines, now = [], float(START)
    for step in range(120):
        now += 10.0
        if step == 60:
            now += 45.0 - 7200.0
            lines.append(f"{now:.3f} step 60: train loss 3.0, val loss 3.1")
        lines.append(f"{now:.3f} iter {step}: loss 3.0, time {55_000 if step == 60 else 10_000}.00ms")
    report = explain(run_of(lines))
    assert report.ledger.wall_s == pytest.approx(1245, rel=0.05)
    assert not breaches(report)


def recording(folder, arrivals, *, sleeps=()):
    """A folder as `stepscope run` leaves it: 10 s steps whose lines arrive at (wall, monotonic)."""
    upto, text, stamps = 0, "", ""
    for step, (wall, steady) in enumerate(arrivals):
        line = f"iter {step}: loss 3.0, time 10000.00ms\n"
        upto += len(line)
        text += line
        stamps += f"{upto}\t{wall:.6f}\t{steady:.6f}\n"
    (folder / "log.txt").write_text(text)
    (folder / "stamps.tsv").write_text(stamps)
    if sleeps:
        (folder / "suspends.tsv").write_text("".join(f"{end:.6f}\t{slept:.6f}\n" for end, slept in sleeps))
    return explain(read(str(folder)))


@pytest.mark.parametrize("by_s", [-3600.0, -30.0, -2.0, 2.0, 30.0, 3600.0])
def test_a_recording_goes_by_the_clock_that_nobody_sets(tmp_path, by_s):
    arrivals = [(START + 10.0 * i + (by_s if i >= 60 else 0.0), 500.0 + 10.0 * i) for i in range(120)]
    report = recording(tmp_path, arrivals)
    assert report.ledger.wall_s == pytest.approx(1200, rel=0.001)
    assert report.ledger.seconds("unlogged") == 0
    assert not report.run.clock_steps
    assert report.moment.timestamp() == pytest.approx(arrivals[-1][0], abs=0.01)


def test_a_machine_that_slept_was_not_set(tmp_path):
    """The monotonic clock stops in suspend; the recording has the sleep."""
    arrivals = [(START + 10.0 * i + (500.0 if i >= 60 else 0.0), 500.0 + 10.0 * i) for i in range(120)]
    slept = recording(tmp_path, arrivals, sleeps=[(START + 1095.0, 500.0)])
    assert slept.ledger.wall_s == pytest.approx(1700, rel=0.01)


def test_a_damaged_record_costs_its_own_line_only(tmp_path):
    arrivals = [(START + 10.0 * i, 500.0 + 10.0 * i) for i in range(120)]
    recording(tmp_path, arrivals)
    stamps = tmp_path / "stamps.tsv"
    records = stamps.read_text().splitlines()
    records[50] = "9" * 40 + "\tnan\t1"
    records[51] = str(1 << 62) + "\t1760000000.0\t900.0"
    stamps.write_text("\n".join(records) + "\n")
    assert explain(read(str(tmp_path))).ledger.wall_s == pytest.approx(1200, rel=0.02)


def test_steps_further_apart_than_two_to_the_31st(tmp_path):
    for name, text in {
        "stamp.csv": "step,timestamp\n" + "".join(f"{3_000_000_000 * i},{START + 60 * i}\n" for i in range(40)),
        "elapsed.csv": "step,elapsed\n" + "".join(f"{3_000_000_000 * i},{60 * i}\n" for i in range(1, 41)),
    }.items():
        path = tmp_path / name
        path.write_text(text)
        report = explain(read(str(path)))
        assert report.ledger.wall_s == pytest.approx(2340, rel=0.05)
        assert not breaches(report)


def test_a_line_of_another_process_that_comes_late_sets_no_clock():
    """Ray's workers: what one printed while saving is written two steps later, a little before what another printed."""
    lines = ["2025-05-01 08:00:00,000 loss function: policy gradient", "  0%|          | 0/9000 [00:00<?, ?it/s]"]
    for n in range(1, 41):
        at, left = f"{n * 60 // 3600}:{n % 60:02}:00", "149:00:00"
        lines.append(f"Training: {n // 90:3}%|          | {n}/9000 [{at}<{left}, 60.00s/it]")
        lines.append(f"step {n} loss: {3 - n / 50}")
        if n == 20:
            lines.append("2025-05-01 08:20:04,500 worker 0: Saved model to out/step_20")
        if n == 22:
            lines.append("2025-05-01 08:20:02,000 worker 1: Saved model to out/step_20")
    report = explain(run_of(lines))
    assert not report.run.clock_steps
    assert report.ledger.wall_s == pytest.approx(2400, rel=0.02)
