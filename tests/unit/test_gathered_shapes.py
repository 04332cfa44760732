"""Shapes of lines that were first met in logs gathered from public repositories; the logs here are invented."""

from __future__ import annotations

import pytest

from stepscope.analysis.explain import explain
from stepscope.formats._shared.tables import writer
from stepscope.lines.match import behind_bar
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read


def run_of(lines):
    reader = LogReader(paths=["a.log"])
    reader.begin_file()
    reader.feed(("\n".join(lines) + "\n").encode())
    reader.end_file()
    return reader.run()


def wave(number):
    """Something that moves a little."""
    return (number * 7 % 11) / 1000


def test_a_message_behind_an_empty_bar_keeps_its_timestamp():
    bar = "Validation: |          | 0/? [00:00<?, ?it/s]"
    lines = [
        f"{bar}[2024-03-0{1 + n // 20} {n % 20:02}:00:{n % 7:02}] INFO   Epoch {n}: loss {2 - n * 0.01:.3f}  v_loss 2.1"
        for n in range(60)
    ]
    run = run_of(lines)
    assert len(run) == 60
    assert explain(run).ledger.step.typical_s == pytest.approx(3600, rel=0.05)


def test_a_bar_that_ends_its_line_has_nothing_behind_it():
    assert behind_bar("Training: |          | 0/? [00:00<?, ?it/s]") is None


def test_rows_of_every_fourth_print_are_no_sample_of_the_images_between():
    head = "================ Training Loss (Mon Mar 11 09:27:59 2019) ================"
    times = [0.05 + (0.04 if n % 4 == 0 else 0) + (3.0 if n % 40 == 0 else 0) + wave(n) / 10 for n in range(1, 241)]
    lines = [f"(epoch: 1, iters: {100 * n}, time: {t:.3f}, data: 0.002) G: 1.2 D: 0.6" for n, t in enumerate(times, 1)]
    ledger = explain(run_of([head, *lines])).ledger
    drawn = sum(t - 0.05 for t in times)
    assert ledger.wall_s == pytest.approx(24_000 * 0.05 + drawn, rel=0.05)


def test_the_time_on_the_line_before_an_evaluation_is_the_evaluations():
    lines = []
    for step in range(0, 2000, 10):
        lines += [f"Timer: {0.5 + wave(step):.4f}", f"epoch:{step // 400} || iter:{step} || Loss:4.1"]
        if step % 400 == 390:
            lines += ["start eval..........", "Timer: 60.0", f"test epoch:{step // 400} || Loss:4.3"]
    ledger = explain(run_of(lines)).ledger
    spent = {phase.phase: phase.seconds for phase in ledger.phases}
    assert spent["evaluation"] == pytest.approx(300, rel=0.01)
    assert ledger.step.typical_s == pytest.approx(0.5, rel=0.05)


def test_names_in_another_script_say_what_a_number_is():
    lines = [
        f"轮次 {n}/50，训练损失：{3 - n * 0.03:.4f}，验证损失：{3.1 - n * 0.02:.4f}，用时：{41 + wave(n) * 50:.1f}秒"
        for n in range(1, 51)
    ]
    run = run_of([*lines, "训练完成，总耗时：2080.0秒"])
    report = explain(run)
    assert report.ledger.step.typical_s == pytest.approx(41.2, rel=0.02)
    assert report.state.value == "finished"
    assert [runtime.seconds for runtime in run.runtimes] == [2080.0]


def test_of_the_times_of_a_record_the_longest_is_the_whole():
    lines = []
    for n in range(1, 41):
        lines += [
            f"Step: {n} | Loss: {1 - n / 100:.4f} | KL: 0.01",
            f"[timing] sample processed in {50 + wave(n):.2f}s",
        ]
        lines += ["Sampling:  40.1s", f"Reward + Adv:  {5 + wave(n):.2f}s", "Backward:  4.9s"]
    assert explain(run_of(lines)).ledger.step.typical_s == pytest.approx(50, rel=0.01)


def test_epochs_of_a_log_little_longer_than_what_is_held_back(tmp_path):
    """The preview of such a file must not count lines twice: the epochs would look like launches."""
    note = "x" * 60
    lines = [
        f"INFO:__main__:Epoch {epoch} | Step {step:4}/3001 | Loss: {1 - wave(step):.4f} | {note} | "
        f"Time: {0.5 + wave(step):.3f}s"
        for epoch in range(2)
        for step in range(0, 3001, 5)
    ]
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    assert 131_072 < path.stat().st_size < 196_608
    run = read(str(path))
    assert int(run.steps.step[-1]) >= 6_000
    assert run.num_trainings == 1


def test_steps_since_the_last_tick_of_a_coarse_clock_are_done_too():
    lines = [
        f" Scenario toy Algo mappo Exp check updates {n}/1000 episodes, "
        f"total num timesteps {300 * (n + 1)}/300000, FPS {39 if n > 400 else 40}."
        for n in range(0, 1000, 5)
    ]
    assert explain(run_of(lines)).ledger.wall_s == pytest.approx(298_800 / 39, rel=0.03)


@pytest.mark.parametrize("first", [0, 1, 10])
def test_a_table_that_begins_above_zero_ends_at_its_total(first):
    rows = "".join(f"{step},500,{step * 2.0},{5 - step * 0.01}\n" for step in range(first, 300, 10))
    lines = list(writer("csv_elapsed")(f"step,total_steps,elapsed,loss\n{rows}".encode()))
    assert f" of {501 if first else 500} " in lines[1]
