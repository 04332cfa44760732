"""nanoGPT's settings, read and not run."""

from __future__ import annotations

import pytest

from stepscope.trainer.config import TrainConfig, TrainerError, learning_rate_at
from stepscope.trainer.extras.settings import build, parse_flag


def test_defaults_are_nanogpts():
    config = TrainConfig()
    assert (config.batch_size, config.block_size, config.gradient_accumulation_steps) == (12, 1024, 40)
    assert (config.learning_rate, config.min_lr, config.max_iters, config.warmup_iters) == (6e-4, 6e-5, 600000, 2000)
    assert (config.eval_interval, config.eval_iters, config.always_save_checkpoint) == (2000, 200, True)
    assert (config.device, config.compile, config.backend, config.seed) == ("cuda", True, "nccl", 1337)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("batch_size", "32", 32),
        ("max_iters", "1e5", 100000),
        ("compile", "False", False),
        ("compile", "true", True),
        ("learning_rate", "1", 1.0),
        ("learning_rate", "1e-3", 1e-3),
        ("dataset", "2024", "2024"),
        ("out_dir", "out-x", "out-x"),
    ],
)
def test_a_flag_is_read_as_nanogpt_reads_it(name, text, value):
    parsed = parse_flag(name, text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(("name", "text"), [("batch_size", "many"), ("compile", "1"), ("batch_size", "1.5")])
def test_a_value_of_another_type_is_told(name, text):
    with pytest.raises(TrainerError, match="train-setting-type"):
        parse_flag(name, text)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"batch_size": 0}, "train-range"),
        ({"dropout": 1.0}, "train-range"),
        ({"learning_rate": float("nan")}, "train-range"),
        ({"n_embd": 100, "n_head": 3}, "train-heads"),
        ({"recipe": "ancient"}, "train-choice"),
        ({"init_from": "gpt3"}, "train-choice"),
        ({"recipe": "modern", "init_from": "gpt2"}, "train-gpt2-recipe"),
        ({"recipe": "modern", "n_embd": 6, "n_head": 2}, "train-odd-head"),
    ],
)
def test_settings_that_make_no_sense_are_told(values, key):
    with pytest.raises(TrainerError, match=key):
        build(values)


def test_the_schedule_warms_up_and_follows_a_cosine():
    config = build({"learning_rate": 1.0, "min_lr": 0.1, "warmup_iters": 9, "lr_decay_iters": 109})
    assert learning_rate_at(config, 0) == pytest.approx(0.1)
    assert learning_rate_at(config, 9) == pytest.approx(1.0)
    assert learning_rate_at(config, 59) == pytest.approx(0.55)
    assert learning_rate_at(config, 109) == learning_rate_at(config, 5000) == pytest.approx(0.1)


def test_a_schedule_without_decay_phase_does_not_divide_by_zero():
    """nanoGPT crashes at iteration 100 of such a config."""
    config = build({"warmup_iters": 100, "lr_decay_iters": 100, "learning_rate": 1e-3, "min_lr": 1e-4})
    assert learning_rate_at(config, 100) == learning_rate_at(config, 101) == 1e-4


def test_a_config_file_is_read_and_never_run(cli, tmp_path):
    witness = tmp_path / "ran"
    path = tmp_path / "config.py"
    path.write_text(f"open({str(witness)!r}, 'w')\nbatch_size = 4 * 2\nn_head = 0\n")
    code, _, err = cli("train", path, "--lang", "en")
    assert code == 2
    assert "train-range" in err
    assert not witness.exists()


def test_a_setting_that_only_running_could_tell_is_refused(cli, tmp_path):
    path = tmp_path / "config.py"
    path.write_text("import torch\n\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n")
    code, _, err = cli("train", path, "--lang", "en")
    assert code == 1
    assert "train-config-expression" in err
    assert f"{path}:3" in err


def test_an_unknown_flag_is_wrong_usage(cli):
    assert cli("train", "--batchsize=3")[0] == 2
