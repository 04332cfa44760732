"""The commands: what a person types, and what they are told."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file

from stepscope.cli import train as train_command
from stepscope.cli._train_config import SMALL
from stepscope.core.installing import install_command
from stepscope.i18n import Language, languages
from stepscope.trainer.config import TrainConfig, TrainerError
from stepscope.trainer.extras import device as device_module
from stepscope.trainer.extras.device import pick_precision, pick_threads, probe_bfloat16
from stepscope.trainer.extras.settings import build
from stepscope.trainer.extras.weights import load_gpt2
from stepscope.trainer.model import GPT, ModelArgs
from stepscope.trainer.state import as_before
from tests.trainer.conftest import TINY

FAST = ["--max_iters=4", "--eval_interval=2", "--n_layer=1", "--n_embd=32", "--block_size=16", "--eval_iters=4"]


def test_without_arguments_it_trains_samples_and_ends_with_the_ledger(cli, tmp_path):
    """The same path as no arguments at all, only shorter."""
    out_dir = tmp_path / "out"
    code, out, err = cli("train", *FAST, f"--out_dir={out_dir}", "--log_interval=1", "--lang=en")
    assert code == 0, err
    assert re.search(r"^iter 4: loss \d\.\d{4}, time \d+\.\d\dms$", out, re.MULTILINE)
    opening, _, rest = err.partition("Starting PyTorch")
    assert opening.count("\n") == 3  # what it is going to do, not a list of settings
    assert "4 iterations on cpu" in opening
    assert "Overriding: recipe" not in out
    assert "What it writes before it has learned anything:" in rest
    assert "What it writes after 5 iterations:" in rest
    assert "start-up" in err  # the ledger; this process is old, so that is most of it
    assert "stepscope sample" in err
    log = (out_dir / "train.log").read_text()
    assert log.endswith(out)
    assert log.startswith("Overriding: dataset = stdlib\n")
    assert "mfu" not in log
    shares = [float(text) for text in re.findall(r"  ([\d.]+)%$", err, re.MULTILINE)]
    assert sum(shares) == pytest.approx(100, abs=2)


@pytest.mark.parametrize("code", languages())
def test_what_a_run_without_arguments_is_going_to_do_takes_three_lines(code):
    """In 80 columns, in every language."""
    lines = [Language.load(code).text(key, **values) for key, values in train_command.opening(build(SMALL))]
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80, lines


def test_on_a_terminal_sentences_break_between_words(monkeypatch):
    text = "eight checkpoints were written in 323 ms\n  forward  1 min"
    monkeypatch.setenv("COLUMNS", "24")
    assert train_command._fitted(text) == text  # a file, or a pipe
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert train_command._fitted(text).splitlines() == [
        "eight checkpoints were",
        "written in 323 ms",
        "  forward  1 min",
    ]


def test_sampling_from_what_was_trained(cli, tmp_path):
    cli("train", *FAST, f"--out_dir={tmp_path}", "--lang=en")
    flags = [f"--out_dir={tmp_path}", "--num_samples=2", "--max_new_tokens=20", "--start=def "]
    first = cli("sample", *flags)
    assert first[0] == 0
    texts = first[1].split("\n---------------\n")
    assert [len(text) for text in texts] == [24, 24, 0]
    assert all(text.startswith("def ") for text in texts[:2])
    assert cli("sample", *flags) == first  # one seed, one text
    code, _, err = cli("sample", f"--out_dir={tmp_path}", "--start=ä", "--lang=en")
    assert code == 1
    assert "train-unknown-character" in err


@pytest.mark.parametrize(("code", "title"), [("en", "error"), ("es", "error"), ("de", "Fehler"), ("fr", "erreur")])
def test_what_is_missing_is_said_in_every_language(cli, tmp_path, code, title):
    for flags in (["--lang", code], [f"--lang={code}"]):
        status, _, err = cli("sample", f"--out_dir={tmp_path}", *flags)
        assert status == 1
        assert f"{title}[train-no-checkpoint]" in err


def test_an_empty_text_makes_no_data(cli, tmp_path):
    (tmp_path / "empty.txt").touch()
    status, _, err = cli("data", "prepare", tmp_path / "empty.txt", "--out", tmp_path / "data", "--lang=en")
    assert status == 1
    assert "[data-empty]" in err


@pytest.mark.parametrize("command", ["train", "sample"])
def test_without_pytorch_it_says_what_to_install(cli, monkeypatch, command):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else real(name))
    code, _, err = cli(command, "--lang=en")
    assert code == 1
    assert install_command("train") in err


def test_a_nanogpt_config_and_flags_over_it(cli, tmp_path, corpus):
    config = tmp_path / "config.py"
    lines = [f"{name} = {value!r}" for name, value in TINY.items()]
    config.write_text("# a tiny network\n" + "\n".join(lines) + f"\nout_dir = {str(tmp_path / 'out')!r}\n")
    code, out, err = cli("train", config, f"--dataset={corpus}", "--max_iters=2", "--batch_size=3", "--lang=en")
    assert code == 0, err
    assert f"Overriding config with {config}:\n# a tiny network\n" in out
    assert "Overriding: batch_size = 3" in out
    assert "tokens per iteration will be: 96" in out
    assert "What it writes by now" not in err


def test_the_precision_follows_the_probe(monkeypatch):
    config = build({**TINY, "dtype": "bfloat16"})
    cpu = torch.device("cpu")
    said: list[str] = []

    def say(key, **_):
        said.append(key)

    for answer, wanted in ((0.6, "bfloat16"), (1.7, "float32"), (None, "float32")):
        monkeypatch.setattr(device_module, "probe_bfloat16", lambda _, answer=answer: answer)
        assert pick_precision(config, cpu, say) == wanted
    assert said == ["train-bf16-slower", "train-bf16-crashes"]
    assert pick_precision(build({**TINY, "dtype": "auto"}), cpu, say) == "float32"


def test_a_long_modern_run_takes_bfloat16_where_the_cpu_gains_by_it(monkeypatch):
    """A short run and one whose losses shall be nanoGPT's do not even try."""
    long = build({**TINY, "dtype": "auto", "recipe": "modern", "n_embd": 384, "n_layer": 6, "max_iters": 100_000_000})
    said: list[tuple[str, dict[str, float]]] = []
    tried: list[TrainConfig] = []
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)

    def pick(config, answer):
        monkeypatch.setattr(device_module, "probe_bfloat16", lambda each: (tried.append(each), answer)[1])
        return pick_precision(config, torch.device("cpu"), lambda key, **values: said.append((key, values)))

    assert pick(long, 0.4) == "bfloat16"
    assert said == [("train-bf16-faster", {"ratio": 0.4})]
    assert [pick(long, answer) for answer in (0.9, 1.7, None)] == ["float32"] * 3
    assert (len(said), len(tried)) == (1, 4)
    for other in ({"max_iters": 100}, {"recipe": "nanogpt"}, {"eval_only": True}, {"dtype": "float32"}):
        assert pick(replace(long, **other), 0.4) == "float32"
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert pick(long, 0.4) == "float32"
    assert len(tried) == 4


def test_a_resumed_run_keeps_the_precision_that_the_machine_chose():
    config, cpu = build({**TINY, "dtype": "auto"}), torch.device("cpu")
    saved = {"recipe": "modern", "device": "cpu", "dtype": "bfloat16", "threads": 2}
    assert as_before(config, saved, cpu).dtype == "bfloat16"
    assert as_before(replace(config, dtype="float32"), saved, cpu).dtype == "float32"
    # Another device decides anew, and nanoGPT writes down a precision that it does not compute in on a CPU.
    assert as_before(config, {**saved, "device": "cuda:1"}, cpu).dtype == "auto"
    assert as_before(config, {"device": "cpu", "dtype": "bfloat16"}, cpu).dtype == "auto"


def test_threads_are_those_that_are_idle(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    for load, wanted in ((0.2, 4), (1.1, 3), (9.0, 1)):
        monkeypatch.setattr(device_module.os, "getloadavg", lambda load=load: (load, 0, 0))
        assert pick_threads(build(TINY)) == wanted
    assert pick_threads(build({**TINY, "threads": 2})) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert pick_threads(build(TINY)) == 4


def test_the_probe_survives_what_it_probes():
    """Whatever bfloat16 does on this machine, a number or None comes back and this process lives on."""
    slower = probe_bfloat16(build(TINY))
    assert slower is None or (math.isfinite(slower) and slower > 0)


@pytest.mark.parametrize(
    ("script", "precision", "said"),
    [
        ("kill -ILL $$", "float32", [("train-bf16-crashes", {})]),
        ("echo 1.64", "float32", [("train-bf16-slower", {"ratio": 1.64})]),
        ("echo 0.43", "bfloat16", []),
    ],
)
def test_bfloat16_only_after_a_child_has_survived_it_and_was_faster(tmp_path, monkeypatch, script, precision, said):
    """A child that dies as on the machines that claim matrix units they do not have."""
    child = tmp_path / "python"
    child.write_text(f"#!/bin/sh\n{script}\n")
    child.chmod(0o755)
    monkeypatch.setattr(device_module.sys, "executable", str(child))
    heard: list[tuple[str, dict[str, object]]] = []
    config = build({**TINY, "dtype": "bfloat16"})
    picked = pick_precision(config, torch.device("cpu"), lambda key, **args: heard.append((key, args)))
    assert (picked, heard) == (precision, said)


def test_gpt2s_weights_come_from_a_local_folder(tmp_path):
    """In Hugging Face's layout: linear layers the other way round, no head of their own."""
    torch.manual_seed(3)
    args = ModelArgs(n_layer=2, n_head=2, n_embd=8, block_size=16, bias=True, vocab_size=40, dropout=0.0)
    model = GPT(args)
    weights = {}
    for name, value in model.state_dict().items():
        if name != "lm_head.weight":
            turned = name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))
            weights[name.removeprefix("transformer.")] = (value.t() if turned else value).contiguous()
    save_file(weights, tmp_path / "model.safetensors")
    shape = {"n_layer": 2, "n_head": 2, "n_embd": 8, "n_positions": 16, "vocab_size": 40}
    (tmp_path / "config.json").write_text(json.dumps(shape))
    loaded = load_gpt2("gpt2", str(tmp_path), dropout=0.0)
    tokens = torch.arange(10).view(1, 10)
    assert torch.equal(loaded(tokens, tokens)[0], model(tokens, tokens)[0])
    (tmp_path / "config.json").write_text(json.dumps({**shape, "n_embd": 16}))
    with pytest.raises(TrainerError, match="train-bad-gpt2"):
        load_gpt2("gpt2", str(tmp_path), dropout=0.0)


def test_a_folder_that_cannot_be_written_is_told(cli, tmp_path):
    target = tmp_path / "file"
    target.write_text("in the way")
    code, _, err = cli("train", *FAST, f"--out_dir={target}", "--lang=en")
    assert code == 1
    assert "train-out-dir" in err


def test_after_an_evaluation_alone_nothing_is_offered_that_is_not_there(cli, tmp_path):
    """No checkpoint was written: there is nothing to sample from."""
    code, _, err = cli("train", *FAST, f"--out_dir={tmp_path / 'out'}", "--eval_only=True", "--lang=en")
    assert code == 0, err
    assert "evaluation" in err  # the ledger
    assert "stepscope sample" not in err
    assert not (tmp_path / "out" / "ckpt.pt").exists()


def test_a_budget_of_seconds_is_no_setting(cli):
    """It was planned from three iterations and missed by half, either way."""
    assert cli("train", "--budget=60")[0] == 2


@pytest.mark.parametrize(("stalled", "is_said"), [(0.1, True), (0.5, False)])
def test_what_checkpoints_saved_is_said_where_they_saved_something(stalled, is_said):
    """A tiny one can stall for longer than it takes to write."""
    saving = {"saves": 2, "bytes": 10**6, "stalled_s": stalled, "written_in_s": 0.3, "step_while_writing_ratio": None}
    ledger = {"wall_s": 2.0, "iterations": 5, "phases": {"forward": 2.0}, "checkpoint": saving}
    text = train_command.ledger_text(ledger, Language.load("en"))
    assert ("Waiting for the disk would have cost 200 ms more." in text) == is_said
