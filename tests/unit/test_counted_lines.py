"""Lines without a number are counted: how many steps lie between two of them."""

from __future__ import annotations

import math

import pytest

from stepscope.core.settings import Settings
from stepscope.reading.counted_lines import CountedLines, all_steps, counted_lines
from stepscope.reading.reader import read
from tests.unit.logs import report_of


def per_line(stated, **settings):
    layer = Settings().with_layer(settings, "log")
    return counted_lines(layer, stated, epochs_done=[0.5], num_lines=4).interval


def test_the_interval_of_logging_is_the_number_of_steps():
    assert per_line({}, log_interval=10) == 10


def test_a_share_of_the_epochs_is_a_share_of_the_steps():
    assert per_line({"num_epochs": 2}, max_steps=80) == 5


@pytest.mark.parametrize(
    ("stated", "settings"),
    [
        ({}, {"log_interval": 1 << 52}),
        ({"num_epochs": 1e-300}, {"max_steps": 1 << 50}),
        ({"train_runtime_s": math.inf, "train_steps_per_s": 1.0}, {}),
        ({"train_runtime_s": 1e300, "train_steps_per_s": 1e300}, {}),
    ],
)
def test_steps_beyond_any_training_are_not_believed(stated, settings):
    assert per_line(stated, **settings) == 1


def test_numbers_of_steps_are_not_cut_to_four_bytes(tmp_path):
    log = tmp_path / "train.log"
    header = "Total optimization steps = 6,000,000,000\nNum Epochs = 3\n"
    lines = [f"{{'loss': 2.{i}, 'learning_rate': 2e-05, 'epoch': {i + 1}.0}}\n" for i in range(3)]
    log.write_text(header + "".join(lines))
    assert read(str(log)).steps.step.tolist()[-1] > 1 << 31


def dicts(num, *, total):
    """A Trainer's dicts without their steps, and its summary; its rate has three digits."""
    lines = [
        f"{{'loss': .{900 - 7 * at}, 'grad_norm': 1.5, 'learning_rate': {1e-6 - at / 1e8:.9f}, 'epoch': {at / 66:.2f}}}"
        for at in range(1, num + 1)
    ]
    seconds = total * 2.1
    said = f"'train_runtime': {seconds:.4f}, 'train_samples_per_second': 240.1, 'train_steps_per_second': {1 / 2.1:.3f}"
    return [*lines, f"{{{said}, 'train_loss': 0.27, 'epoch': 0.39}}"]


def test_the_steps_after_the_last_line_are_known_by_the_mean_rate():
    """25 dicts by 30 are 750 steps, and 1596 s at 0.476 a second are 760."""
    report = report_of(dicts(25, total=760))
    assert report.state.step == pytest.approx(760, abs=1)
    assert report.ledger.step.typical_s == pytest.approx(2.1, rel=0.005)
    assert all_steps({"train_runtime_s": 1596.0, "train_steps_per_s": 0.476}, CountedLines(30), 25) == 760
    assert all_steps({"train_runtime_s": 1596.0, "train_steps_per_s": 0.476}, CountedLines(1), 25) is None
    assert all_steps({"train_runtime_s": 1596.0, "train_steps_per_s": 0.476}, CountedLines(30), 20) is None
    assert all_steps({"train_runtime_s": math.inf, "train_steps_per_s": 1.0}, CountedLines(30), 20) is None


def test_an_epoch_that_is_two_numbers_in_one_is_none(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("".join(f"{{'loss': 2.{i}, 'learning_rate': 2e-05, 'epoch': 0.{i}21.0{i}}}\n" for i in range(1, 6)))
    assert len(read(str(log))) == 5
