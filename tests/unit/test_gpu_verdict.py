"""Is that normal for this card: utilisation against its own peak, and the range such a model should take."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest

from stepscope.analysis.explain import explain
from stepscope.cli import _gpu
from stepscope.i18n import Language, languages
from stepscope.report.gpu import verdict_lines
from tests.conftest import DEMO
from tests.unit.logs import run_of

INSTALLED = _gpu.installed_hardware  # before the tests take it away
HEAD = ["tokens per iteration will be: 491,520", "number of parameters: 123.59M"]
FLAGS = {"batch_size": 12, "block_size": 1024, "gradient_accumulation_steps": 40}


def steps(took_ms: float, mfu: str = ", mfu 28.90%") -> list[str]:
    return [f"iter {step}: loss 4.{step:04d}, time {took_ms + step % 7:.2f}ms{mfu}" for step in range(100)]


def verdict(took_ms: float, gpu: str, mfu: str = ", mfu 28.90%"):
    report = explain(run_of(HEAD + steps(took_ms, mfu)), flags=FLAGS, gpu=gpu)
    return report.gpu_verdict, " ".join(verdict_lines(report, Language.load("en")))


def test_printed_mfu_is_turned_to_the_cards_own_peak():
    """nanoGPT divides by an A100's 312 TFLOPS whatever the card: 28.9 % printed are 54.6 % of a 4090."""
    found, _ = verdict(4620, "RTX 4090")
    assert found.utilisation == pytest.approx(0.289 * 312 / 165.2)


def test_without_a_printed_mfu_parameters_and_tokens_tell():
    """Counted as nanoGPT counts, attention included: near what its own printed figure comes to."""
    found, _ = verdict(4620, "RTX 4090", mfu="")
    assert found.utilisation == pytest.approx(0.289 * 312 / 165.2, rel=0.05)


def test_without_a_size_the_sizes_are_told_that_would_be_normal():
    report = explain(run_of([HEAD[0], *steps(4620, "")]), flags=FLAGS, gpu="4090")
    sizes = report.fitting_sizes
    assert sizes.low < 123.59e6 < sizes.high
    text = " ".join(verdict_lines(report, Language.load("en")))
    assert "normal on the RTX 4090?" in text
    assert explain(run_of(HEAD + steps(4620)), flags=FLAGS, gpu="4090").fitting_sizes is None


@pytest.mark.parametrize(("took_ms", "word"), [(4620, "normal"), (12_000, "slow"), (1500, "faster")])
def test_the_verdict(took_ms, word):
    assert word in verdict(took_ms, "RTX 4090")[1]


def test_nothing_is_said_of_an_unknown_card():
    assert verdict(4620, "Voodoo 2") == (None, "")


@pytest.mark.parametrize("code", languages())
def test_every_language(code):
    report = explain(run_of(HEAD + steps(4620)), flags=FLAGS, gpu="4090")
    assert "RTX 4090" in verdict_lines(report, Language.load(code))[0]


# -- the card of this machine ------------------------------------------------------------------------------


def fake_nvml():
    """What `pynvml` offers, for a busy 4090 beside an idle card."""

    class NVMLError(Exception):
        pass

    def refuse(*_):
        raise NVMLError

    return SimpleNamespace(
        NVMLError=NVMLError,
        NVML_TEMPERATURE_GPU=0,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: ("NVIDIA GeForce GT 710", b"NVIDIA GeForce RTX 4090")[handle],
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=(1 + 9 * handle) << 30, total=24 << 30),
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=97 * handle),
        nvmlDeviceGetPowerUsage=refuse,
        nvmlDeviceGetTemperature=lambda *_: 66,
    )


@pytest.fixture
def _nvml(monkeypatch):
    monkeypatch.setattr("stepscope.live.gpu._nvml", fake_nvml)
    monkeypatch.setattr("stepscope.cli._gpu.installed_hardware", INSTALLED)


@pytest.mark.usefixtures("_nvml")
def test_nvml_names_the_busiest_card():
    found = _gpu.installed_hardware()
    assert found.gpu == "RTX 4090"
    assert found.utilisation == pytest.approx(0.97)
    assert found.power is None


def test_without_nvml_the_command_is_asked(monkeypatch, tmp_path):
    command = tmp_path / "nvidia-smi"
    command.write_text(f"#!/bin/sh\ncat '{DEMO / 'nvidia-smi.txt'}'\n")
    command.chmod(0o755)
    monkeypatch.setattr("stepscope.live.gpu._nvml", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    assert INSTALLED().gpu == "RTX 4070"
    command.write_text("#!/bin/sh\nexit 9\n")
    assert INSTALLED() is None


@pytest.mark.usefixtures("_nvml")
def test_a_log_just_written_is_this_machines(tmp_path, cli):
    log = tmp_path / "train.log"
    log.write_text("\n".join(HEAD + steps(4620)) + "\n")
    status, out, _ = cli("advise", str(log))
    assert status == 0
    assert "RTX 4090: 55%" in out
    for age, used in ((3600, False), (3 * 86_400, None)):
        os.utime(log, (time.time() - age, time.time() - age))
        found = _gpu.hardware_for([str(log)])
        assert (found is None) == (used is None)
        if found is not None:
            assert found.memory_used is None
    assert _gpu.hardware_for(["-"]) is None
    assert "RTX 4070" in cli("advise", str(log), "--gpu", "4070")[1]


@pytest.mark.usefixtures("_nvml")
def test_plan_takes_the_installed_card(cli):
    status, out, _ = cli("plan", "--params", "124M")
    assert status == 0
    assert "RTX 4090" in out


def test_a_card_that_nobody_knows_is_told(tmp_path, cli):
    log = tmp_path / "train.log"
    log.write_text("\n".join(HEAD + steps(4620)) + "\n")
    status, out, err = cli("advise", str(log), "--gpu", "RTX 4075")
    assert status == 0
    assert "RTX 4070" in err
    assert "TFLOPS" not in out
