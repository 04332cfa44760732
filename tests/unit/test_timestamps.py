"""Stamps of every kind: midnight, New Year, leap days, daylight saving, clocks that are set, zones, other clocks."""

from __future__ import annotations

import datetime as dt
import itertools

import numpy as np
import pytest

from stepscope.analysis.explain import explain
from stepscope.report.json import document
from tests.unit.logs import report_of, run_of


def stamped(start, pattern, *, num=240, every_s=30.0, local=None):
    """One line each half minute; `local` turns the true moment into what the writer's clock shows."""
    lines = []
    for step in range(num):
        moment = start + dt.timedelta(seconds=step * every_s)
        moment = local(moment) if local else moment
        lines.append(f"{moment.strftime(pattern)} iter {step}: loss 3.{step:04d}, time {every_s * 1e3:.2f}ms")
    return lines


def wall_s(lines):
    return explain(run_of(lines)).ledger.wall_s


TRUE_S = 240 * 30.0


def test_midnight():
    assert wall_s(stamped(dt.datetime(2026, 5, 6, 23, 0), "%H:%M:%S")) == pytest.approx(TRUE_S, rel=0.01)


def test_three_midnights():
    lines = stamped(dt.datetime(2026, 5, 6, 23, 0), "[%H:%M:%S]", num=120, every_s=2400)
    assert wall_s(lines) == pytest.approx(120 * 2400, rel=0.01)


@pytest.mark.parametrize("pattern", ["[%m/%d %H:%M:%S]", "%b %d %H:%M:%S"])
def test_new_year_without_a_year(pattern):
    lines = stamped(dt.datetime(2025, 12, 31, 23, 0), pattern)
    assert wall_s(lines) == pytest.approx(TRUE_S, rel=0.01)
    report = explain(run_of(lines), fallback_now=dt.datetime(2026, 3, 1, tzinfo=dt.UTC))
    assert report.moment.replace(tzinfo=None) == dt.datetime(2026, 1, 1, 0, 59, 30)


@pytest.mark.parametrize("year", [2025, 2028])
def test_the_end_of_february_without_a_year(year):
    """2028 is a leap year: there is a 29th in between."""
    lines = stamped(dt.datetime(year, 2, 28, 12, 0), "[%m/%d %H:%M:%S]", num=100, every_s=1800)
    assert wall_s(lines) == pytest.approx(100 * 1800, rel=0.01)


def autumn(moment):
    """Clocks go back at 03:00 summer time."""
    return moment - dt.timedelta(hours=1) if moment >= dt.datetime(2025, 10, 26, 3, 0) else moment


def spring(moment):
    """Clocks go forward at 02:00."""
    return moment + dt.timedelta(hours=1) if moment >= dt.datetime(2026, 3, 29, 2, 0) else moment


@pytest.mark.parametrize(
    ("start", "local"),
    [(dt.datetime(2025, 10, 26, 1, 30), autumn), (dt.datetime(2026, 3, 29, 1, 0), spring)],
)
def test_daylight_saving(start, local):
    lines = stamped(start, "%Y-%m-%d %H:%M:%S", local=local)
    report = explain(run_of(lines))
    assert report.ledger.wall_s == pytest.approx(TRUE_S, rel=0.01)
    assert not report.ledger.slow
    assert report.moment.replace(tzinfo=None) == local(start + dt.timedelta(seconds=239 * 30))
    (clock,) = [clock for clock in document(report)["clocks"] if clock["name"] == "stamps"]
    assert "daylight saving" in clock["note"]


def test_an_hour_on_a_weekday_is_an_hour():
    """No clock changes on a Wednesday noon: something stood still."""
    noon = dt.datetime(2026, 3, 25, 12, 0)
    lines = stamped(
        dt.datetime(2026, 3, 25, 11, 0),
        "%Y-%m-%d %H:%M:%S",
        local=lambda moment: moment + dt.timedelta(hours=1) if moment >= noon else moment,
    )
    assert wall_s(lines) == pytest.approx(TRUE_S + 3600, rel=0.01)


def test_a_clock_that_was_set_back():
    """Twelve minutes, in the middle of the run: the steps went on."""
    then = dt.datetime(2026, 5, 6, 13, 0)
    lines = stamped(
        dt.datetime(2026, 5, 6, 12, 0),
        "%Y-%m-%d %H:%M:%S",
        local=lambda moment: moment - dt.timedelta(minutes=12) if moment >= then else moment,
    )
    assert wall_s(lines) == pytest.approx(TRUE_S, rel=0.01)


def test_an_offset_that_changes_is_no_jump():
    """Daylight saving in stamps with their offset: nothing to guess."""
    lines = []
    for step in range(240):
        true = dt.datetime(2025, 10, 26, 0, 0, tzinfo=dt.UTC) + dt.timedelta(seconds=30 * step)
        offset = dt.timezone(dt.timedelta(hours=2 if step < 120 else 1))
        lines.append(f"{true.astimezone(offset).isoformat()} iter {step}: loss 3.0000, time 30000.00ms")
    report = explain(run_of(lines))
    assert report.ledger.wall_s == pytest.approx(TRUE_S, rel=0.01)
    assert not report.run.clock_steps


def test_lines_of_another_program_by_another_clock():
    """A downloader's lines are in UTC, the trainer's in local time."""
    start = dt.datetime(2026, 5, 6, 12, 0)
    lines = stamped(start, "%Y-%m-%d %H:%M:%S")
    for at in (200, 150, 100, 50):
        other = start - dt.timedelta(hours=2) + dt.timedelta(seconds=30 * at)
        lines.insert(at, f"{other.isoformat()}Z downloading shard {at}")
        lines.insert(at, f"{other.strftime('%H:%M:%S')} worker {at} is up")
    report = explain(run_of(lines))
    assert report.ledger.wall_s == pytest.approx(TRUE_S, rel=0.01)
    assert not report.ledger.slow


def test_a_long_log_in_bulk_gives_the_same():
    """Thousands of lines of one shape across the hour that comes twice."""
    lines = stamped(dt.datetime(2025, 10, 26, 0, 0), "%Y-%m-%d %H:%M:%S", num=4000, every_s=4, local=autumn)
    assert wall_s(lines) == pytest.approx(16_000, rel=0.01)


def test_the_line_with_a_stamp_of_its_own_gives_the_row_its_moment():
    """Several ranks print each step, one of them with a stamp; what stands before may be stamped as well."""
    lines = []
    for number in range(1, 60):
        at = f"2025-05-19 05:{number // 6 + 10:02d}:{number % 6 * 10:02d},000"
        told = f"eta: 1:00:00  iter: {50 * number}  loss: 1.1 (1.2)  mask: 0.4 (0.5)  time: 0.2 (0.2)  data: 0.0 (0.0)"
        if number == 30:
            lines.append("2025-05-19 05:14:53,000 maskrcnn_benchmark.inference INFO: Preparing bbox results")
        lines += [f"INFO:maskrcnn_benchmark.trainer:{told}"] * 2
        lines += [f"{at} maskrcnn_benchmark.trainer INFO: {told}", f"INFO:maskrcnn_benchmark.trainer:{told}"]
    run = run_of(lines)
    assert len(run) == 59
    assert set(np.diff(run.steps.t_ns).tolist()) == {10 * 10**9}


def test_the_timestamps_of_the_steps_count_before_those_of_an_engine_above_them():
    """An engine prints the year, the trainer on it does not: its own timestamps are the clock."""
    from tests.unit.logs import run_of

    engine = (
        "[2026-12-30 23:00:00,100] [INFO] [logging.py:96:log_dist] [Rank 0] step=0, skipped=0, lr=[0.0], mom=[[0.9]]"
    )
    rows = [
        f"[12/30 23:{step // 60:02d}:{step % 60:02d} d2.utils.events]:  eta: 0:10:00  iter: {step}  total_loss: 1.5  "
        "time: 1.0000  data_time: 0.0100  lr: 0.001  max_mem: 900M"
        for step in range(1, 60)
    ]
    run = run_of("\n".join([engine, *rows]) + "\n")
    assert run.format.name == "detectron2"
    assert float(run.steps.dur_ns[10]) == 1e9


def test_a_date_without_a_year_in_a_dated_log_has_the_year_of_the_last_date():
    """The launcher writes its own way: what it says at the end is when the run ended."""
    bars = [f" {n * 5}%|#         | {n}/20 [{n * 2:02d}:30<10:00, 120.00s/it]" for n in range(1, 21)]
    lines = [
        "[INFO|2025-04-01 06:58:05] trainer:12 >> ***** Running training *****",
        "[INFO|2025-04-01 06:59:05] trainer:12 >>   Total optimization steps = 20",
        *bars,
        "{'loss': 1.2, 'grad_norm': 0.4, 'learning_rate': 1e-05, 'epoch': 0.5}",
        "W0401 08:33:18.099000 1398 torch/distributed/elastic/api.py:858] Sending process 31 closing signal SIGTERM",
    ]
    assert report_of(lines).ledger.wall_s == pytest.approx(95 * 60 + 13, abs=2)


def test_a_day_that_no_month_has_shows_that_the_day_comes_first():
    """`12/09/24` reads as December or September, `13/09/24` as September or, year first, as a day of 2013."""
    from stepscope.lines.date_order import DateOrder
    from stepscope.lines.prefix import split_prefix

    order = DateOrder()
    printed = ["12/09/24 23:58:50", "13/09/24 00:02:32", "30/09/24 23:00:00", "01/10/24 01:00:00"]
    prefixes = [split_prefix(f"[{text}] INFO x") for text in printed]
    placed = [order.place(prefix.t_ns, prefix.other_ns) for prefix in prefixes]
    assert [(after - before) // 10**9 for before, after in itertools.pairwise(placed)] == [222, 1551448, 7200]
