"""Lines without a number are counted: how many steps lie between two of them."""

from __future__ import annotations

import math

import pytest

from stepscope.core.settings import Settings
from stepscope.reading.counted_lines import counted_lines
from stepscope.reading.reader import read


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
