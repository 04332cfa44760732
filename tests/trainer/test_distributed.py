"""Several processes: the same losses as one, and a clear end when one of them dies. gloo on the CPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.trainer import checkpoint
from tests.trainer.conftest import TINY, losses_of


def torchrun(**settings: object) -> subprocess.Popen[str]:
    """`torchrun` with two processes of `stepscope train`."""
    flags = [f"--{name}={value}" for name, value in settings.items()]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    return subprocess.Popen(
        [*launcher, "-m", "stepscope", "train", "--lang=en", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def printed(folder: Path) -> list[float]:
    return [loss for _, loss in sorted(losses_of(folder).items())]


def test_two_processes_have_the_losses_of_one(trained, corpus, tmp_path):
    alone = trained(name="alone", max_iters=20)
    process = torchrun(**{**TINY, "dataset": corpus, "out_dir": tmp_path / "pair", "max_iters": 20})
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert printed(tmp_path / "pair") == pytest.approx(printed(alone.folder), abs=1e-4)
    evaluations = [[line for line in log.splitlines() if line.startswith("step")] for log in (alone.log, out)]
    values = [[float(line.rpartition(" ")[2]) for line in lines] for lines in evaluations]
    assert values[0] == pytest.approx(values[1], abs=2e-4)
    assert out.count("tokens per iteration will be") == 2  # nanoGPT prints it once per process


def test_when_one_process_dies_the_other_says_so_and_the_run_can_be_resumed(trained, corpus, tmp_path):
    alone = trained(name="alone", max_iters=60, lr_decay_iters=400, eval_interval=20)
    flags = {**TINY, "dataset": corpus, "out_dir": tmp_path / "pair", "lr_decay_iters": 400, "eval_interval": 20}
    process = torchrun(**{**flags, "max_iters": 400})
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("iter 50:"):
            break
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ranks = {child: Path(f"/proc/{child}/environ").read_bytes().split(b"\0") for child in children}
    (victim,) = [child for child, environment in ranks.items() if b"RANK=1" in environment]
    os.kill(int(victim), signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode != 0
    assert "train-rank-lost" in err
    assert "--init_from=resume" in err
    assert checkpoint.load(tmp_path / "pair")["iter_num"] >= 40
    process = torchrun(**{**flags, "max_iters": 60}, init_from="resume")
    _, err = process.communicate()
    assert process.returncode == 0, err
    steps = losses_of(tmp_path / "pair")
    assert [steps[i] for i in range(61)] == pytest.approx(printed(alone.folder), abs=1e-3)


def test_micro_batches_that_cannot_be_shared_are_told(corpus, tmp_path):
    process = torchrun(**{**TINY, "dataset": corpus, "out_dir": tmp_path, "gradient_accumulation_steps": 3})
    _, err = process.communicate()
    assert process.returncode != 0
    assert "train-accumulation" in err
