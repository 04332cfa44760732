"""Several processes: the same losses as one, and a clear end when one of them dies. gloo on the CPU."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.trainer.extras import found
from tests.trainer.conftest import TINY, losses_of, same


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


@pytest.mark.parametrize("changes", [{}, {"shard": True, "recipe": "modern"}], ids=["copies", "slices"])
def test_two_processes_have_the_losses_of_one(trained, corpus, tmp_path, changes):
    """Each with a copy of the model, or each with a slice of it."""
    alone = trained(name="alone", max_iters=20, recipe=changes.get("recipe", "nanogpt"))
    process = torchrun(**{**TINY, "dataset": corpus, "out_dir": tmp_path / "pair", "max_iters": 20, **changes})
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert printed(tmp_path / "pair") == pytest.approx(printed(alone.folder), abs=1e-4)
    evaluations = [[line for line in log.splitlines() if line.startswith("step")] for log in (alone.log, out)]
    values = [
        [float(text) for line in lines for text in re.findall(r"loss (\d\.\d{4})", line)] for lines in evaluations
    ]
    assert len(values[0]) == 6  # of both splits, before the first step as well
    assert values[0] == pytest.approx(values[1], abs=2e-4)
    assert out.count("tokens per iteration will be") == 2  # nanoGPT prints it once per process


@pytest.mark.parametrize(
    "changes",
    [{"shard": True, "recipe": "modern", "dropout": 0.1}, {"eval": "nanogpt", "dropout": 0.1}],
    ids=["slices", "nanogpts order"],
)
def test_when_one_process_dies_the_other_says_so_and_the_resumed_run_is_the_whole_one(corpus, tmp_path, changes):
    flags = {**TINY, "dataset": corpus, "max_iters": 60, "lr_decay_iters": 400, "eval_interval": 20, **changes}
    process = torchrun(**flags, out_dir=tmp_path / "whole")
    _, err = process.communicate()
    assert process.returncode == 0, err
    process = torchrun(**{**flags, "max_iters": 400}, out_dir=tmp_path / "pair")
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
    assert found.load(tmp_path / "pair")["iter_num"] >= 40
    process = torchrun(**flags, out_dir=tmp_path / "pair", init_from="resume")
    _, err = process.communicate()
    assert process.returncode == 0, err
    steps = losses_of(tmp_path / "pair")
    assert [steps[i] for i in range(61)] == printed(tmp_path / "whole")
    newest = [found.load(tmp_path / name) for name in ("pair", "whole")]
    assert same(newest[0]["model"], newest[1]["model"])
    assert same(newest[0]["optimizer"], newest[1]["optimizer"])


def test_asked_to_stop_the_processes_stop_together_and_say_how_to_go_on(corpus, tmp_path):
    flags = {**TINY, "dataset": corpus, "out_dir": tmp_path, "max_iters": 5000, "eval_interval": 1000, "shard": True}
    process = torchrun(**flags)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("iter 5:"):
            break
    process.send_signal(signal.SIGINT)  # torchrun hands it on
    out, err = process.communicate()
    assert "saving checkpoint to" in out
    assert "torchrun --standalone --nproc_per_node=2 -m stepscope train" in err
    assert found.load(tmp_path)["iter_num"] > 5


def test_micro_batches_that_cannot_be_shared_are_told(corpus, tmp_path):
    process = torchrun(**{**TINY, "dataset": corpus, "out_dir": tmp_path, "gradient_accumulation_steps": 3})
    _, err = process.communicate()
    assert process.returncode != 0
    assert "train-accumulation" in err
