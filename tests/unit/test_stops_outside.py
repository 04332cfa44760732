"""Stops that the log's clock does not cover, told by the stamps of its lines."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.unit.logs import report_of

START = dt.datetime(2024, 5, 6, 7, 0, 0)


class Stamped:
    """Lines with the moment they were written."""

    def __init__(self, pattern="%Y/%m/%d %H:%M:%S", after=" - "):
        self.lines, self.now = [], START
        self._pattern, self._after = pattern, after

    def write(self, text, *, after_s=0.0):
        self.now += dt.timedelta(seconds=after_s)
        self.lines.append(f"{self.now.strftime(self._pattern)}{self._after}{text}")


def seconds(report):
    return {total.phase: total.seconds for total in report.ledger.phases}


def mmengine(*, epochs, batches=200, step_s=0.5, evaluation_s=40.0, beyond=1.0):
    """Saves, then evaluates after every epoch; its clock runs for neither."""
    log = Stamped()
    for epoch in range(1, epochs + 1):
        for batch in range(50, batches + 1, 50):
            text = f"Epoch(train) [{epoch}][{batch}/{batches}]  lr: 1e-2  eta: 0:10:00  time: {step_s:.4f}  "
            log.write(f"mmengine - INFO - {text}data_time: 0.01  memory: 900  loss: 2.1", after_s=50 * step_s * beyond)
        log.write(f"mmengine - INFO - Saving checkpoint at {epoch} epochs")
        log.write(f"mmengine - INFO - Epoch(val) [{epoch}][6/6]    accuracy/top1: 61.2", after_s=evaluation_s)
    return log.lines


def test_a_save_and_the_evaluation_behind_it_are_one_stop():
    """Both lie between the same two steps: what passes there is counted once."""
    report = report_of(mmengine(epochs=12))
    found = seconds(report)
    assert found["evaluation"] == pytest.approx(12 * 40, rel=0.02)
    assert found["step"] + found["data"] == pytest.approx(12 * 100, rel=0.03)
    assert "checkpoint" not in found
    assert report.ledger.wall_s == pytest.approx(12 * 140, rel=0.03)


def test_what_a_clock_leaves_out_of_every_step_is_no_part_of_the_evaluation():
    """A tenth of every step is not in its printed time: an evaluation is still 40 s."""
    report = report_of(mmengine(epochs=12, beyond=1.1))
    price = report.ledger.evaluation_price
    assert price.seconds == pytest.approx(40, abs=1)
    assert seconds(report)["unlogged"] == pytest.approx(12 * 10, rel=0.15)


def torchtitan_save(log, took_s):
    log.write("Saving the checkpoint (or staging if async is enabled).")
    log.write(
        f"Finished saving the checkpoint (or staging if async is enabled) in {took_s:.2f} seconds.", after_s=took_s
    )


def torchtitan(steps=60):
    log = Stamped(pattern="[titan] %Y-%m-%d %H:%M:%S,000", after=" - root - INFO - ")
    for step in range(1, steps + 1):
        text = f"step: {step}  loss:  4.2  grad_norm:  0.4  memory: 21.07GiB(66.12%)  tps: 3,105"
        log.write(text, after_s=2)
        if step == 30:
            torchtitan_save(log, 8)
            log.write("validate step: 30  loss:  4.0249  memory: 26.01GiB(82.96%)  tps: 8,084", after_s=20)
    log.write("Saving the checkpoint (or staging if async is enabled).")
    log.write("[GC] GC collection invoked by checkpointer. took 0.02 seconds", after_s=31)
    return log.lines


def test_the_save_after_the_last_step_is_in_the_ledger():
    """Nothing says how long it took but the stamps around it; it is not what other saves cost."""
    report = report_of(torchtitan())
    found = seconds(report)
    assert found["checkpoint"] == pytest.approx(8 + 31, abs=1)
    assert found["evaluation"] == pytest.approx(20, abs=1)
    assert report.ledger.checkpoint_price.seconds == pytest.approx(8)
    assert found.get("unlogged", 0) < 1


def detectron2(*, hangs_at=None):
    """Prints what the batches of an evaluation took (100 s) and scores for 30 s more."""
    log = Stamped(pattern="[%m/%d %H:%M:%S]", after=" ")
    for step in range(19, 4000, 20):
        if step % 500 == 499:
            log.write("d2.evaluation.evaluator INFO: Start inference on 300 batches", after_s=10)
            text = "Total inference time: 0:01:40.000000 (0.3 s / iter per device, on 1 devices)"
            log.write(f"d2.evaluation.evaluator INFO: {text}", after_s=100)
            log.now += dt.timedelta(seconds=30 + (7200 if step == hangs_at else 0))
        text = f"eta: 1:00:00  iter: {step}  total_loss: 0.8  loss_cls: 0.3  time: 0.5  data_time: 0.01  lr: 0.02"
        log.write(f"d2.utils.events INFO:  {text}  max_mem: 9120M", after_s=0 if step % 500 == 499 else 10)
    return log.lines


def test_scoring_belongs_to_the_evaluation_that_prints_only_its_batches():
    found = seconds(report_of(detectron2()))
    assert found["evaluation"] == pytest.approx(8 * 130, rel=0.02)
    assert found.get("stall", 0) < 5


def test_an_evaluation_that_hangs_is_not_a_long_evaluation():
    found = seconds(report_of(detectron2(hangs_at=1999)))
    assert found["evaluation"] == pytest.approx(8 * 130, rel=0.02)
    assert found["stall"] == pytest.approx(7200, rel=0.01)


def test_dated_lines_around_the_steps_bound_the_wall_time():
    """Steps without stamps, but the program's own lines before and after them have some."""
    lines = ["2024-05-06 07:00:00.000000: I tensorflow/core/util/port.cc:110] on"]
    for epoch in range(1, 6):
        lines += [f"Epoch {epoch}/5", "250/250 [==============================] - 100s 400ms/step - loss: 1.2"]
    lines.append("2024-05-06 07:10:00.000000: I tensorflow/core/common_runtime/executor.cc:1197] done")
    report = report_of(lines)
    assert report.ledger.wall_s == pytest.approx(600)
    assert seconds(report)["unlogged"] == pytest.approx(100)


def test_launches_that_crash_before_their_first_step_are_a_gap_and_no_warm_up():
    def stamp(second):
        return f"2026-03-01 10:{second // 60:02d}:{second % 60:02d} "

    lines = [
        stamp(0) + "starting",
        "Traceback (most recent call last):",
        '  File "t.py", line 1',
        "ValueError: no data",
    ]
    lines += [stamp(600) + "starting", stamp(620) + "ready"]
    for step in range(40):
        lines.append(stamp(630 + step) + f"iter {step}: loss 3.1000, time {1000 + step % 3}.00ms, mfu 30.00%")
    lines[1:4] = [stamp(300) + "loading", *lines[1:4]]
    seconds = {total.phase: total.seconds for total in report_of(lines).ledger.phases}
    assert seconds["gap"] == pytest.approx(300, abs=2)
    assert seconds["warmup"] == pytest.approx(329, abs=3)


def short_epochs(*, epochs, batches=137, step_s=0.2, evaluation_s=3.0, after_s=2.0):
    """One row an epoch, 37 iterations before its end; loading the next epoch takes a while after the evaluation."""
    log = Stamped(pattern="%Y/%m/%d %H:%M:%S")
    for epoch in range(1, epochs + 1):
        text = f"Epoch(train) [{epoch}][100/{batches}]  lr: 1e-2  eta: 0:10:00  time: {step_s:.4f}  "
        before_s = 100 * step_s + (after_s if epoch > 1 else 0.0)
        log.write(f"mmengine - INFO - {text}data_time: 0.01  memory: 900  loss: 2.1", after_s=before_s)
        done_s = (batches - 100) * step_s + evaluation_s
        log.write(f"mmengine - INFO - Epoch(val) [{epoch}][6/6]    accuracy/top1: 61.2", after_s=done_s)
    return log.lines


def test_an_evaluation_ends_with_its_line_and_begins_after_the_unprinted_steps():
    found = seconds(report_of(short_epochs(epochs=40)))
    assert found["evaluation"] == pytest.approx(40 * 3, rel=0.1)
    assert found["step"] + found["data"] == pytest.approx(40 * 137 * 0.2, rel=0.03)
    assert found["unlogged"] == pytest.approx(40 * 2, rel=0.3)


def test_the_steps_after_the_last_row_are_no_checkpoint():
    """Caffe prints every 500th iteration and the snapshot of the last one."""
    log = Stamped(pattern="I0613 %H:%M:%S.000000", after=" 5405 solver.cpp:222] ")
    log.write("max_iter: 4800")
    for step in range(0, 4501, 500):
        log.write(f"Iteration {step}, loss = 0.5", after_s=0 if step == 0 else 400)
    log.write("Snapshotting to binary proto file out_iter_4800.caffemodel", after_s=240)
    log.write("Snapshotting solver state to binary proto file out_iter_4800.solverstate", after_s=2)
    report = report_of(log.lines)
    found = seconds(report)
    assert found["step"] == pytest.approx(9 * 400 + 240, abs=2)
    assert found.get("checkpoint", 0) < 4
