"""A few pasted lines are read by their words and units, one line if need be."""

from __future__ import annotations

import numpy as np
import pytest

import stepscope
from stepscope.analysis.explain import explain
from stepscope.core.errors import InputError
from stepscope.infer import worded
from stepscope.infer.worded import worded_format
from tests.unit.logs import full, run_of


def report_of(tmp_path, text):
    path = tmp_path / "pasted.txt"
    path.write_text(text)
    return stepscope.explain(stepscope.read(str(path)))


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("Step    4000 [3.131 sec/step, loss=1.05, avg=1.08]", 3.131),
        ("iteration 12 done, 420 ms/iteration, loss 2.1", 0.42),
        ("epoch 3 | loss 1.2 | epoch time: 2.5 min", 150.0),
    ],
)
def test_one_line_is_enough(tmp_path, line, seconds):
    report = report_of(tmp_path, line + "\n")
    assert report.ledger.step.typical_s == pytest.approx(seconds)
    assert "A single line shows no trend." in full(report)


def test_growing_durations_are_no_clock(tmp_path):
    text = "".join(f"epoch {i} time: {seconds} s\n" for i, seconds in enumerate((12, 14, 17.5, 22, 27, 33, 40), 1))
    report = report_of(tmp_path, text)
    assert "Iterations get slower" in full(report)
    assert report.trend.trend.last == 40


def test_a_clock_since_the_start_is_differenced(tmp_path):
    text = "".join(f"Epoch #{i} at {81.6 * i:.1f}s, lr=1e-05\n" for i in range(1, 5))
    report = report_of(tmp_path, text)
    assert report.ledger.step.typical_s == pytest.approx(81.6)
    assert report.trend.trend.kind == "steady"


def test_a_running_average_is_differenced(tmp_path):
    single, total, text = [180.0, 4.0, 6.0, 5.0, 4.5, 5.5, 4.0, 5.0], 0.0, ""
    for number, seconds in enumerate(single, 1):
        total += seconds
        text += f"Step {number}  [{total / number:.3f} sec/step, loss=1.0]\n"
    report = report_of(tmp_path, text)
    assert report.ledger.step.typical_s == pytest.approx(5.0, rel=0.1)
    assert "average since the first iteration" in full(report)


def test_lines_without_a_number_are_counted_and_their_waits_read(tmp_path):
    waits = (0.0001, 0.0002, 0.0001, 19.2, 0.0001, 0.0002)
    text = "".join(f"load_data_time: {wait}, train_step_time: 0.66\n" for wait in waits)
    report = report_of(tmp_path, text)
    assert [int(step) for step in report.run.steps.step] == [1, 2, 3, 4, 5, 6]
    assert report.run.steps.data_s[3] == pytest.approx(19.2)


def test_the_time_of_an_interval_is_told_from_that_of_a_step(tmp_path):
    text = "".join(f"iter: {100 * i} loss: 2.1 time(s): {300 + 7 * (i % 3)} s\n" for i in range(1, 8))
    assert report_of(tmp_path, text).ledger.step.typical_s == pytest.approx(3.07, rel=0.05)


@pytest.mark.parametrize(
    "lines",
    [
        ["64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=0.32 ms"],
        ["data_time: 0.3, loss 2.1"],
        ["Epoch 3 val time: 3.2 s"],
        ["step 4 of 12 at 10:31"],
    ],
)
def test_nothing_is_taken_that_words_do_not_say(lines):
    assert worded_format(lines, "x") is None


def test_a_time_of_two_meanings_is_shown_as_both():
    """Where nothing says whether a time is that of one step or of a hundred, none is read and both are said."""
    fmt = worded_format([f"step {100 * i} took 4.1s" for i in range(1, 9)], "x")
    assert fmt is not None
    assert not fmt.is_timed
    assert fmt.inferred.doubt.args["count"] == 100
    assert fmt.inferred.doubt.args["each"].value == pytest.approx(0.041)


def test_a_time_of_a_part_is_not_that_of_the_step():
    """`forward_time` is a part; the whole step's time is named so."""
    lines = [f"[INFO] step={i} loss=2.3 forward_time=0.2s total_time=1.5s" for i in range(5)]
    fmt = worded_format(lines, "x")
    assert "1.5" in fmt.lines[0].regex.match(lines[0])["dur_s"]


def test_a_wait_longer_than_the_step_is_outside_its_time(tmp_path):
    waits = (0.0001, 0.0002, 0.0001, 19.2, 0.0001, 0.0002)
    report = report_of(tmp_path, "".join(f"load_data_time: {wait}, train_step_time: 0.66\n" for wait in waits))
    assert [(slow.step, slow.cause) for slow in report.ledger.slow] == [(4, "data")]
    assert report.ledger.seconds("data") == pytest.approx(19.2, rel=0.01)
    assert report.ledger.step.typical_s == pytest.approx(0.66)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        # The same figure: one step's, all since the line before, or a clock's. The timestamps say which.
        ("2024-05-01 10:00:{0:02d} iter: {1}, time: 3.1 (3.3)\n", 3.1),
        ("2024-05-01 10:00:{0:02d} iter: {1}, time: 31.0\n", 3.1),
    ],
)
def test_timestamps_decide_what_a_time_covers(tmp_path, text, seconds):
    report = report_of(tmp_path, text.format(4, 10) + text.format(35, 20))
    assert report.ledger.step.typical_s == pytest.approx(seconds, rel=0.02)
    assert report.reading.confidence > 0.5


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (
            "\tEpoch: 0001 cost= 29.86\n\ttime this epoch= 1.75\n\tEpoch: 0002 cost= 22.1\n\ttime this epoch= 1.75\n",
            1.75,
        ),
        ("Epoch 17: 57:16\nEpoch 18: 57:16\n", 3436),
        ("train itr 104/3489: speed: 2.94(0.63s r2.27)s/itr loss: 0.27\n", 2.94),
        ("iter 40, 0.5 it/s, loss 2.0\n", 2.0),
        ("step: 40 | steps/sec: 0.25 | loss 2.0\n", 4.0),
        ("Epoch 1/20\n  4/411 [.........] - ETA: 14:06:50 - loss: 11.06\n", 124.8),
    ],
)
def test_times_are_named_and_written_in_many_ways(tmp_path, text, seconds):
    assert report_of(tmp_path, text).ledger.step.typical_s == pytest.approx(seconds, rel=0.02)


def test_a_loss_on_the_line_shows_that_something_is_trained(tmp_path):
    report = report_of(tmp_path, "step: 40 | 0.25 s/it | loss: 2.0\n")
    assert next(check for check in report.reading.checks if check.code == "R12").verdict == "agrees"


def test_epochs_on_the_lines_give_the_total_and_evaluations_are_in_what_is_left(tmp_path):
    head = "      Epoch    GPU_mem   box_loss   obj_loss   cls_loss  Instances       Size\n"
    bar = "      0/99      21.3G    0.089    0.030    0.012    310    640: 100%|##| 50/50 [00:10<00:00,  5.0it/s]\n"
    valid = "           Class     Images  Instances        P       R   mAP50: 100%|##| 5/5 [00:20<00:00,  4.0s/it]\n"
    report = report_of(tmp_path, head + bar + valid)
    assert report.run.settings.count("max_steps") == 5000
    assert report.forecast.rough.seconds == pytest.approx(99 * 30, rel=0.05)


def test_the_rest_of_the_bar_is_said_next_to_that_of_the_run(tmp_path):
    report = report_of(tmp_path, "Epoch 1/20\n  4/411 [.........] - ETA: 14:06:50 - loss: 11.06\n")
    assert report.forecast.rough.bar_s == pytest.approx(14 * 3600 + 6 * 60 + 50)
    assert "left on this progress bar" in full(report)


def test_a_bar_of_the_whole_run_says_best_itself_what_is_left(tmp_path):
    bars = [f" 33%|###       | {n}/3384 [05:{s}<10:53,  3.45it/s]\n" for n, s in ((1126, 27), (1127, 27), (1128, 28))]
    lines = ["{'loss': 0.0138, 'learning_rate': 6.9e-05, 'epoch': 0.97}\n", *bars]
    rough = report_of(tmp_path, "".join(lines)).forecast.rough
    assert (rough.by, rough.seconds) == ("own", 653)


def test_times_too_small_to_be_told_apart_are_no_clock():
    """NumPy would warn of a division of nothing by nothing."""
    assert not worded._is_running(np.array([5e-324, 1e-323]), np.array([1.0, 3e10]))
    assert worded._is_running(np.array([10.0, 20.0, 30.1]), np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    "end", ["Total training time: 438.80 seconds (0.12 hours)", "The code for file net.py ran for 7.3133m"]
)
def test_the_time_of_the_whole_at_the_end_is_shared_out_among_all_epochs(end):
    """It is not the time of the last one."""
    lines = [f"Epoch {n}/20, loss: {2 - n / 30:.4f}, acc: 0.{n + 10}" for n in range(1, 21)]
    report = explain(run_of([*lines, end]))
    assert report.ledger.wall_s == pytest.approx(438.8, rel=0.001)
    assert report.ledger.step.typical_s == pytest.approx(438.8 / 20, rel=0.001)
    assert report.run.format.inferred.assumptions[1].message.key == "infer-time-of-all"
    later = [f"Epoch {n}/20, loss: {2 - n / 30:.4f}, acc: 0.{n + 10}" for n in range(9, 21)]
    assert not explains([*later, end]) or explain(run_of([*later, end])).ledger.step is None


def test_the_time_of_the_whole_is_not_one_iteration_of_lines_that_count_something_else():
    lines = [f"Episode {n}/30, Score: {900 + n}, Max Tile: 128 TD Error: {46 - n / 3:.3f}" for n in range(1, 31)]
    assert not explains([*lines, "Total training time: 438.83 seconds"])


def explains(lines):
    try:
        return explain(run_of(lines)).ledger.step is not None
    except InputError:
        return False
