"""kill -9 under `torchrun`: one of its two workers, or torchrun itself. The resumed run is the uninterrupted one.

One kill of each by default, for copies and for slices; STEPSCOPE_FAULTS=100 makes it a hundred each. Starting workers
takes torchrun seconds: `test_trainer_kills` kills processes that start faster.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[dev]'")

from stepscope.trainer.extras import found
from stepscope.trainer.extras.corpora import write_char_folder
from tests.faults.conftest import NUM_FAULTS
from tests.faults.runs import children, wait_for
from tests.trainer.conftest import TINY, losses_of, same
from tests.trainer.test_checkpoint import computed

NUM_KILLS = NUM_FAULTS or 2
LAST = 20 + 14 * NUM_KILLS
SETTINGS = {**TINY, "max_iters": LAST, "lr_decay_iters": LAST, "eval_interval": 3, "eval_iters": 1, "dropout": 0.1}


def torchrun(config: Path, **settings: object) -> subprocess.Popen[str]:
    flags = [f"--{name}={value}" for name, value in settings.items()]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    return subprocess.Popen(
        [*launcher, "-m", "stepscope", "train", str(config), "--lang=en", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    return [pid for pid in children(process.pid) if b"stepscope" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.parametrize("changes", [{}, {"shard": True, "recipe": "modern"}], ids=["copies", "slices"])
def test_a_run_under_torchrun_is_killed_and_goes_on_to_the_bit(tmp_path, changes):
    corpus, whole, folder, config = (tmp_path / name for name in ("corpus", "whole", "killed", "config.py"))
    config.write_text("")
    write_char_folder("".join(chr(97 + (i * i // 7 + 3 * i) % 23) for i in range(20_000)), corpus)
    settings = {**SETTINGS, "dtype": "float32", "dataset": corpus, **changes}
    moments = random.Random(3)

    def to_the_end(out_dir, begin):
        process = torchrun(config, **settings, out_dir=out_dir, init_from=begin)
        text, _ = process.communicate()
        assert process.returncode == 0, text

    to_the_end(whole, "scratch")
    for number in range(NUM_KILLS):
        process = torchrun(
            config, **settings, out_dir=folder, init_from="resume" if any(folder.glob("ckpt.*")) else "scratch"
        )
        begins, left = moments.choice([("saving", moments.randint(1, 2)), ("iter ", moments.randint(4, 10))])
        for line in process.stdout:
            left -= line.startswith(begins)
            if left == 0:
                break
        assert left == 0, "it ended before"
        time.sleep(moments.random() * 0.05)
        workers = workers_of(process)
        assert len(workers) == 2
        os.kill(process.pid if number % 2 else moments.choice(workers), signal.SIGKILL)
        text, _ = process.communicate()
        assert process.returncode != 0
        assert number % 2 or "train-rank-lost" in text, text
        # Where torchrun is gone, nobody ends its workers but they themselves: the folder is locked until then.
        wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers), "the workers' end")  # noqa: B023
    to_the_end(folder, "resume")
    assert losses_of(folder) == losses_of(whole)
    assert same(computed(found.load(folder)), computed(found.load(whole)))
