"""The moment that a finish is counted from: the last timestamp, and everything that was printed after it."""

from __future__ import annotations

import datetime as dt
import os

import pytest

from stepscope.analysis.explain import explain
from stepscope.i18n import Language
from stepscope.reading.reader import read
from stepscope.report.json import document
from stepscope.report.wording.finish import from_text
from tests.unit.logs import run_of

HEADER = "2025-03-04 02:40:18,521 - loop.common - INFO - world size: 8"
STEPS = [f"iter {step}: loss 2.9, time 1800.00ms" for step in range(2000)]
START = dt.datetime(2025, 3, 4, 2, 40, 18, 521000)


def test_unstamped_steps_after_the_last_timestamp_count():
    report = explain(run_of([HEADER, "max_iters = 4000", *STEPS]))
    assert report.moment_from == "stamp"
    assert report.last_moment.plus_s == pytest.approx(3600, rel=0.01)
    late = report.moment.replace(tzinfo=None) - START
    assert late.total_seconds() == pytest.approx(3600, rel=0.01)
    found = document(report)["forecast"]
    assert found["now_plus_s"] == report.last_moment.plus_s
    assert "plus 1 h of iterations printed after it" in from_text(report, Language.load("en"))


def test_a_timestamp_in_the_middle():
    """A downloader speaks up once: only what comes after it is added."""
    lines = [HEADER, *STEPS[:1500], "2025-03-04 03:25:30,000 - loop.common - INFO - saved", *STEPS[1500:]]
    report = explain(run_of(lines))
    assert report.last_moment.plus_s == pytest.approx(900, rel=0.01)


def test_stamped_steps_need_nothing_added():
    lines = [
        f"{START + dt.timedelta(seconds=1.8 * step):%Y-%m-%d %H:%M:%S} {line}" for step, line in enumerate(STEPS[:300])
    ]
    report = explain(run_of([*lines, "a last word without a time"]))
    assert report.last_moment.plus_s == 0
    assert from_text(report, Language.load("en")).endswith("the last timestamp in the log.")


@pytest.mark.parametrize(("late_s", "source"), [(60, "mtime"), (86_400, "stamp"), (-3000, "stamp")])
def test_the_files_time_where_it_confirms_the_estimate(tmp_path, late_s, source):
    path = tmp_path / "train.log"
    path.write_text("\n".join([HEADER, *STEPS]) + "\n")
    written = (START + dt.timedelta(seconds=3600 + late_s)).timestamp()
    os.utime(path, (written, written))
    report = explain(read(str(path)))
    assert report.moment_from == source
    if source == "mtime":
        assert report.moment.timestamp() == pytest.approx(written)


@pytest.mark.parametrize(("pattern", "assumed"), [("[%b %d, %H:%M:%S]", "year"), ("[%H:%M:%S]", "day")])
def test_what_a_timestamp_does_not_print_is_said_to_be_assumed(pattern, assumed):
    lines = [
        f"{(START + dt.timedelta(seconds=1.8 * step)).strftime(pattern)} {line}"
        for step, line in enumerate(STEPS[:300])
    ]
    report = explain(run_of(lines), fallback_now=dt.datetime(2025, 6, 1, tzinfo=dt.UTC))
    assert report.last_moment.assumed == assumed
    assert "assumed from the file" in from_text(report, Language.load("en"))


def test_no_clock_runs_backwards():
    """Two programs print headers by clocks that are hours apart; the total is not negative."""
    header = ["2025-03-04 20:00:00 launcher: node 7", "2025-03-04 12:00:05 - loop - INFO - ready"]
    report = explain(run_of([*header, *STEPS[:300]]))
    assert report.ledger.wall_s == pytest.approx(540, rel=0.01)
    assert all(clock.seconds >= 0 for clock in report.clocks)
