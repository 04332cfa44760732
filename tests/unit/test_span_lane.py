"""Which rows a recording from inside has: the program's own count, or the lines it prints where it has no steps."""

from __future__ import annotations

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read
from tests.unit.test_spans import Recording, seconds


def test_what_was_collected_and_the_steps_that_learn_from_it_are_one(tmp_path):
    """A loop of PPO: 64 steps of 4 environments, then 12 of the optimizer; the log counts those of the environments."""
    own = Recording(tmp_path)
    own.line("begin")
    for update in range(1, 31):
        own.span("step", 0.6 + (1.0 if update == 17 else 0.0), f"~{12 * (update - 1)}")
        for part in range(1, 12):
            own.span("step", 0.08 if (update, part) == (3, 5) else 0.02, f"~{12 * (update - 1) + part}")
        own.line(f"update {update} global_step {256 * update} loss {3 - update / 40:.3f} SPS {300 + update % 3}")
        if update % 10 == 0:
            own.span("evaluation", 0.5)
            own.span("checkpoint", 0.4)
    own.line("done")
    report = explain(read(str(tmp_path)))
    steps = report.run.steps
    every = int(steps.span[0])  # which of the two numbers is the count is the log's business
    assert every in {1, 256}
    assert steps.step.tolist() == [every * update for update in range(1, 31)]
    assert [slow.step for slow in report.ledger.slow if slow.cause == "unexplained"] == [17 * every]
    found = seconds(tmp_path)
    assert (found["evaluation"], found["checkpoint"]) == pytest.approx((1.5, 1.2), abs=0.01)
    assert found["stall"] == pytest.approx(1.0, abs=0.05)
    assert found["step"] == pytest.approx(30 * 0.82, rel=0.02)


def test_a_slow_step_in_ten_is_no_turn_where_the_log_counts_the_steps(tmp_path):
    own = Recording(tmp_path)
    own.line("begin")
    for step in range(100):
        own.span("step", 0.3 if step % 10 == 9 else 0.05, f"~{step}")
        own.now += 0.001
        if step % 10 == 9:
            own.line(f"step {step} loss 1.0")
    assert read(str(tmp_path)).steps.step[[0, -1]].tolist() == [0, 99]


def test_lines_that_come_late_are_those_of_the_steps_before(tmp_path):
    """Of twelve lines on a busy machine, seven arrive after the next step has ended."""
    own = Recording(tmp_path)
    for step in range(1, 121):
        own.span("step", 0.004, f"~{step - 1}")
        own.now += 0.05
        if step % 10 == 0:
            late = 0.006 if step < 80 else 0.001
            own.now += late
            own.line(f"step {step} loss {3 - step / 120:.3f}")
            own.now -= late
    assert read(str(tmp_path)).steps.step[[0, -1]].tolist() == [1, 120]


def test_a_pause_between_two_printed_lines_is_in_their_window(tmp_path):
    """No hook tells of steps: the lines do. What evaluations and saves take is known, and so is what is beyond it."""
    own = Recording(tmp_path)
    for step in range(1, 161):
        own.now += 0.06
        if step == 67:
            own.now += 0.9
        if step % 10 == 0:
            own.line(f"step {step}/160 loss {3 - step / 160:.4f}")
        if step % 40 == 0:
            own.span("evaluation", 0.8, "sampled 5000000")
            own.line(f"accuracy {step / 200:.3f}")
            own.span("checkpoint", 0.45, "sampled 5000000")
    own.line("done")
    report = explain(read(str(tmp_path)))
    slow = {step.step: step.cause for step in report.ledger.slow if step.cause == "unexplained"}
    assert slow == {70: "unexplained"}
    found = seconds(tmp_path)
    assert found["stall"] == pytest.approx(0.9, abs=0.02)
    assert (found["evaluation"], found["checkpoint"]) == pytest.approx((3.2, 1.8), abs=0.02)
    assert found["step"] == pytest.approx(150 * 0.06, abs=0.02)
    assert [stop.step for stop in report.run.stops] == [40, 80, 120, 160]
    assert next(total for total in report.ledger.phases if total.phase == "step").num == pytest.approx(160, abs=10)


def test_what_passes_between_two_processes_is_in_no_window(tmp_path):
    own = Recording(tmp_path)
    for process in range(2):
        own.line("begin")
        for step in range(60 * process, 60 * process + 61):
            own.now += 0.05
            if step % 10 == 0:
                own.line(f"step {step}/120 loss {3 - step / 160:.4f}")
            if step % 30 == 0:
                own.span("checkpoint", 0.4, "sampled 5000000")
        own.now += 20.0 if not process else 0.0
    own.line("done")
    found = seconds(tmp_path)
    assert found["checkpoint"] == pytest.approx(2.4, abs=0.02)
    assert found["step"] == pytest.approx(122 * 0.05, abs=1.1)
    assert sum(found.values()) == pytest.approx(28.5, abs=0.5)


def test_a_pause_after_a_save_in_one_of_three_windows_is_not_its_shadow(tmp_path):
    own = Recording(tmp_path)
    for step in range(0, 221):
        own.now += 0.04
        own.now += 1.5 if step == 99 else 1.0 if step == 150 else 0.0
        if step % 20 == 0:
            own.line(f"iter {step:4d} | loss {3 - step / 300:.5f}")
        if step and step % 60 == 0:
            own.span("evaluation", 0.8, "sampled 5000000")
            own.line("         val loss 2.31")
            own.span("checkpoint", 0.4, "sampled 5000000")
    found = seconds(tmp_path)
    assert (found["evaluation"], found["checkpoint"], found["stall"]) == pytest.approx((2.4, 1.2, 2.5), abs=0.03)


def test_an_evaluation_that_nothing_ends_is_over_when_the_last_look_at_it_is(tmp_path):
    """`eval()` without `train()`: what follows the program's function, up to the end of the process, is none of it."""
    own = Recording(tmp_path)
    own.line("begin")
    for step in range(20):
        own.span("step", 0.1, f"~{step}")
        own.line(f"step {step} loss 1.0")
    began = own.now
    own.span("evaluation", 0.8, "sampled 5000000")
    own.span("checkpoint", 0.3, "sampled 5000000")
    own.now += 0.9
    length, own.now = own.now - began, began
    own.span("evaluation", length, "latest")
    own.line("done")
    found = seconds(tmp_path)
    assert (found["evaluation"], found["checkpoint"]) == pytest.approx((0.8, 0.3), abs=0.01)


def test_a_save_within_the_hook_of_its_callback_is_one(tmp_path):
    own = Recording(tmp_path)
    own.line("begin")
    for step in range(40):
        own.span("step", 0.1, str(step))
        if step % 10 == 9:
            began = own.now
            own.span("checkpoint", 0.05)
            own.now = began
            own.span("checkpoint", 0.4)
        own.line(f"step {step} loss 1.0")
    phases = {total.phase: total for total in explain(read(str(tmp_path))).ledger.phases}
    assert (phases["checkpoint"].seconds, phases["checkpoint"].num) == (pytest.approx(1.6, abs=0.01), 4)
