"""Unknown logs whose step, time and loss are not all on one line, or that number nothing."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.analysis.explain import explain
from stepscope.infer.infer import infer
from stepscope.reading.log_reader import LogReader


def read_as(lines):
    fmt = infer(lines)
    assert fmt is not None
    reader = LogReader(paths=["a.log"], format=fmt)
    reader.begin_file()
    reader.feed("\n".join(lines).encode())
    reader.end_file()
    return reader.run()


def keys_of(run):
    return [assumption.message.key for assumption in run.format.inferred.assumptions]


def wave(number):
    """Something that moves a little."""
    return (number * 7 % 11) / 1000


def stamp(seconds):
    return f"{dt.datetime(2024, 5, 1, 10) + dt.timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S.%f}"[:-3]


def test_a_time_on_the_last_line_of_a_record():
    lines = []
    for n in range(120):
        lines += [
            f"epoch id: 0, batch step: {n}, gen_loss: {3 - wave(n):.4f}",
            f"  disc real {0.4 + wave(n):.4f} fake {0.3 + wave(n):.4f}",
            f"  cycle_loss: {1.2 - wave(n):.4f}; Batch_cost: {0.8 + wave(n):.3f}",
        ]
    run = read_as(lines)
    assert (len(run), int(run.steps.step[-1])) == (120, 119)
    assert explain(run).ledger.step.typical_s == pytest.approx(0.805, rel=0.02)


def test_a_time_on_a_line_before_the_step():
    lines = ["model built"]
    for n in range(1, 81):
        lines += [f"batch took {0.5 + wave(n):.3f} s", f"update {n}: loss {2 - wave(n):.4f}"]
    run = read_as(lines)
    assert (len(run), int(run.steps.step[-1])) == (80, 80)
    assert explain(run).ledger.step.typical_s == pytest.approx(0.505, rel=0.02)


def test_a_duration_of_its_own_every_thousand_iterations():
    """It is printed before the line of the thousandth, and it is no time of day, though it looks like one."""
    lines = []
    for n in range(200, 20_001, 200):
        if n % 1000 == 0:
            lines.append(f"0:03:{20 + (n // 1000 * 7 % 11):02}.{n % 7}1{n % 3}5")
        lines.append(f"iter {n}:, triplet_loss={0.4 - n / 1e6:.5f}, lr=0.000100")
    run = read_as(lines)
    assert (len(run), int(run.steps.step[-1])) == (20, 20_000)
    assert explain(run).ledger.step.typical_s == pytest.approx(0.205, rel=0.03)
    assert run.clock.is_sum


def test_epochs_with_all_their_batches_on_the_next_line():
    lines = []
    for epoch in range(1, 13):
        lines += [f"Epoch {epoch}/30", f"88/88 [======================] - {41 + epoch % 3}s - loss: {2 / epoch:.4f}"]
    run = read_as(lines)
    assert (len(run), int(run.steps.step[-1]), run.settings.count("max_steps")) == (12, 12 * 88, 30 * 88)
    assert explain(run).ledger.step.typical_s == pytest.approx(42 / 88, rel=0.03)


def test_a_line_that_times_something_else_is_no_companion():
    lines = []
    for n in range(1, 61):
        lines += [f"step {n} loss {2 - wave(n):.4f}", f"saved checkpoint in {4 + wave(n):.2f} s"]
    assert not infer(lines).is_timed


def test_lines_without_a_number_are_counted():
    lines = [f"[{stamp(n * 1.5)}] INFO: loss: {2 - wave(n):.4f}, reg_loss: 0.0{n % 9}1" for n in range(300)]
    run = read_as(lines)
    assert (len(run), int(run.steps.step[-1])) == (300, 300)
    assert explain(run).ledger.step.typical_s == pytest.approx(1.5, rel=0.01)
    assert keys_of(run)[0] == "infer-step-counted"
    assert run.format.inferred.confidence <= 0.6


def test_a_line_with_any_growing_number_is_not_counted():
    """It is numbered by something, if not by steps."""
    lines = [f"[{stamp(n * 1.5)}] loss: {2 - wave(n):.4f} consumed {n * 64}" for n in range(60)]
    fmt = infer(lines)
    assert fmt is None or not fmt.layout.counts_lines


def test_timestamps_on_the_lines_between_time_the_steps():
    lines = []
    for n in range(100):
        lines += [
            f"[{stamp(n * 40)}] node 3: heartbeat",
            f"Step {n * 50}: grad_norm={1 + wave(n):.3f} loss={2 - wave(n):.3f}",
        ]
    run = read_as(lines)
    assert (len(run), int(run.steps.step[-1])) == (100, 4950)
    assert explain(run).ledger.step.typical_s == pytest.approx(0.8, rel=0.02)


def test_arguments_are_no_rows():
    lines = []
    for launch in range(6):
        lines.append(
            f"{{'work_dir': 'out', 'start_epoch': 0, 'num_epoch': 40, 'step': [{10 + launch}, 20], 'every': 5}}"
        )
        for epoch in range(7):
            lines.append(f"[{stamp(launch * 4000 + epoch * 60)}] Training epoch: {epoch}")
            lines.append(f"[{stamp(launch * 4000 + epoch * 60 + 20)}]   mean_loss: nan")
    run = read_as(lines)
    assert int(run.steps.step[-1]) == 6
    assert explain(run).ledger.step.typical_s == pytest.approx(60, rel=0.02)


@pytest.mark.parametrize("name", ["start_epoch", "max_epoch", "best epoch"])
def test_a_number_of_epochs_is_not_the_epoch_at_hand(name):
    fmt = infer([f"loss {2 - wave(n):.3f} {name}: {n} lr 0.1" for n in range(20)])
    assert fmt is None or "(?P<step>" not in fmt.lines[0].pattern


def test_results_per_epoch_are_rows_where_nothing_else_counts():
    lines = [f"[{stamp(n * 90)}] [Val Info] Epoch:{n} MAE:{0.4 - wave(n):.5f}" for n in range(1, 15)]
    run = read_as(lines)
    assert (len(run), int(run.steps.step[-1])) == (14, 14)
    assert explain(run).ledger.step.typical_s == pytest.approx(90, rel=0.01)


def test_a_log_of_nothing_but_counts_and_fractions_is_a_training():
    """With timestamps a few dozen lines are enough."""
    run = read_as([f"[{stamp(n * 0.75)}] {n} {6 - n / 400:.6f}" for n in range(90)])
    assert (len(run), int(run.steps.step[-1])) == (90, 89)
    assert explain(run).ledger.step.typical_s == pytest.approx(0.75, rel=0.02)
    assert run.format.inferred.confidence < 0.6
    assert infer([f"{n} {6 - n / 400:.6f}" for n in range(90)]) is None


def test_the_seconds_in_brackets_on_an_epochs_own_line_are_those_of_its_steps():
    lines = []
    for epoch in range(1, 7):
        lines += [f"  step {n:4}/328  loss {0.5 + wave(n):.4f}" for n in range(20, 328, 20)]
        lines.append(f"Epoch {epoch}/500 -- train: 0.5{epoch}  ppl: 1.8{epoch}  ({69 + epoch % 3}s)")
    run = read_as(lines)
    assert int(run.steps.step[-1]) == 5 * 328 + 320
    assert explain(run).ledger.step.typical_s == pytest.approx(70 / 328, rel=0.03)


def test_a_loss_at_a_step_is_numbered_by_the_step():
    lines = [f"{stamp(2 * n)}:\tLoss at step {n}: {8 - wave(n):.6f}" for n in range(1, 60)]
    run = read_as(lines)
    assert (int(run.steps.step[-1]), len(run)) == (59, 59)
    assert explain(run).ledger.step.typical_s == pytest.approx(2.0, rel=0.02)


def test_an_evaluation_after_every_epoch_is_one():
    lines, now = [], 0
    for epoch in range(12):
        lines.append(f"{stamp(now)} - INFO - epoch: {epoch} start, learning rate: 0.01")
        lines.append(f"{stamp(now + 160)} - INFO - epoch: {epoch} end, loss: {2 - wave(epoch):.4f}")
        lines.append(f"{stamp(now + 190)} - INFO - epoch: {epoch} validation, loss: {2.1 - wave(epoch):.4f}")
        now += 190
    phases = {phase.phase: phase for phase in explain(read_as(lines)).ledger.phases}
    assert phases["evaluation"].num in {11, 12}
    assert phases["evaluation"].seconds == pytest.approx(30 * phases["evaluation"].num, rel=0.1)


def test_a_validation_that_counts_in_the_same_words_to_another_total_is_no_training():
    lines = []
    for epoch in range(1, 5):
        lines.append(f"Epoch {epoch}/4")
        lines += [
            f"step {n:3}/614 - loss: 0.1{n % 7} - acc: 0.8{n % 5} - 300ms/step" for n in (*range(20, 614, 20), 614)
        ]
        lines.append("Eval begin...")
        lines += [f"step {n:2}/88 - loss: 0.2{n % 7} - acc: 0.7{n % 5} - 100ms/step" for n in (20, 40, 60, 80, 88)]
        lines.append("Eval samples: 11219")
    run = read_as(lines)
    assert (int(run.steps.step[-1]), run.num_trainings) == (4 * 614, 1)
    phases = {phase.phase: phase for phase in explain(run).ledger.phases}
    assert phases["evaluation"].seconds == pytest.approx(4 * 8.8, rel=0.1)


def test_three_lines_an_epoch_below_its_heading_are_its_batches():
    lines = []
    for epoch in range(1, 41):
        lines.append(f"==> Epoch {epoch}/40")
        lines += [f"Batch {n}/78\t Loss {1.5 - wave(n + epoch):.6f} (1.5{epoch:02})" for n in (20, 40, 60)]
    lines.append("Finished. Total elapsed time (h:m:s): 0:26:00")
    report = explain(read_as(lines))
    assert int(report.run.steps.step[-1]) == 39 * 78 + 60
    assert report.ledger.wall_s == pytest.approx(1560, rel=0.02)
