"""`--selftest`: every part passes on a sound device, and says so when something is wrong."""

from __future__ import annotations

import argparse
import signal
import types
from dataclasses import replace

import pytest
import torch

from stepscope.cli import train as train_command
from stepscope.i18n import Language, languages
from stepscope.trainer.extras import selftest
from stepscope.trainer.extras.settings import build

# `torchrun` and the compiler take their time; `tests/trainer/test_distributed.py` has the processes.
QUICK = [part for part in selftest.PARTS if part not in {"processes", "shard", "compile"}]


@pytest.mark.parametrize("part", QUICK)
def test_a_sound_device_passes(part, tmp_path):
    passed, facts = selftest.PARTS[part]("cpu", tmp_path)
    assert passed, facts


def broken_copy(monkeypatch):
    """A copy that is not there yet when it is believed: the previous values are written."""
    monkeypatch.setattr(torch.Tensor, "copy_", lambda self, *_, **__: self)


def broken_memory(monkeypatch):
    from stepscope.trainer.train import Evaluator

    original = Evaluator.__init__

    def four_at_once(self, *args, **named):
        original(self, *args, **named)
        self.batch_size *= 4

    monkeypatch.setattr(Evaluator, "__init__", four_at_once)


def broken_resume(monkeypatch):
    """Dropout goes on with other numbers."""
    from stepscope.trainer import state

    monkeypatch.setattr(state, "set_random_state", lambda *_: None)


def broken_muon(monkeypatch):
    monkeypatch.setattr(selftest, "orthogonal", lambda x: x)


@pytest.mark.parametrize(
    ("part", "break_it"),
    [
        ("checkpoint", broken_copy),
        ("memory", broken_memory),
        ("resume", broken_resume),
        ("muon", broken_muon),
    ],
)
def test_what_is_wrong_fails(part, break_it, tmp_path, monkeypatch):
    break_it(monkeypatch)
    passed, _ = selftest.PARTS[part]("cpu", tmp_path)
    assert not passed


def test_a_part_that_dies_is_a_failure_with_its_signal(monkeypatch):
    """As bfloat16 does on some virtual machines."""
    monkeypatch.setattr(selftest.sys, "executable", "/bin/sh")
    monkeypatch.setattr(
        selftest.subprocess,
        "run",
        lambda command, **_: selftest.subprocess.CompletedProcess(command, -signal.SIGILL, "", ""),
    )
    (finding,) = selftest.run("cpu", ["muon"])
    assert not finding.passed
    assert finding.problem == "SIGILL"


def test_the_command_says_pass_or_fail_and_ends_with_it(cli, monkeypatch):
    findings = [
        selftest.Finding("compile", True, 2.0, {"loss": 3.25, "other": 3.25}),
        selftest.Finding("muon", False, 1.0, {}, "SIGILL"),
    ]
    monkeypatch.setattr(selftest, "run", lambda *_: iter(findings))
    status, out, _ = cli("train", "--selftest", "--lang=en")
    assert status == 1
    assert "pass  compile     loss 3.2500 compiled, 3.2500 without (2.00 s)" in out
    assert "FAIL  muon        SIGILL (1.00 s)" in out
    assert f"1 of {len(selftest.PARTS)} parts failed." in out
    monkeypatch.setattr(selftest, "run", lambda *_: iter(findings[:1]))
    status, out, _ = cli("train", "--selftest=compile", "--lang=en")
    assert status == 0
    assert "Every part passed." in out


@pytest.mark.parametrize(
    ("arguments", "key"),
    [(["--selftest=abacus"], "train-choice"), (["--selftest", "--max_iters=3"], "selftest-alone")],
)
def test_what_cannot_be_tried_is_said(cli, arguments, key):
    status, _, err = cli("train", *arguments)
    assert status == 2
    assert key in err


def test_every_part_has_a_sentence_in_every_language():
    for code in languages():
        assert {f"selftest-{part}" for part in selftest.PARTS} <= Language.load(code).keys


def test_the_processes_that_are_compared_have_the_same_settings(tmp_path, monkeypatch):
    """Those of the one alone, as the command reads them: a run without a config file has defaults of its own."""
    alone, commands = [], []
    monkeypatch.setattr(selftest, "train", alone.append)
    monkeypatch.setattr(selftest.subprocess, "run", lambda command, **_: commands.append(command) or failed)
    failed = types.SimpleNamespace(returncode=1, stderr="stop here")
    with pytest.raises(RuntimeError, match="stop here"):
        selftest.PARTS["processes"]("cpu", tmp_path)
    (command,), (config,) = commands, alone
    flags = command[command.index("train") + 1 :]
    parser = argparse.ArgumentParser()
    train_command.add_arguments(parser)
    asked = train_command._settings(parser.parse_args(flags), train_command._Voice(Language.load("en")))
    assert replace(build(*asked.layers), out_dir="") == replace(config, out_dir="")
