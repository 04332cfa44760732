"""Shapes of lines first met in a tenth set of public logs; the logs here are invented."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.analysis.explain import explain
from stepscope.lines.closing import closing_words
from stepscope.reading.log_reader import LogReader


def run_of(lines):
    reader = LogReader(paths=["a.log"])
    reader.begin_file()
    reader.feed(("\n".join(lines) + "\n").encode())
    reader.end_file()
    return reader.run()


def seconds_of(ledger):
    return {phase.phase: phase.seconds for phase in ledger.phases}


def test_a_time_that_keeps_growing_is_a_clock_also_in_few_lines():
    lines = [
        f"Epoch: {n} - Execution time: {5.5 + 0.062 * n + n % 300 / 900:.12f} seconds" for n in range(0, 24001, 2000)
    ]
    ledger = explain(run_of(lines)).ledger
    assert ledger.step.typical_s == pytest.approx(0.062, rel=0.05)
    assert ledger.wall_s == pytest.approx(1494, rel=0.02)


def test_the_extremes_of_a_step_time_are_not_the_step_time():
    now, lines = dt.datetime(2025, 2, 3, 9), []
    for n in range(1, 41):
        now += dt.timedelta(seconds=25 * 4)
        top = 6.1 if n <= 20 else 4.2
        lines.append(
            f"[{now:%Y-%m-%d %H:%M:%S}] global_step={25 * n} loss={3 - n / 50:.3f} step_time={4 + n % 3 / 500:.3f}s "
            f"step_time_min=3.9 step_time_max={top}"
        )
    step = explain(run_of(lines)).ledger.step
    assert step.typical_s == pytest.approx(4.0, rel=0.01)
    assert len(step.regimes) == 1


def test_planned_steps_are_the_total():
    now, lines = dt.datetime(2025, 2, 3, 9), ["[2025-02-03 09:00:00] Plan: epochs=2, total_steps_planned=430"]
    for n in range(10, 421, 10):
        now += dt.timedelta(seconds=20)
        lines.append(f"[{now:%Y-%m-%d %H:%M:%S}] global_step={n} loss={3 - n / 500:.3f} lr=0.001")
    assert run_of(lines).settings.count("max_steps") == 430


def test_minutes_that_nothing_states_are_no_longer_than_the_log():
    """By chance the middle of these would be a minute's worth of what passed."""
    now, step, lines = dt.datetime(2025, 2, 3, 9), 0, []
    for epoch in range(20):
        elapsed = 180.5 if epoch == 0 else 2.1 + epoch % 4 * 0.1
        lines.append(
            f"{now:%Y-%m-%d %H:%M:%S} - LOGS - Epoch: {epoch} [{step}/900000], loss: {3 / (epoch + 1):.4f}, "
            f"Elapsed time: {elapsed:.2f}"
        )
        now, step = now + dt.timedelta(seconds=130 + epoch % 3), step + 300 + epoch % 5
    assert explain(run_of(lines)).ledger.wall_s == pytest.approx(19 * 131, rel=0.1)


def test_of_an_epoch_under_a_heading_most_is_training():
    now, lines = dt.datetime(2025, 2, 3, 9), []
    for epoch in range(1, 31):
        lines.append(f"{now:%Y-%m-%d %H:%M:%S},000 - INFO - Epoch {epoch}/30")
        now += dt.timedelta(seconds=33 + epoch % 2)
        lines.append(f"{now:%Y-%m-%d %H:%M:%S},000 - INFO - Train Loss: {2 / epoch:.4f}, Train Acc: {60 + epoch}%")
        now += dt.timedelta(seconds=4)
        lines.append(f"{now:%Y-%m-%d %H:%M:%S},000 - INFO - Val Loss: {2.2 / epoch:.4f}, Val Acc: {58 + epoch}%")
        now += dt.timedelta(seconds=2)
        lines.append(f"{now:%Y-%m-%d %H:%M:%S},000 - INFO - Model saved at out/latest.pth")
    ledger = explain(run_of(lines)).ledger
    assert ledger.step.typical_s == pytest.approx(33.5, rel=0.05)
    assert seconds_of(ledger)["evaluation"] == pytest.approx(29 * 4, rel=0.1)


def test_a_known_trainer_is_preferred_to_a_structure_that_comes_to_the_same():
    """Sampled answers outnumber the lines of metrics, so that the structure is asked, and finds a loss in them."""
    lines = []
    for step in range(1, 25):
        lines += [f"(TaskRunner pid=71) answer {step}.{line}: the sum is odd" for line in range(30)]
        lines.append(
            f"(TaskRunner pid=71) step:{step} - training/global_step:{step} - actor/pg_loss:{step / 100} - "
            f"timing_s/gen:20.5 - timing_s/step:{30 + step % 3}.25 - perf/throughput:900.5"
        )
    assert run_of(lines).format.name == "verl"


@pytest.mark.parametrize("text", ["*** SIGTERM received at time=1700000000 on cpu 3 ***"])
def test_a_signal_that_a_handler_reports_is_an_interrupt(text):
    lines = [f"iter {n}: loss {3 - n / 100:.4f}, time 210.00ms, mfu 30.00%" for n in range(60)]
    assert explain(run_of([*lines, text])).state.value == "interrupted"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Training took 00:34:12.50", "closing"),
        ("LOGS    - Training took 00:34:12.50", "closing"),
        ("Epoch 4: Early stopping.", "early_stop"),
        ("Training took longer than planned", None),
    ],
)
def test_further_words_of_an_end(text, said):
    assert closing_words(text) == said


def test_a_bar_that_moves_right_behind_its_evaluation_counts_it():
    """An old Lightning whose clock runs on, and that draws each full bar once more under the next epoch's name."""
    lines, clock = ["GPU available: True, used: True"], 0

    def bar(epoch, batch):
        at = f"{clock // 60:02}:{clock % 60:02}"
        return (
            f"Epoch {epoch}: {batch * 2}%|####| {batch}/50 [{at}<00:09,  1.9it/s, loss={9 / (epoch + 1):.2f}, v_num=0]"
        )

    for epoch in range(12):
        for batch in (10, 20, 30):
            clock += 10
            lines.append(bar(epoch, batch))
        clock += 1
        lines += ["Validation: 0it [00:00, ?it/s]", "Validation DataLoader 0:   0%|    | 0/20 [00:01<?, ?it/s]"]
        clock += 7
        full = bar(epoch, 50)
        lines += ["Validation DataLoader 0: 100%|####| 20/20 [00:07<00:00,  2.9it/s]", full, full, bar(epoch + 1, 50)]
    run = run_of(lines)
    assert int(run.steps.step[-1]) == 12 * 30
    assert explain(run).ledger.wall_s == pytest.approx(12 * 38, rel=0.05)


def test_the_count_may_stand_before_the_time_of_so_many_steps():
    lines = []
    for epoch in range(4):
        lines.append(f"This is {epoch + 7}-th epoch")
        for n in range(50, 601, 50):
            loss = 2 / (n + 100) + epoch / 1000
            lines.append(
                f"Iter {n}/600 training loss = {loss:.3f}, time = 0.1{n % 7}26, time for 50 iter: {104 + n % 9}.6089"
            )
    run = run_of(lines)
    assert explain(run).ledger.step.typical_s == pytest.approx(2.15, rel=0.03)
    assert explain(run).ledger.wall_s == pytest.approx(4 * 600 * 2.15, rel=0.03)
    assert run.num_trainings == 1


def test_a_training_that_prints_only_its_checkpoints_is_timed_by_their_timestamps():
    now, lines = dt.datetime(2025, 1, 25, 10), ["2025-01-25 10:00:00,000 - INFO - Using device: mps"]
    for n in range(400, 4001, 400):
        now += dt.timedelta(seconds=880 + n % 3)
        lines.append(f"{now:%Y-%m-%d %H:%M:%S},310 - INFO - Checkpoint saved at step {n}")
        lines.append(f"{now:%Y-%m-%d %H:%M:%S},420 - INFO - Generated: once upon a time in a far land {n % 7} times")
    run = run_of([*lines, f"{now:%Y-%m-%d %H:%M:%S},500 - INFO - Training completed!"])
    report = explain(run)
    assert report.ledger.step.typical_s == pytest.approx(2.2, rel=0.02)
    assert (report.state.value, report.state.step) == ("finished", 4000)


def test_an_evaluation_that_two_loggers_print_is_one():
    lines = []
    for n in range(1, 21):
        lines.append(
            f"{{'loss': {3 - n / 50:.4f}, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': {n * 0.025:.3f}}}"
        )
        result = f"'eval_loss': 2.{n:04}3871, 'eval_runtime': 12.25, 'eval_steps_per_second': 2.5"
        lines += [f"{{{result}, 'epoch': {n * 0.025:.3f}}}", f"{{{result}, 'epoch': {n * 0.025:.2f}}}"]
    lines.append("{'train_runtime': 2000.5, 'train_steps_per_second': 0.5, 'epoch': 0.5}")
    assert len(run_of(lines).events) == 20


def fairseq_log(*, epochs, updates, interval, step_s, start_s, valid_s):
    """fairseq under Hydra: each epoch begins slowly and has nearly as many updates as lie between rows."""
    now, begun, num, lines = dt.datetime(2021, 3, 1), dt.datetime(2021, 3, 1), 0, []

    def add(logger, text):
        lines.append(f"[{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}][{logger}][INFO] - {text}")

    for epoch in range(1, epochs + 1):
        add("fairseq.trainer", f"begin training epoch {epoch}")
        now += dt.timedelta(seconds=start_s)
        for _ in range(updates):
            now, num = now + dt.timedelta(seconds=step_s), num + 1
            if num % interval == 0:
                wall = round((now - begun).total_seconds())
                add(
                    "train_inner",
                    f'{{"epoch": {epoch}, "loss": "{9 / num:.3f}", "num_updates": "{num}", "wall": "{wall}"}}',
                )
        add("fairseq_cli.train", 'begin validation on "valid" subset')
        now += dt.timedelta(seconds=valid_s)
        add("valid", f'{{"epoch": {epoch}, "valid_loss": "{8 / num:.3f}", "valid_num_updates": "{num}"}}')
        wall = round((now - begun).total_seconds())
        add(
            "train",
            f'{{"epoch": {epoch}, "train_loss": "{9 / num:.2f}", "train_num_updates": "{num}", '
            f'"train_wall": "{wall}"}}',
        )
    return lines


def test_an_evaluation_lasts_from_the_line_that_announces_it():
    lines = fairseq_log(epochs=30, updates=99, interval=100, step_s=2, start_s=120, valid_s=90)
    ledger = explain(run_of(lines)).ledger
    assert seconds_of(ledger)["evaluation"] == pytest.approx(30 * 90, rel=0.04)


def test_a_printed_evaluation_counts_as_a_whole_where_it_is_shorter_than_the_rows_scatter():
    lines = []
    for n in range(50, 5001, 50):
        wall = 20 * n + (n * 7919 % 400)
        lines.append(f"| epoch 001:   {n} / 9000 loss={9 / n:.3f}, ppl=1.00, num_updates={n}, lr=0.001, wall={wall}")
        if n % 250 == 0:
            lines.append("| Eval completed in: 40.50s")
    assert seconds_of(explain(run_of(lines)).ledger)["evaluation"] == pytest.approx(19.5 * 40.5, rel=0.06)


def test_a_result_of_accelerate_may_name_the_loss_of_the_training_too():
    lines, clock = [], 0
    for n in range(1, 401):
        clock += 2
        lines.append(f"{n // 4}%|##| {n}/400 [{clock // 60:02}:{clock % 60:02}<10:00,  2.00s/it]")
        if n % 50 == 0:
            clock += 60
            lines[-1] += (
                f"[2024-05-06 10:{n // 10:02}:00,131][__main__][INFO] - epoch 0: perplexity: {9 - n / 90:.4f} "
                f"train_loss: {3 - n / 400:.4f} eval_loss: {2.5 - n / 400:.4f}"
            )
    assert seconds_of(explain(run_of(lines)).ledger)["evaluation"] == pytest.approx(8 * 60, rel=0.1)
