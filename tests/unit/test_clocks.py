"""Several clocks in one log: coarse ones, ones that stop, ones that contradict each other; all lines invented."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.report.json import document
from tests.unit.logs import report_of

START = dt.datetime(2026, 3, 4, 5, 6, 7)


def moment(seconds, *, decimals=0):
    then = START + dt.timedelta(seconds=seconds)
    return then.strftime("%Y-%m-%d %H:%M:%S") + (f",{then.microsecond // 1000:03d}" if decimals else "")


def torchtitan(last, *, step_s, every=1, decimals=0):
    return [
        f"[titan] {moment(step * step_s, decimals=decimals)} - root - INFO - step: {step:2d}  loss:  2.{step:05d}  "
        f"grad_norm:  0.1  memory: 13.37GiB(42.62%)  tps: 231  tflops: 1.00  mfu: 6.15%"
        for step in range(every, last + 1, every)
    ]


def test_a_clock_of_whole_seconds_does_not_round_the_step():
    """Ten steps of 0.137 s are one or two whole seconds; over many rows they are 1.37."""
    report = report_of(torchtitan(4000, step_s=0.137, every=10), max_steps=8000)
    assert report.ledger.step.typical_s == pytest.approx(0.137, rel=0.02)
    assert report.forecast.remaining_s == pytest.approx(4000 * 0.137, rel=0.03)
    assert not report.ledger.slow
    assert not report.alarms


def test_a_stall_shows_through_whole_seconds():
    lines = torchtitan(4000, step_s=0.137, every=10)
    later = [
        f"[titan] {moment(step * 0.137 + 90)} - root - INFO - step: {step}  loss:  2.10000  grad_norm:  0.1  "
        f"memory: 13.37GiB(42.62%)  tps: 231  tflops: 1.00  mfu: 6.15%"
        for step in range(4010, 5001, 10)
    ]
    report = report_of([*lines, *later])
    (slow,) = report.ledger.slow
    assert (slow.step, slow.seconds) == (4010, pytest.approx(91.4, abs=1.5))


def mmengine(epochs, *, batches=50, every=10, step_s=0.5, extra_s=0.0, save_s=8.0, validate_s=20.0):
    """An epoch, then a save, then a validation, both outside the printed time."""
    clock, lines = 0.0, []
    stamp = lambda: (START + dt.timedelta(seconds=clock)).strftime("%Y/%m/%d %H:%M:%S")  # noqa: E731
    for epoch in range(1, epochs + 1):
        for batch in range(every, batches + 1, every):
            clock += every * (step_s + extra_s)
            lines.append(
                f"{stamp()} - mmengine - INFO - Epoch(train)  [{epoch}][{batch}/{batches}]  lr: 1.0e-02  eta: 0:10:00  "
                f"time: {step_s:.4f}  data_time: 0.0100  memory: 1000  loss: 1.{batch:04d}"
            )
        lines.append(f"{stamp()} - mmengine - INFO - Saving checkpoint at {epoch} epochs")
        clock += save_s + validate_s
        lines.append(
            f"{stamp()} - mmengine - INFO - Epoch(val) [{epoch}][20/20]    accuracy/top1: 50.0000  data_time: 0.01  "
            "time: 0.0500"
        )
    return lines


def test_a_save_and_an_evaluation_in_one_gap_count_once():
    report = report_of(mmengine(6))
    ledger = report.ledger
    assert ledger.seconds("evaluation") + ledger.seconds("checkpoint") == pytest.approx(5 * 28 + 28, abs=30)
    assert ledger.seconds("step") + ledger.seconds("data") == pytest.approx(6 * 25, rel=0.03)
    assert ledger.wall_s == pytest.approx(6 * 25 + 6 * 28, rel=0.02)


def test_seconds_that_the_printed_time_leaves_out_are_unlogged():
    """Every window takes 20 % longer than it says: those seconds are in the ledger, and nobody's."""
    ledger = report_of(mmengine(6, extra_s=0.1, save_s=0, validate_s=0)).ledger
    assert ledger.seconds("unlogged") == pytest.approx(6 * 50 * 0.1, rel=0.25)
    # The first window's beginning is nowhere: its own figure is all there is.
    assert ledger.wall_s == pytest.approx(6 * 50 * 0.6, abs=6)


def nanogpt(last, *, every=10, step_s=0.2, printed="step", stamped=True):
    """nanoGPT, or a fork that prints the time of the whole interval in the same words."""
    lines = []
    for step in range(0, last + 1, every):
        time_s = step_s * (every if printed == "interval" and step else 1)
        stamp = moment(step * step_s, decimals=3) + " " if stamped else ""
        lines.append(f"{stamp}iter {step}: loss 3.{step:04d}, time {time_s * 1e3:.2f}ms")
    return lines


def test_a_fork_that_prints_the_interval_is_caught():
    """2,000 ms in the words of one iteration, but the stamps are 2 s apart and ten iterations lie between."""
    report = report_of(nanogpt(800, printed="interval"), max_steps=1600)
    assert report.ledger.step.typical_s == pytest.approx(0.2, rel=0.01)
    assert report.forecast.remaining_s == pytest.approx(160, rel=0.02)
    assert document(report)["clock"]["covers"] == "window"


def test_one_iteration_in_ten_stays_one_iteration():
    report = report_of(nanogpt(800), max_steps=1600)
    assert report.ledger.step.typical_s == pytest.approx(0.2, rel=0.01)
    assert document(report)["clock"]["covers"] == "step"


def test_clocks_side_by_side():
    answer = document(report_of(mmengine(6, extra_s=0.1)))
    clocks = {clock["name"]: clock for clock in answer["clocks"]}
    assert clocks["stamps"]["used"]
    assert not clocks["printed"]["used"]
    assert clocks["stamps"]["seconds"] == pytest.approx(answer["wall_s"], rel=0.02)
    assert clocks["printed"]["seconds"] == pytest.approx(6 * 50 * 0.5, rel=0.03)


@pytest.mark.parametrize(
    "line",
    [
        "{'train_runtime': 60.0, 'train_samples_per_second': 5.1, 'train_loss': 1.2}",
        "Training took 1.0 minutes",
        "Total training time: 0:01:00",
        "real\t1m0.000s",
    ],
)
def test_a_printed_total_beyond_the_steps_is_unlogged(line):
    """100 steps of 0.2 s make 20 s; the log says that the whole took a minute."""
    report = report_of([*nanogpt(99, every=1, stamped=False), line])
    assert report.ledger.seconds("unlogged") == pytest.approx(40, abs=0.5)
    assert report.ledger.wall_s == pytest.approx(60, abs=0.5)
    names = [clock["name"] for clock in document(report)["clocks"]]
    assert len(names) == 2


def test_a_long_stall_is_told():
    """An hour between two lines, and nothing says why."""
    lines = torchtitan(300, step_s=2.0)
    later = [
        f"[titan] {moment(step * 2.0 + 3600)} - root - INFO - step: {step}  loss:  2.10000  grad_norm:  0.1  "
        f"memory: 13.37GiB(42.62%)  tps: 231  tflops: 1.00  mfu: 6.15%"
        for step in range(301, 601)
    ]
    (alarm,) = report_of([*lines, *later]).alarms
    assert (alarm.code, alarm.step) == ("stall", 301)
    assert alarm.message.args["duration"].value == pytest.approx(3600, rel=0.01)


def test_a_clock_that_began_at_a_step_nobody_knows_runs_at_the_pace_of_the_rows():
    """A resumed run, pasted from the middle: 407 s are not those of all 15,000 steps."""
    line = (
        "| epoch 001:  {} / 34323 loss=6.628, nll_loss=6.628, ppl=98.88, wps=644, ups=0, wpb=262143.968, bsz=2048.000, "
    )
    line += "num_updates={}, lr=0.00025819, gnorm=0.224, clip=0.106, oom=0.000, wall={}, train_wall={}"
    report = report_of([line.format(n, n + 1, wall, wall) for n, wall in ((15000, 407), (15010, 412), (15020, 417))])
    assert report.ledger.step.typical_s == pytest.approx(0.5, rel=0.05)
