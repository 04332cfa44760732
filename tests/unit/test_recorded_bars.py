"""Recordings of programs that draw bars, or print times of their own: when each of their lines came."""

from __future__ import annotations

import pytest

from stepscope.analysis.explain import explain
from stepscope.i18n import Language
from stepscope.lines.format import Clock, Format, Line
from stepscope.reading.bulk.recipe import _digits_may_matter
from stepscope.reading.reader import read
from stepscope.report import terminal
from tests.unit.test_recordings import Script


def test_a_line_with_other_digits_may_be_another_kind_of_line():
    lines = (Line("chatter", r"left [1-9]s"), Line("fact", r"left 0s"))
    fmt = Format(title="x", url="x", lines=lines, samples=(), clock=Clock(covers="stamp", includes=(), note="x"))
    assert _digits_may_matter(fmt, "left 5s", None)
    assert not _digits_may_matter(fmt, "gone 5s", None)


def keras(script: Script, *, evaluations: list[float], saves: str = "") -> None:
    """Epochs of 50 batches, their bar drawn again for every tenth: ours, in the shape of Keras 3."""
    for epoch, seconds in enumerate(evaluations, 1):
        script.print(f"Epoch {epoch}/{len(evaluations)}")
        for batch in range(10, 51, 10):
            script.spend("step", 0.8)
            left = (50 - batch) // 10
            # It goes back over the bar before it draws the next.
            script.print(f"{batch}/50 ━━━━━━━━━━━━━━━━━━━━ {left}s 80ms/step - loss: {9 - epoch / 9:.4f}" + 54 * "\b")
        script.spend("evaluation", seconds)
        if saves == "told":
            script.print(f"Epoch {epoch}: saving model to e{epoch}.keras")
        if saves:
            script.spend("checkpoint", 0.5)
        script.print(
            f"50/50 ━━━━━━━━━━━━━━━━━━━━ 6s 110ms/step - loss: {9 - epoch / 9:.4f} - val_loss: {8 - epoch / 9:.4f}"
        )


@pytest.mark.parametrize("saves", ["", "silent", "told"])
def test_an_evaluation_lasts_from_the_full_bar_to_the_line_with_its_result(tmp_path, saves):
    script = Script(tmp_path)
    keras(script, evaluations=[2.0, 1.5, 1.5, 1.5], saves=saves)
    script.true.setdefault("checkpoint", 0.0)
    phases = script.phases()
    script.holds(phases, "step", "evaluation", "checkpoint")
    most = {"": 6.5, "silent": 8.5, "told": 6.5}[saves]
    assert phases["evaluation"].seconds == pytest.approx(most, abs=0.01)
    assert phases["evaluation"].high_s <= most + 0.3
    if saves == "told":
        assert phases["checkpoint"].seconds == pytest.approx(2.0, abs=0.05)


def test_a_full_bar_that_came_with_the_result_tells_nothing(tmp_path):
    """As in recordings of bars that go back before they are drawn again, of version 0.2.0."""
    script = Script(tmp_path)
    for epoch in range(1, 5):
        script.print(f"Epoch {epoch}/4")
        script.spend("step", 4.0)
        script.spend("evaluation", 1.5)
        script.print(f"50/50 ━━━━━━━━━━━━━━━━━━━━ 0s 80ms/step - loss: {9 - epoch / 9:.4f}")
        script.print(f"50/50 ━━━━━━━━━━━━━━━━━━━━ 6s 110ms/step - loss: {9 - epoch / 9:.4f} - val_loss: 8.1")
    script.holds(script.phases(), "step", "evaluation")


def test_a_logger_called_train_does_not_hide_what_it_logs(tmp_path):
    """The lines have dates of their own, and the name of the logger is in the words before the loss."""
    script = Script(tmp_path)
    for step in range(1, 121):
        script.spend("step", 0.05)
        if step == 51:
            script.spend("data", 1.1)
        date = f"2026-11-20 00:{22 + int(script.now) // 60 % 30:02d}:{script.now % 60:06.3f}".replace(".", ",")
        if step % 10 == 0:
            script.print(f"{date} INFO train: step: {step}  loss: {3 - step / 90:.4f}  tps: 146.1  time/step: 0.0500")
        if step % 40 == 0:
            script.spend("evaluation", 0.7)
            script.print(f"{date} INFO train: validation loss: {4 - step / 90:.4f}")
            script.print("lib/checkpoint/utils.py:485: UserWarning: the intent is to save in one process")
            script.spend("checkpoint", 0.45)
            script.print(f"{date} INFO train: Finished saving the checkpoint at step {step}")
    script.phases()
    run = read(str(tmp_path))
    assert [stop.evaluated and stop.saved for stop in run.stops] == [True, True, True]


def test_a_last_save_may_be_shorter_than_the_one_before(tmp_path):
    """Nothing says when it was over: what follows it may be something else."""
    script = Script(tmp_path)
    for step in range(1, 61):
        script.spend("step", 0.09)
        script.print(f"step {step}/60 loss {4 - step / 60:.4f}")
        if step in {30, 60}:
            script.print(f"saving checkpoint to out/step{step}.pt")
            script.spend("checkpoint", 0.59 if step == 30 else 0.43)
    script.spend("other", 0.45)
    script.print("done")
    script.holds(script.phases(), "checkpoint")


def test_a_recording_without_iterations_is_not_told_to_be_recorded(tmp_path):
    script = Script(tmp_path)
    for line in ("GPU available: False, used: False", "TPU available: False, using: 0 TPU cores"):
        script.print(line)
    script.spend("step", 5.0)
    script.print("`Trainer.fit` stopped: `max_epochs=3` reached.")
    script.phases()
    text = terminal.render(explain(read(str(tmp_path))), Language.load("en"))
    assert "run --trace" in " ".join(text.split())
