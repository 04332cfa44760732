"""One account of evaluations and checkpoints: the ledger's, used by the forecast, the advice and the JSON document."""

from __future__ import annotations

import dataclasses

import pytest

from stepscope.analysis.explain import explain
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.i18n import Language
from stepscope.lines.format import Clock, Format, Layout, Line
from stepscope.reading.log_reader import LogReader
from stepscope.report.wording.finish import finish_lines
from tests.unit.logs import full, report_of, training

LINES = (
    Line("step", r"turn (?P<step>\d+) of (?P<total>\d+): loss (?P<loss>[\d.]+) in (?P<dur_ms>[\d.]+) ms"),
    Line("evaluation", r"judged after (?P<step>\d+)(?: in (?P<took_s>[\d.]+) s)?"),
    Line("checkpoint", r"stored(?: in (?P<took_s>[\d.]+) s)?"),
)


def made_up(*, includes=()):
    """A format whose evaluations and checkpoints may print their time."""
    clock = Clock(covers="step", includes=tuple(includes), note="made up")
    return Format(
        title="Made up",
        url="https://example.org",
        lines=LINES,
        samples=(),
        clock=clock,
        layout=Layout(first_step=1),
        name="made_up",
    )


def told(lines, fmt, **flags):
    reader = LogReader(paths=["hand.log"], format=fmt)
    reader.begin_file()
    reader.feed(("\n".join(lines) + "\n").encode())
    reader.end_file()
    return explain(reader.run(), flags=flags)


def turns(*, last=400, every=50, step_ms=200.0, evaluation_s=7.0, held_s=0.0, save_s=None, total=1000):
    """A step's time holds `held_s` of the evaluation before it."""
    lines = []
    for step in range(1, last + 1):
        is_due = step % every == 0
        if is_due:
            lines.append(f"judged after {step} in {evaluation_s} s")
            if save_s is not None:
                lines.append(f"stored in {save_s} s")
        took = step_ms + (held_s * 1000 if is_due else 0.0)
        lines.append(f"turn {step} of {total}: loss 2.{step % 10} in {took} ms")
    return lines


def phases(report):
    return {total.phase: total for total in report.ledger.phases}


def test_printed_times_outside_the_clock_make_the_wall_longer():
    report = told(turns(save_s=1.5), made_up())
    found = phases(report)
    assert found["evaluation"].seconds == pytest.approx(8 * 7)
    assert found["evaluation"].basis == "measured"
    assert found["checkpoint"].seconds == pytest.approx(8 * 1.5)
    assert report.ledger.wall_s == pytest.approx(400 * 0.2 + 8 * 8.5)


def test_printed_times_inside_the_clock_are_parts_of_their_row():
    report = told(turns(held_s=7.0), made_up(includes=("evaluation",)))
    assert phases(report)["evaluation"].seconds == pytest.approx(8 * 7, rel=0.02)
    assert report.ledger.wall_s == pytest.approx(400 * 0.2 + 8 * 7)


@pytest.mark.parametrize("includes", [(), ("evaluation", "checkpoint")])
@pytest.mark.parametrize("held_s", [0.0, 7.0])
def test_the_rows_show_whether_the_clock_ran_whatever_is_declared(includes, held_s):
    report = told(turns(held_s=held_s), made_up(includes=includes))
    assert report.ledger.wall_s == pytest.approx(400 * 0.2 + 8 * 7, rel=0.01)
    assert phases(report)["evaluation"].seconds == pytest.approx(8 * 7, rel=0.02)


def test_two_stops_are_too_few_to_overrule_a_declaration():
    report = told(turns(last=120, held_s=0.0), made_up(includes=("evaluation",)))
    assert report.ledger.wall_s == pytest.approx(120 * 0.2)


@pytest.mark.parametrize("held_s", [0.0, 7.0])
def test_forecast_and_ledger_price_an_evaluation_alike(held_s):
    report = told(turns(held_s=held_s), made_up())
    assert isinstance(report.forecast, Forecast)
    left = report.forecast.left["evaluation"]
    assert left.num == 12
    assert left.seconds == pytest.approx(12 * report.ledger.evaluation_price.seconds, rel=0.1)
    assert report.forecast.remaining_s == pytest.approx(600 * 0.2 + 12 * 7, rel=0.05)


def test_without_a_total_the_next_thousand_hold_their_evaluations():
    lines = training(60, evaluate=2, step_ms=900.0, evaluation_ms=19_500.0, saves=False)
    report = report_of(lines)
    assert isinstance(report.forecast, NoForecast)
    ahead = report.forecast.ahead
    assert ahead.num_evaluations == 500
    assert ahead.seconds == pytest.approx(1000 * 0.9 + 500 * 19.5, rel=0.03)
    said = " ".join(finish_lines(report, Language.load("en")))
    assert "500 evaluations" in said


def test_a_phase_with_seconds_has_a_price():
    """One checkpoint, after the last step, timed by nothing but its own line."""
    lines = [*turns(evaluation_s=7.0), "stored in 12.5 s"]
    report = told(lines, made_up())
    assert report.ledger.checkpoint_price.seconds == pytest.approx(12.5)
    assert phases(report)["checkpoint"].seconds == pytest.approx(12.5)


def bars(*, late, took_s=640.0, at=200, last=260):
    """Hugging Face's bar; the result of the evaluation at a step is printed `late` rows after it."""
    lines, clock = [], 0
    for step in range(1, last + 1):
        clock += 7 + (round(took_s) if step == at + 1 else 0)
        minutes, seconds = divmod(clock, 60)
        lines.append(f"  2%|2         | {step}/9000 [{minutes:02d}:{seconds:02d}<15:44:25,  7.00s/it]")
        if step == at + late:
            lines.append(
                f"{{'eval_loss': 0.51, 'eval_runtime': {took_s}, 'eval_samples_per_second': 4.5, 'epoch': 0.05}}"
            )
    return lines


@pytest.mark.parametrize("late", [0, 30, 60])
def test_a_result_that_is_printed_late_is_booked_where_the_time_went(late):
    report = report_of(bars(late=late))
    found = phases(report)
    assert found["evaluation"].seconds == pytest.approx(640, abs=8)
    assert "warmup" not in found
    assert "stall" not in found
    assert report.ledger.wall_s == pytest.approx(260 * 7 + 640)
    assert report.ledger.slow[0].cause == "evaluation"


def test_a_late_result_takes_no_row_of_another_length():
    lines = [line.replace("'eval_runtime': 640.0", "'eval_runtime': 90.0") for line in bars(late=30)]
    report = report_of(lines)
    assert "stall" in phases(report)


def epochs(*, num=30, total=100, took_s=None):
    evaluation = "" if took_s is None else f" in {took_s} s"
    lines = []
    for epoch in range(1, num + 1):
        lines.append(f"judged after {epoch}{evaluation}")
        lines.append(f"turn {epoch} of {total}: loss 1.{epoch % 10} in {60_000 + 10 * (epoch % 3)} ms")
    return lines


def test_a_row_per_epoch_that_also_evaluates_is_the_step():
    report = told(epochs(), made_up(includes=("evaluation",)))
    assert report.ledger.step.typical_s == pytest.approx(60, rel=0.01)
    found = phases(report)
    assert found["step"].seconds == pytest.approx(30 * 60, rel=0.01)
    assert (found["evaluation"].seconds, found["evaluation"].num) == (0, 30)
    assert found["evaluation"].high_s > 1000  # somewhere inside: nothing says how much
    assert isinstance(report.forecast, Forecast)
    assert report.forecast.remaining_s == pytest.approx(70 * 60, rel=0.02)
    assert report.forecast.left["evaluation"].seconds is None


def test_a_printed_evaluation_is_a_part_of_its_epoch():
    report = told(epochs(took_s=12.0), made_up(includes=("evaluation",)))
    found = phases(report)
    assert found["evaluation"].seconds == pytest.approx(30 * 12, rel=0.01)
    assert found["step"].seconds == pytest.approx(30 * 48, rel=0.01)
    assert report.ledger.wall_s == pytest.approx(30 * 60, rel=0.01)
    end = report.forecast
    assert isinstance(end, Forecast)
    assert end.remaining_s == pytest.approx(70 * 60, rel=0.02)
    assert end.left["evaluation"].seconds == pytest.approx(70 * 12, rel=0.02)
    assert end.left["step"].seconds == pytest.approx(70 * 48, rel=0.02)


def test_evaluations_that_nothing_times_are_counted_without_a_figure():
    """The clock stops for them and no line says what they took: the ledger knows that they were, and no more."""
    lines = [line.partition(" in 7")[0] if line.startswith("judged") else line for line in turns()]
    report = told(lines, made_up())
    own = phases(report)["evaluation"]
    assert own.is_unpriced
    assert (own.num, own.seconds, own.low_s, own.high_s) == (8, 0.0, 0.0, 0.0)
    assert [row["is_priced"] for row in report.to_dict()["ledger"] if row["phase"] == "evaluation"] == [False]
    assert "8×, not timed" in full(report)
    assert report.ledger.evaluation_price is None
    assert "evaluation" not in {total.phase for total in report.ledger.timed_phases}


def test_a_printed_wait_for_data_is_no_sign_that_the_clock_holds_the_evaluation():
    """A loader that restarts after each evaluation makes the next row about as slow as the evaluation was."""
    waits = LINES[0]._replace(pattern=LINES[0].pattern + r"(?:, (?P<data_s>[\d.]+) s of it for data)?")
    fmt = made_up(includes=("data",))
    fmt = dataclasses.replace(fmt, lines=(waits, *LINES[1:]))
    lines = [
        line + (", 7.0 s of it for data" if " 7200.0 ms" in line else ", 0.0 s of it for data")
        if line.startswith("turn")
        else line
        for line in turns(held_s=7.0)
    ]
    own = phases(told(lines, fmt))
    assert own["evaluation"].seconds == pytest.approx(8 * 7.0)
    assert own["data"].seconds == pytest.approx(8 * 7.0, rel=0.01)


def test_what_an_evaluation_takes_beyond_its_printed_time_may_be_something_else():
    report = told(turns(held_s=9.0), made_up(includes=("evaluation",)))
    own = phases(report)["evaluation"]
    assert own.low_s == pytest.approx(8 * 7.0, rel=0.02)
    assert own.seconds == pytest.approx(8 * 9.0, rel=0.05)
