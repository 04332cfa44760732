"""Tables whose time column says neither what it covers nor in which unit: the other clocks of the table decide."""

from __future__ import annotations

import json

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.log_reader import LogReader

NOON = 1_700_000_000.0


def read(data: bytes, *, chunk: int = 1 << 21):
    reader = LogReader(paths=["metrics.json"])
    reader.begin_file()
    for start in range(0, len(data), chunk):
        reader.feed(data[start : start + chunk])
    reader.end_file()
    return explain(reader.run())


def rows(num, row):
    return "".join(json.dumps(row(index)) + "\n" for index in range(num)).encode()


@pytest.mark.parametrize("chunk", [1000, 1 << 21])
def test_times_of_steps_that_happen_to_grow(chunk):
    """Three rows fill the first 4 kB, and their times grow; the time left agrees with times of one step."""
    data = rows(
        100,
        lambda index: {
            "eta_seconds": 44.0 * (100 - index),
            "iteration": 20 * index + 19,
            "total_loss": 1.0,
            "time": 2.2 + (0.01 * index if index < 4 else -0.01 * (index % 3)),
            "pad": "x" * 1200,
        },
    )
    report = read(data, chunk=chunk)
    assert report.ledger.step.typical_s == pytest.approx(2.2, rel=0.02)


@pytest.mark.parametrize(
    "figures",
    [
        pytest.param([0.5 * index for index in range(60)], id="running seconds"),
        pytest.param([0.5 * index / 3600 for index in range(60)], id="running hours"),
        pytest.param([0.05] * 60, id="seconds of a step"),
        pytest.param([50.0] * 60, id="milliseconds of a step"),
        pytest.param([0.5] * 60, id="seconds of a row of ten"),
    ],
)
def test_a_column_of_any_kind_next_to_moments(figures):
    data = rows(
        60,
        lambda index: {"step": 10 * index, "loss": 2.0, "wall_time": figures[index], "timestamp": NOON + 0.5 * index},
    )
    assert read(data).ledger.step.typical_s == pytest.approx(0.05, rel=0.02)


def test_hours_next_to_a_clock_with_its_unit():
    lines = ["step,loss,wall_time,elapsed_s", *(f"{50 * i},2.0,{i * 0.085:.6f},{i * 306.0:.1f}" for i in range(40))]
    report = read("\n".join(lines).encode())
    assert report.ledger.step.typical_s == pytest.approx(6.12, rel=0.02)


@pytest.mark.parametrize("chunk", [4096, 1 << 21])
def test_rows_longer_than_any_buffer(chunk):
    data = rows(6, lambda index: {"note": "y" * 100_000, "step": index, "dt": 0.25, "loss": 1.5})
    report = read(data, chunk=chunk)
    assert len(report.run) == 6
    assert report.ledger.step.typical_s == pytest.approx(0.25)


def test_figures_with_their_spread():
    """A row per tick; each figure is an object of its number, mean and standard deviation."""

    def figure(value):
        return {"num": 1, "mean": value, "std": 0.0}

    data = rows(
        30,
        lambda index: {
            "Loss/D/real": {"num": 6400, "mean": 0.5, "std": 0.1},
            "Progress/tick": figure(float(index)),
            "Timing/total_sec": figure(40.0 * index + 60.0),
            "Timing/sec_per_tick": figure(39.0),
            "timestamp": NOON + 40.0 * index,
        },
    )
    report = read(data)
    assert (int(report.run.steps.step[-1]), len(report.run)) == (29, 30)
    assert report.ledger.step.typical_s == pytest.approx(39.5, rel=0.03)


def test_nested_rows():
    data = rows(40, lambda index: {"train": {"loss": 1.0, "time": {"step": 2.0}}, "step": index, "step_time": 2.0})
    assert read(data).ledger.step.typical_s == pytest.approx(2.0)


def test_a_running_clock_that_begins_again():
    data = rows(100, lambda index: {"step": index % 60, "time": 3.0 * (index % 60) + 1})
    report = read(data)
    assert report.ledger.step.typical_s == pytest.approx(3.0, rel=0.02)


def test_a_start_up_that_only_the_running_clock_knows_of():
    data = rows(
        8,
        lambda index: {
            "tick": index,
            "total_sec": 27.0 + 36.0 * (index + 1),
            "sec_per_tick": 36.0,
            "timestamp": NOON + 36.0 * index,
        },
    )
    report = read(data)
    assert report.ledger.wall_s == pytest.approx(27 + 8 * 36, rel=0.02)
    assert report.ledger.step.typical_s == pytest.approx(36, rel=0.02)
