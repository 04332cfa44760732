"""Settings in YAML, as trainers and W&B write them."""

from __future__ import annotations

import pytest

from stepscope.core.configfile import read_config
from stepscope.core.errors import InputError
from stepscope.core.yaml_subset import parse_yaml


def config(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return read_config(path)


def test_plain_settings(tmp_path):
    values = config(
        tmp_path,
        """# a run
---
max_steps: 12_000   # in all
learning_rate: 3e-4
output_dir: "out # 1"
compile: yes
warmup: .5
resume: null
prompt: |
  max_steps: 5
  and more text
eval_interval: 250
""",
    )
    assert values["max_steps"] == 12_000
    assert values["learning_rate"] == pytest.approx(3e-4)
    assert values["output_dir"] == "out # 1"
    assert values["compile"] is True
    assert values["eval_interval"] == 250
    assert "resume" not in values


def test_nested_settings_are_flattened(tmp_path):
    values = config(
        tmp_path,
        """trainer:
  max_steps: 900
  callbacks:
    - class: Early
      patience: 3
    - class: Save
optimizer: {lr: 0.1, betas: [0.9, 0.95]}
devices:
- 0
- 1
data: &data
  batch_size: 16
""",
    )
    assert (values["max_steps"], values["lr"], values["batch_size"]) == (900, 0.1, 16)


def test_wandb_writes_value_and_description(tmp_path):
    values = config(tmp_path, "wandb_version: 1\nmax_iters:\n  desc: null\n  value: 5000\nbatch_size:\n  value: 12\n")
    assert (values["max_iters"], values["batch_size"]) == (5000, 12)


@pytest.mark.parametrize("text", ["a: 1\nno value here\n", "a: 1\n\tb: 2\n", "a: 1\n    b\n  c: 3\nd"])
def test_what_is_no_yaml_is_said_so(tmp_path, text):
    with pytest.raises(InputError) as caught:
        config(tmp_path, text)
    assert caught.value.key == "config-syntax"


def test_deep_and_hostile_texts_end_well():
    deep = "\n".join(" " * depth + "a:" for depth in range(500))
    for text in (
        deep,
        "- " * 5000 + "x",
        "{" * 5000,
        "'" * 5000,
        "a: [" + "1," * 50_000,
        ": : :",
        "? x",
        "!!python/x y",
    ):
        try:
            parse_yaml(text)
        except ValueError:
            continue
