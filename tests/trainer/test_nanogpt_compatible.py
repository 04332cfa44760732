"""What works with nanoGPT works here: its config files, its flags, its sample.py and bench.py, its trackers."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read
from stepscope.trainer import state
from stepscope.trainer.data import Split
from stepscope.trainer.extras.corpora import write_char_folder
from stepscope.trainer.model import GPT, ModelArgs
from tests.trainer.conftest import losses_of, same
from tests.trainer.stock_configs import STOCK, text_of

TINY_FLAGS = ["--device=cpu", "--compile=False", "--block_size=16", "--batch_size=2", "--eval_iters=2"]
TINY_SHAPE = ["--n_layer=1", "--n_head=2", "--n_embd=16", "--gradient_accumulation_steps=1"]
SHORT = ["--max_iters=4", "--eval_interval=2", "--warmup_iters=1", "--lr_decay_iters=4"]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder such as nanoGPT's: its configs, small data of the names they want, GPT-2's weights in miniature."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "wandb", None)  # stock configs ask for it
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "config").mkdir()
    for name in STOCK:
        (tmp_path / "config" / name).write_text(text_of(name))
    for name in ("openwebtext", "shakespeare", "shakespeare_char"):
        (tmp_path / "data" / name).mkdir(parents=True)
        for split in ("train", "val"):
            (np.arange(400) * 7 % 40).astype(np.uint16).tofile(tmp_path / "data" / name / f"{split}.bin")
    torch.manual_seed(3)
    shape = {"n_layer": 2, "n_head": 2, "n_embd": 8, "block_size": 16, "bias": True, "vocab_size": 40}
    weights = {}
    for name, value in GPT(ModelArgs(**shape, dropout=0.0)).state_dict().items():
        if name != "lm_head.weight":
            turned = name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))
            weights[name.removeprefix("transformer.")] = (value.t() if turned else value).contiguous()
    (tmp_path / "gpt2").mkdir()
    save_file(weights, tmp_path / "gpt2" / "model.safetensors")
    described = {**shape, "n_positions": 16}
    (tmp_path / "gpt2" / "config.json").write_text(json.dumps(described))
    return tmp_path


@pytest.mark.parametrize("name", STOCK)
def test_a_config_with_the_settings_of_a_stock_one_runs(cli, checkout, name):
    """With another size and device only: trainings, a fine-tuning and the evaluations of GPT-2."""
    flags = [*TINY_FLAGS, *SHORT, "--out_dir=out"]
    flags += ["--gpt2_folder=gpt2"] if name.startswith(("eval", "finetune")) else TINY_SHAPE
    code, out, err = cli("train", f"config/{name}", *flags, "--lang=en")
    assert code == 0, err
    assert re.search(r"^step \d: train loss \d+\.\d{4}, val loss \d+\.\d{4}$", out, re.MULTILINE)
    assert (checkout / "out" / "ckpt.pt").exists() == (not name.startswith("eval"))
    assert (checkout / "out").exists() == (not name.startswith("eval"))


@pytest.mark.parametrize("line", ["learing_rate = 3", "Batch_size = 4", "eval_itres = 2"])
def test_a_misspelt_setting_in_a_config_is_an_error_with_a_suggestion(cli, checkout, line):
    (checkout / "c.py").write_text(f"batch_size = 2\n{line}\n")
    # With an end: where the slip goes unnoticed, the run fails the test instead of training for ever.
    code, _, err = cli("train", "c.py", *TINY_FLAGS, *TINY_SHAPE, "--max_iters=1", "--lang=en")
    assert code == 1
    assert "train-misspelt" in err
    assert {"learing_rate": "learning_rate", "Batch_size": "batch_size"}.get(line.split()[0], "eval_iters") in err


def test_other_names_in_a_config_are_said_or_used(cli, checkout):
    """A variable that the file itself uses is no slip; one that nothing uses has no effect, and that is said."""
    config = "tokens = 32\nblock_size = tokens // 2\nmy_note = 'hello'\n"
    (checkout / "c.py").write_text(config)
    flags = [flag for flag in TINY_FLAGS if "block_size" not in flag]
    settings = [*flags, *TINY_SHAPE, *SHORT, "--dataset=shakespeare", "--out_dir=o"]
    code, out, err = cli("train", "c.py", *settings, "--lang=en")
    assert code == 0, err
    assert "my_note in c.py is not a setting" in err
    assert "tokens in" not in err
    assert "tokens per iteration will be: 32" in out


def test_quotes_around_a_value_are_nanogpts(cli, checkout):
    """`--dataset='x'` with the quotes in it: nanoGPT reads a literal."""
    (checkout / "c.py").write_text("")
    flags = [*TINY_FLAGS, *TINY_SHAPE, *SHORT, "--dataset='shakespeare'", "--out_dir=o"]
    assert cli("train", "c.py", *flags)[0] == 0


def test_an_evaluation_alone_evaluates_what_it_says_and_needs_no_optimizer(trained, monkeypatch):
    """`eval_iters` batches of both splits, as in nanoGPT's eval_gpt2.py."""
    trained(max_iters=10)
    rows: dict[str, int] = {}
    windows = Split.windows

    def counted(self, starts, device):
        rows[self.path.stem] = rows.get(self.path.stem, 0) + len(starts)
        return windows(self, starts, device)

    def never(*_: object) -> None:
        raise AssertionError("an optimizer was made")

    monkeypatch.setattr(Split, "windows", counted)
    monkeypatch.setattr(state, "make_optimizers", never)
    run = trained(eval_only=True, init_from="resume", eval_iters=7)
    first_batch = 4  # fetched before the loop begins
    assert (rows["train"] - 2 * first_batch, rows["val"]) in {(7 * 4, 7 * 4), (7 * 4 - first_batch, 7 * 4)}
    assert run.log.splitlines()[-1].startswith("step 10: train loss ")


def test_a_checkpoint_resumes_without_any_setting(cli, checkout):
    """The modern recipe, nanoGPT's data: nothing but the folder is named, and the result is the uninterrupted run's."""
    write_char_folder("the quick brown fox\njumps over the lazy dog\n" * 20, checkout / "data" / "fox")
    flags = [*TINY_FLAGS, *TINY_SHAPE, "--dataset=fox", "--recipe=modern", "--eval_interval=2", "--warmup_iters=1"]
    (checkout / "c.py").write_text("max_iters = 8\nlr_decay_iters = 8\n")
    assert cli("train", "c.py", *flags, "--out_dir=whole")[0] == 0
    assert cli("train", "c.py", *flags, "--out_dir=parts", "--max_iters=4")[0] == 0
    code, _, err = cli("train", "--out_dir=parts", "--init_from=resume", "--max_iters=8", "--lang=en")
    assert code == 0, err
    assert "recipe" not in err
    assert losses_of(checkout / "parts") == losses_of(checkout / "whole")
    load = [torch.load(checkout / name / "ckpt.pt", weights_only=True) for name in ("parts", "whole")]
    assert all(same(load[0][key], load[1][key]) for key in ("model", "optimizer", "muon", "iter_num"))
    # With a config that says nothing of the recipe, too; and with the other one asked for, the checkpoint counts.
    assert cli("train", "c.py", *flags[:-3], "--out_dir=parts", "--init_from=resume", "--max_iters=9")[0] == 0
    code, _, err = cli(
        "train", "--out_dir=parts", "--init_from=resume", "--max_iters=10", "--recipe=nanogpt", "--lang=en"
    )
    assert code == 0, err


# What nanoGPT's own sample.py printed (commit 3adf61e, torch 2.13): --seed=11 --top_k=12 --max_new_tokens=40.
NANOGPT_TEXT = """
tkplzkpum kpp qtt
kpkkkkzkzt
mkkpz
kcxcj
---------------

tkplzkpum kpp qtt
kkkkkkzkzt
mkkkqt
mkeq
---------------
"""


def test_the_text_of_a_seed_is_nanogpts(cli, checkout):
    """Flags and config files as sample.py takes them; settings of a training in the same file do no harm."""
    write_char_folder("the quick brown fox\njumps over the lazy dog\n" * 50, checkout / "data" / "fox")
    args = {"n_layer": 1, "n_head": 2, "n_embd": 16, "block_size": 16, "bias": False, "vocab_size": 28, "dropout": 0.0}
    torch.manual_seed(5)
    weights = {name: value * 20 for name, value in GPT(ModelArgs(**args)).state_dict().items()}
    (checkout / "out").mkdir()
    saved = {"model": weights, "model_args": args, "iter_num": 1, "best_val_loss": 1.0, "config": {"dataset": "fox"}}
    torch.save(saved, checkout / "out" / "ckpt.pt")
    (checkout / "s.py").write_text("num_samples = 2\nmax_new_tokens = 40\nseed = 5\ndevice = 'cpu'\nbatch_size = 3\n")
    code, out, err = cli("sample", "s.py", "--seed=11", "--top_k=12", "--dtype=float32", "--compile=False")
    assert code == 0, err
    assert out == NANOGPT_TEXT
    (checkout / "s.py").write_text("num_sampels = 2\n")
    code, _, err = cli("sample", "s.py")
    assert (code, "num_samples" in err) == (1, True)


def test_where_only_the_best_is_kept_it_is_sampled(cli, checkout):
    """As with nanoGPT, whose ckpt.pt is the best one then. What nanoGPT writes into ckpt.pt later does not touch it."""
    write_char_folder("the quick brown fox\njumps over the lazy dog\n" * 20, checkout / "data" / "fox")
    (checkout / "c.py").write_text("always_save_checkpoint = False\n")
    assert cli("train", "c.py", *TINY_FLAGS, *TINY_SHAPE, *SHORT, "--dataset=fox", "--out_dir=out")[0] == 0
    newest = torch.load(checkout / "out" / "ckpt.pt", weights_only=True)
    torch.save({**newest, "model": {name: value * 0 for name, value in newest["model"].items()}}, "out/ckpt.pt")
    flags = ["--out_dir=out", "--num_samples=1", "--max_new_tokens=200", "--device=cpu"]
    best = cli("sample", *flags)[1]
    (checkout / "out" / "ckpt-best.pt").unlink()
    assert cli("sample", *flags)[1] != best


@pytest.mark.usefixtures("checkout")
def test_gpt2_is_sampled_from_a_local_folder(cli, monkeypatch):
    class Words:
        def encode(self, text: str, **_: object) -> list[int]:
            return [ord(char) % 40 for char in text]

        def decode(self, tokens: list[int]) -> str:
            return " ".join(map(str, tokens))

    monkeypatch.setattr("stepscope.trainer.extras.corpora.gpt2_encoding", Words)
    flags = ["--init_from=gpt2", "--gpt2_folder=gpt2", "--num_samples=1", "--max_new_tokens=5", "--device=cpu"]
    code, out, err = cli("sample", *flags, "--start=abc")
    assert code == 0, err
    assert len(out.split("\n")[0].split()) == 8


def test_a_network_whose_characters_are_elsewhere_says_so(cli, checkout):
    (checkout / "c.py").write_text("")
    write_char_folder("the quick brown fox\n" * 40, checkout / "data" / "fox")
    assert cli("train", "c.py", *TINY_FLAGS, *TINY_SHAPE, *SHORT, "--dataset=fox", "--out_dir=o")[0] == 0
    (checkout / "data" / "fox" / "meta.pkl").unlink()
    code, _, err = cli("sample", "--out_dir=o", "--device=cpu", "--lang=en")
    assert code == 1
    assert "sample-no-meta" in err


# What nanoGPT's bench.py prints for these (commit 3adf61e; two layers of width 32, on a CPU): its first losses.
NANOGPT_BENCH = ["10.8271", "10.8132", "10.7993", "10.7855"]


def test_bench_prints_nanogpts_losses_and_a_time(cli, checkout):
    flags = ["--real_data=False", "--device=cpu", "--compile=False", "--batch_size=2", "--block_size=16"]
    code, out, err = cli("bench", *flags, "--n_layer=2", "--n_head=2", "--n_embd=32")
    assert code == 0, err
    assert re.findall(r"^[0-3]/10 loss: (\S+)$", out, re.MULTILINE) == NANOGPT_BENCH
    assert re.search(r"^19/20 loss: \d+\.\d{4}\ntime per iteration: \d+\.\d{4}ms\n$", out, re.MULTILINE)
    (checkout / "c.py").write_text("dataset = 'shakespeare'\nn_layer = 1\nn_head = 1\nn_embd = 8\neval_iters = 3\n")
    code, out, err = cli("bench", "c.py", *flags[1:])
    assert code == 0, err


# -- trackers -----------------------------------------------------------------------------------------------------


def test_tensorboard_gets_the_figures(trained):
    pytest.importorskip("tensorboard")
    run = trained(max_iters=10, tensorboard=True)
    found = read(str(next((run.folder / "tensorboard").glob("events*"))))
    assert found.steps.step.tolist()[-1] == 10
    blob = next((run.folder / "tensorboard").glob("events*")).read_bytes()
    assert all(name in blob for name in (b"train/loss", b"val/loss", b"grad_norm", b"lr"))


def test_wandb_gets_the_figures_offline(trained, monkeypatch):
    """The real client, without a network; what it wrote is read by our own reader."""
    wandb = pytest.importorskip("wandb", reason="pip install wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    wandb.teardown()  # it reads the environment once
    run = trained(max_iters=10, wandb_log=True, wandb_project="p", wandb_run_name="r")
    (file,) = (run.folder / "wandb").glob("offline-run-*/run-*.wandb")
    assert b"val/loss" in file.read_bytes()
    assert len(explain(read(str(file))).run) > 5
    assert run.outcome.iteration == 11
    wandb.teardown()


def test_without_a_tracker_the_run_goes_on_and_says_so(trained, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    run = trained(max_iters=3, wandb_log=True, tensorboard=True)
    assert [key for key, _ in run.said] == ["train-no-wandb", "train-no-tensorboard"]
    assert run.outcome.iteration == 4
