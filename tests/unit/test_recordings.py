"""Recordings without spans: what the arrivals of the lines show, and what they leave open, lies in the intervals."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.analysis.explain import explain
from stepscope.i18n import Language
from stepscope.ledger.phases import PhaseTotal
from stepscope.reading.reader import read
from stepscope.report import terminal


class Script:
    """A recording by a clock of its own: what a program did, and the lines that it printed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._log, self._stamps = folder, bytearray(), list[str]()
        self.now, self.true = 100.0, dict[str, float]()

    def spend(self, phase: str, seconds: float) -> None:
        self.now += seconds
        self.true[phase] = self.true.get(phase, 0.0) + seconds

    def print(self, line: str) -> None:
        self._log += f"{line}\n".encode()
        self._stamps.append(f"{len(self._log)}\t{1_795_000_000 + self.now:.6f}\t{self.now:.6f}\n")

    def phases(self) -> dict[str, PhaseTotal]:
        (self._folder / "log.txt").write_bytes(self._log)
        (self._folder / "stamps.tsv").write_text("".join(self._stamps))
        return {total.phase: total for total in explain(read(str(self._folder))).ledger.phases}

    def holds(self, phases: dict[str, PhaseTotal], *names: str) -> None:
        for name in names:
            total = phases[name]
            assert total.low_s - 0.01 <= self.true[name] <= total.high_s + 0.01, (name, self.true[name], total)


def steps(script: Script, first: int, last: int, *, every: int = 5, seconds: float = 0.04) -> None:
    for step in range(first, last + 1):
        script.spend("step", seconds)
        if step % every == 0:
            script.print(f"step {step}: loss {4 - step / 200:.4f}")


def test_what_no_line_shows_lies_in_intervals(tmp_path):
    """Evaluations and checkpoints that print nothing: a step's interval reaches down, and both are at most the rest."""
    script = Script(tmp_path)
    script.print("begin")
    for part in range(6):
        steps(script, 20 * part + 1, 20 * part + 20)
        script.spend("evaluation", 0.6)
        script.spend("checkpoint", 0.3)
    script.print("done")
    phases = script.phases()
    script.holds(phases, "step", "evaluation", "checkpoint")
    assert all(phases[name].is_unpriced and not phases[name].num for name in ("evaluation", "checkpoint"))
    text = terminal.render(explain(read(str(tmp_path))), Language.load("en"), width=120, full=True)
    assert text.count("not printed, at most") == 2


def test_a_steady_log_leaves_nothing_open(tmp_path):
    """Where every row is like every other, nothing is hidden, and no phase is made up."""
    script = Script(tmp_path)
    script.print("begin")
    steps(script, 1, 200)
    phases = script.phases()
    assert not {"evaluation", "checkpoint"} & phases.keys()
    assert phases["step"].low_s > 0.95 * phases["step"].seconds


def test_a_log_that_is_no_recording_has_no_phase_without_a_line(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {step}: loss {4 - step / 200:.4f} time {40 + step % 3}ms\n" for step in range(100)))
    assert not {"evaluation", "checkpoint"} & {total.phase for total in explain(read(str(log))).ledger.phases}


def saved(script: Script, *, ends: bool) -> None:
    """Six checkpoints of 0.4 s, each printed before or after it is written, with a pause of 0.8 s after two."""
    script.print("begin")
    for part in range(6):
        steps(script, 20 * part + 1, 20 * part + 20)
        if not ends:
            script.print(f"saving checkpoint to step_{20 * part + 20}.pt")
        script.spend("checkpoint", 0.4)
        if ends:
            script.print(f"saved checkpoint to step_{20 * part + 20}.pt")
        if part in {1, 3}:
            script.spend("stall", 0.8)
    steps(script, 121, 140)


def test_the_line_of_a_checkpoint_ends_it(tmp_path):
    """What comes after "saved" is none of it."""
    script = Script(tmp_path)
    saved(script, ends=True)
    phases = script.phases()
    assert phases["checkpoint"].seconds == pytest.approx(script.true["checkpoint"], rel=0.03)
    assert phases["stall"].seconds == pytest.approx(script.true["stall"], rel=0.03)
    script.holds(phases, "checkpoint", "step")


def test_the_line_of_a_checkpoint_begins_it(tmp_path):
    """What one has far beyond the others is something else."""
    script = Script(tmp_path)
    saved(script, ends=False)
    phases = script.phases()
    script.holds(phases, "checkpoint", "step")
    assert phases["checkpoint"].seconds == pytest.approx(script.true["checkpoint"], rel=0.05)


def test_the_last_checkpoint_does_not_last_until_the_end(tmp_path):
    """An evaluation that prints nothing follows it."""
    script = Script(tmp_path)
    script.print("begin")
    for part in range(3):
        steps(script, 20 * part + 1, 20 * part + 20)
        script.spend("evaluation", 0.5)
        script.print(f"step {20 * part + 20}: val loss {3 - part / 10:.4f}")
        script.spend("checkpoint", 0.3)
        script.print(f"saved checkpoint to step_{20 * part + 20}.pt")
    script.spend("evaluation", 0.6)
    script.print("all done")
    phases = script.phases()
    script.holds(phases, "evaluation", "checkpoint", "step")
    assert phases["checkpoint"].seconds == pytest.approx(script.true["checkpoint"], rel=0.1)


def test_an_evaluation_after_a_printed_step_ends_with_its_line(tmp_path):
    """The steps print their own time; what follows the evaluation's line is no evaluation."""
    script = Script(tmp_path)
    script.print("begin")
    for epoch in range(3):
        for step in range(70 * epoch + 1, 70 * epoch + 71):
            script.spend("step", 0.05)
            if step % 10 == 0:
                script.print(f"Epoch {epoch} | iter {step} | loss {4 - step / 100:.4f} | iter time 50.{step % 7}0ms")
        script.spend("evaluation", 0.8)
        script.print(f"Epoch {epoch} | val loss {2 - epoch / 10:.4f}")
        script.spend("checkpoint", 0.4)
    phases = script.phases()
    script.true["checkpoint"] -= 0.4  # after the last line
    script.holds(phases, "evaluation", "checkpoint")
    assert phases["evaluation"].high_s - phases["evaluation"].low_s < 1.7  # what is after the last row apart


def test_a_checkpoint_between_epochs_that_print_their_time_is_apart_from_the_evaluation(tmp_path):
    script = Script(tmp_path)
    script.print("begin")
    for epoch in range(1, 9):
        script.spend("step", 1.5)
        script.spend("evaluation", 0.6)
        script.print(f"Epoch {epoch}/8 - 1.50s - val_acc: 0.9{epoch} - val_loss: 0.{20 - epoch}")
        if epoch % 2 == 0:
            script.spend("checkpoint", 0.4)
            script.print(f"model saved to {epoch}.joblib")
    phases = script.phases()
    script.holds(phases, "step", "evaluation", "checkpoint")
    assert phases["checkpoint"].seconds == pytest.approx(1.6, abs=0.05)


def test_epochs_of_whole_seconds_leave_room_for_what_was_cut_off(tmp_path):
    script = Script(tmp_path)
    script.print("finding a learning rate")
    for epoch in range(1, 5):
        script.spend("step", 4.5)
        script.spend("evaluation", 0.75)
        script.print(f"Epoch: 0{epoch} | Train Loss: {3 / epoch:.3f} | Val. Loss: {2 / epoch:.3f} | Epoch Time: 0m 4s")
        script.spend("checkpoint", 0.35)
    script.true["checkpoint"] -= 0.35
    script.holds(script.phases(), "step", "evaluation", "checkpoint")


def test_a_checkpoint_is_none_of_what_came_before_another_line(tmp_path):
    """The result of an evaluation that nothing names as one is printed right before the checkpoint."""
    script = Script(tmp_path)
    script.print("***** Running training *****")
    for epoch in range(4):
        for step in range(25 * epoch + 1, 25 * epoch + 26):
            script.spend("step", 0.09)
            if step % 5 == 0:
                script.print(f"INFO - __main__ - epoch {epoch} step {step} loss {14 - step / 20:.4f}")
        script.spend("evaluation", 0.8)
        script.print(f"INFO - __main__ - epoch {epoch}: mse {13 - epoch:.4f}")
        script.print(f"INFO - accelerate.accelerator - Saving current state to out/epoch_{epoch}")
        script.spend("checkpoint", 0.4)
    phases = script.phases()
    script.true["checkpoint"] -= 0.4
    script.holds(phases, "evaluation", "checkpoint")
    assert phases["checkpoint"].seconds == pytest.approx(1.2, abs=0.1)


def test_a_bar_of_less_than_a_second_is_timed_by_its_lines(tmp_path):
    """`[00:00<00:00` says nothing of 0.7 s; every second step is drawn, and one step waits as long."""
    script = Script(tmp_path)

    def bar(name: str, done: int, total: int, passed: float) -> None:
        clock = f"00:{int(passed):02d}<00:00"
        shown = f"{done}/{total} [{clock}, {done / max(passed, 0.01):.2f}it/s]"
        script.print(f"{name}: {100 * done // total:3d}%|{'#' * (done * 10 // total):10}| {shown}")

    script.print("begin")
    for epoch in range(4):
        began = script.now
        bar(f"Epoch {epoch}", 0, 50, 0)
        for step in range(1, 51):
            script.spend("step", 0.065)
            if epoch == 3 and step == 30:
                script.spend("stall", 0.7)
            if step % 2 == 0:
                bar(f"Epoch {epoch}", step, 50, script.now - began)
        began = script.now
        for batch in range(2, 11, 2):
            script.spend("evaluation", 0.14)
            bar("val", batch, 10, script.now - began)
        script.spend("checkpoint", 0.5)
        script.print(f"Epoch {epoch} | snapshot saved")
    script.holds(script.phases(), "evaluation", "checkpoint")


def test_epochs_that_each_hold_an_evaluation_and_show_none(tmp_path):
    """The fastest of them has one as well."""
    script = Script(tmp_path)
    script.print("begin")
    for epoch in range(5):
        script.spend("step", 3.0)
        script.spend("evaluation", 0.7)
        script.spend("checkpoint", 0.4)
        script.print(f"epoch {epoch}: loss_D {1.2 - epoch / 20:.3f} loss_G {0.6 + epoch / 30:.3f}")
    script.holds(script.phases(), "step", "evaluation", "checkpoint")
