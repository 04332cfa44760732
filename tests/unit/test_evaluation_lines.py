"""Evaluations that a step's line holds, and those that print how far they are."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.catalogue import detect
from stepscope.ledger.attribute import attribute
from stepscope.lines.format import Clock, Format, Layout, Line, Sample
from stepscope.reading.log_reader import LogReader
from stepscope.run.model import NO_TIME, Run
from tests.unit.logs import report_of

CLOCK = Clock(covers="step", includes=(), note="For these tests.")
STEP = Line("step", r"step (?P<step>\d+) (?P<dur_s>[\d.]+)s(?: val (?P<val_loss>[\d.]+))?(?: in (?P<took_s>[\d.]+)s)?$")
EVALUATION = Line(
    "evaluation",
    r"val (?:(?P<took_batch>\d+)/(?P<took_batches>\d+) mean (?P<took_mean_s>[\d.]+)|loss (?P<val_loss>\S+))",
)


def _read(text: str, fmt: Format) -> Run:
    reader = LogReader(format=fmt)
    reader.begin_file()
    reader.feed(text.encode())
    reader.end_file()
    return reader.run()


def _format(*lines: Line, follows: bool = False) -> Format:
    return Format(
        title="Toy",
        url="https://example.org",
        lines=lines,
        samples=(Sample("x", None),),
        clock=CLOCK,
        layout=Layout(first_step=1, events_follow_step=follows),
    )


def _seconds(run: Run) -> list[float | None]:
    return [None if took == NO_TIME else took / 1e9 for took in run.events.took_ns.tolist()]


def test_a_step_line_with_a_validation_loss_is_an_evaluation_of_that_row():
    for follows in (False, True):
        run = _read("step 1 2s val 3.5\nstep 2 2s\nstep 3 2s val 3.25 in 1.5s\n", _format(STEP, follows=follows))
        assert run.events.kind == ("evaluation", "evaluation")
        assert run.events.row.tolist() == [0, 2]
        assert run.events.step.tolist() == [1, 3]
        assert run.events.val_loss.tolist() == [3.5, 3.25]
        assert _seconds(run) == [None, 1.5]


def test_a_repeated_step_line_is_no_second_evaluation():
    run = _read("step 1 2s val 3.5\nstep 1 2s val 3.5\nstep 2 2s val 3.25\n", _format(STEP))
    assert run.events.step.tolist() == [1, 2]


def test_the_last_mean_of_an_evaluation_times_its_batches_is_its_time():
    text = "step 1 2s\nval 0/42 mean 0.9\nval 20/42 mean 0.5\nval 40/42 mean 0.4\nval loss 3.5\nstep 2 2s\n"
    run = _read(text, _format(STEP, EVALUATION, follows=True))
    assert _seconds(run) == [16.8]
    assert run.events.row.tolist() == [0]


def test_an_evaluation_that_was_cut_took_the_batches_it_printed():
    run = _read("step 1 2s\nval 0/42 mean 0.9\nval 10/42 mean 0.5\n", _format(STEP, EVALUATION, follows=True))
    assert _seconds(run) == [5.5]


def test_two_evaluations_after_one_step_are_two():
    text = "step 1 2s\nval 0/4 mean 0.5\nval 2/4 mean 0.5\nval 0/4 mean 0.25\nval 2/4 mean 0.25\nstep 2 2s\n"
    run = _read(text, _format(STEP, EVALUATION, follows=True))
    assert _seconds(run) == [2.0, 1.0]


def test_a_mean_rate_since_the_start_is_a_running_clock():
    text = "".join(f"SPS: 100\nglobal_step={step}, episodic_return=1\n" for step in range(1000, 40_001, 1000))
    run = _read(text, detect.load("cleanrl"))
    assert run.steps.step[-1] == 40_000
    assert 0.95 < float(run.steps.dur_ns @ run.steps.span) / 400e9 <= 1


def test_a_clock_from_a_rounded_rate_moves_on_only_by_what_is_certain():
    """The rate goes from 100 to 99 and back: no step took longer because of that."""
    rates = [100 if step % 3 else 99 for step in range(1, 61)]
    text = "".join(f"SPS: {rate}\nglobal_step={1000 * step}, episodic_return=1\n" for step, rate in enumerate(rates, 1))
    run = _read(text, detect.load("cleanrl"))
    own = run.steps.dur_ns[run.steps.span > 0]
    assert own.max() < 1.7 * own.min()


def test_rows_spaced_evenly_over_the_end_of_an_epoch_say_how_long_it_is():
    text = "".join(
        f"(epoch: {1 + at // 469}, iters: {at % 469}, time: 0.1, data: 0.0) G: 1\n" for at in range(100, 2001, 100)
    )
    run = _read(text, detect.load("cyclegan_loss_log"))
    assert run.steps.step.tolist() == list(range(100, 2001, 100))


def test_what_is_drawn_at_every_fourth_printed_row_is_not_multiplied():
    """Of 100 images, one is printed; results are drawn at every 400th, and only there."""
    text = "".join(
        f"(epoch: 1, iters: {at}, time: {8.1 if at % 400 == 0 else 0.1 + at // 100 % 7 / 1000:.3f}, data: 0.0) G: 1\n"
        for at in range(100, 40_001, 100)
    )
    run = _read(text, detect.load("cyclegan_loss_log"))
    assert attribute(run).wall_ns / 1e9 == pytest.approx(40_000 * 0.103 + 100 * 8, rel=0.02)


def test_a_logger_with_dots_before_the_level_is_no_path():
    """`net.train INFO: Validation Results - Epoch: 5`: the first word is the logger's, and the rest says what it is."""
    start, lines = dt.datetime(2024, 5, 1, 10), []
    for epoch in range(1, 41):
        start += dt.timedelta(seconds=40 + epoch % 2)
        lines.append(
            f"{start:%Y-%m-%d %H:%M:%S} net.train INFO: Epoch[{epoch}] done. Loss: {12 / epoch:.3f}, Acc: 0.2%"
        )
        if epoch % 5 == 0:
            start += dt.timedelta(seconds=65)
            lines.append(f"{start:%Y-%m-%d %H:%M:%S} net.train INFO: Validation Results - Epoch: {epoch}")
            lines.append(f"{start:%Y-%m-%d %H:%M:%S} net.train INFO: mAP: {40 + epoch / 9:.1f}%")
    report = report_of(lines)
    assert report.ledger.step.typical_s == pytest.approx(40.5, rel=0.03)
    booked = {total.phase: total.seconds for total in report.ledger.phases}
    assert booked["evaluation"] == pytest.approx(8 * 65, rel=0.05)
