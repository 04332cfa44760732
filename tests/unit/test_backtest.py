"""What would have been said earlier: a cut run is the run of a shorter log, and the score is the log's own."""

from __future__ import annotations

import json

import numpy as np
import pytest

from stepscope.analysis.explain import explain
from stepscope.forecast.backtest import SHARES
from stepscope.i18n import Language
from stepscope.ledger.attribute import attribute
from stepscope.report import json as as_json
from tests.unit.logs import report_of, run_of, training

LINES = training(2000, every=10, evaluate=100, save_ms=300.0, compile_ms=4000.0)


def stamped(lines):
    """The same lines behind the moment each was printed."""
    now, found = 1_700_000_000.0, []
    for line in lines:
        if line.startswith("iter"):
            now += float(line.partition("time ")[2].removesuffix("ms")) / 1000 + 0.9
        found.append(f"{now:.3f} {line}")
    return found


@pytest.mark.parametrize("lines", [LINES, stamped(LINES)], ids=["plain", "stamped"])
@pytest.mark.parametrize("row", [5, 19, 20, 77, 150, 200])
def test_a_cut_run_is_the_run_of_a_shorter_log(lines, row):
    run = run_of(lines)
    cut, short = run.until(row), run_of(lines[: int(run.steps.line[row])])
    assert len(cut) == len(short) == row + 1
    assert cut.segments == short.segments
    assert cut.num_lines == short.num_lines
    assert cut.stamps == short.stamps
    for name in ("step", "line", "t_ns", "val_loss", "segment"):
        assert np.array_equal(getattr(cut.events, name), getattr(short.events, name), equal_nan=True)
    assert attribute(cut).wall_s == pytest.approx(attribute(short).wall_s)
    flags = {"max_steps": 2000}
    assert explain(cut, flags=flags).forecast == explain(short, flags=flags).forecast


def test_each_forecast_is_that_of_the_log_as_it_was():
    report = report_of(LINES)
    assert [one.share for one in report.backtests] == list(SHARES)
    for one in report.backtests:
        short = run_of(LINES[: LINES.index(next_line(one.step)) + 1])
        then = explain(short, flags={"max_steps": 2000}).forecast
        assert (one.remaining_s, one.low_s, one.high_s) == (then.remaining_s, then.low_s, then.high_s)
        assert one.low_s <= one.actual_s <= one.high_s
        assert one.is_inside


def next_line(step):
    return next(line for line in LINES if line.startswith(f"iter {step}:"))


def test_what_happened_is_the_logs_own_time():
    """Steps of 100 ms, evaluations and saves of 2.3 s every 100 steps."""
    for one in report_of(LINES).backtests:
        left = (2000 - one.step) * 0.1 + (2000 // 100 - one.step // 100) * 2.3
        assert one.actual_s == pytest.approx(left, rel=0.01)


def test_a_slowdown_that_nobody_foresaw_is_a_miss():
    slow = training(1000, every=1) + training(2000, first=1001, every=1, step_ms=400.0)
    first = report_of(slow).backtests[0]
    assert first.error < -0.5
    assert not first.is_inside


def test_the_interval_of_evaluations_is_not_known_from_later_lines():
    """At a tenth of the run no evaluation had come yet: its spacing must not be taken from the whole log."""
    lines = [line for line in training(1000, every=1, evaluate=250) if not line.startswith(("step 0", "saving"))]
    one = report_of(lines).backtests[0]
    assert one.step < 250
    assert one.remaining_s < one.actual_s


def test_too_short_a_log_has_none_and_the_document_says_so():
    report = report_of(training(12), max_steps=50)
    assert report.backtests == ()
    assert json.loads(as_json.render(report, Language.load("en")))["backtests"] == []


def test_the_document_holds_them():
    report = report_of(LINES)
    told = json.loads(as_json.render(report, Language.load("en")))["backtests"]
    assert [one["actual_s"] for one in told] == [one.actual_s for one in report.backtests]
    assert [one["inside"] for one in told] == [one.is_inside for one in report.backtests]
