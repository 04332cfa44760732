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
