"""kill -9 on the trainer: the run ends as if nothing had happened.

Four kills by default, two of a run of two processes; STEPSCOPE_FAULTS=100 makes it a hundred of each. Half of them come
while a checkpoint is being written.
"""

from __future__ import annotations

import random
import signal
import time
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[dev]'")

from torch.distributed import TCPStore

from stepscope.trainer.extras import found
from stepscope.trainer.extras.corpora import write_char_folder
from stepscope.trainer.extras.totals import read_earlier
from stepscope.trainer.extras.writer import ASIDES, BEST, NAME, PREVIOUS
from tests.faults.conftest import NUM_FAULTS
from tests.faults.runs import wait_for
from tests.faults.trained_process import start
from tests.trainer.conftest import TINY, losses_of, same
from tests.trainer.test_checkpoint import computed

NUM_KILLS = NUM_FAULTS or 4
LAST = 15 + 12 * NUM_KILLS
# Large enough that a checkpoint takes some tens of milliseconds.
SETTINGS = {**TINY, "max_iters": LAST, "lr_decay_iters": LAST, "eval_interval": 3, "eval_iters": 1, "n_embd": 192}
SETTINGS["dtype"] = "float32"  # nothing to find out at each start


def test_a_run_killed_at_random_moments_ends_as_if_nothing_had_happened(tmp_path, monkeypatch):
    """Every other kill comes while a checkpoint is being written; those that are there are whole after each."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    corpus, whole, folder, printed = (tmp_path / name for name in ("corpus", "whole", "killed", "printed"))
    config = tmp_path / "config.py"
    config.write_text("")
    write_char_folder("".join(chr(97 + (i * i // 7 + 3 * i) % 23) for i in range(20_000)), corpus)
    settings = {**SETTINGS, "dataset": corpus}
    reference = start(tmp_path / "reference", config, **settings, out_dir=whole)
    moments = random.Random(11)
    num_inside = 0

    def trainer():
        begin = "resume" if (folder / NAME).exists() else "scratch"
        return start(printed, config, **settings, out_dir=folder, init_from=begin)

    for number in range(NUM_KILLS):
        printed.write_text("")
        process = trainer()
        if number % 2:
            _wait_for_lines(printed, "iter ", moments.randrange(1, 10))
            time.sleep(moments.random() * 0.05)
        else:
            _wait_for_lines(printed, "saving", moments.choice([1, 2]))
            wait_for(lambda: is_writing(folder), "a checkpoint that is being written", pause=0.0005)
            time.sleep(moments.random() * 0.01)
            num_inside += is_writing(folder)
        process.kill()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL, printed.read_text()
        for path in filter(Path.exists, (folder / NAME, folder / PREVIOUS, folder / BEST)):
            with zipfile.ZipFile(path) as archive:
                assert archive.testzip() is None
    last = trainer()
    for process in (last, reference):
        process.join(300)
        assert process.exitcode == 0, printed.read_text()
    assert losses_of(folder) == losses_of(whole)
    earlier = read_earlier(folder / "steps.jsonl")
    assert earlier.num_steps == LAST + 1
    assert earlier.num_processes == NUM_KILLS + 1
    assert not is_writing(folder)  # what the killed ones left is gone
    assert same(computed(found.load(folder)), computed(found.load(whole)))
    print(f"{NUM_KILLS} kills, {num_inside} of them while a checkpoint was being written")


def is_writing(folder: Path) -> bool:
    return any(path for pattern in ASIDES for path in folder.glob(pattern))


NUM_PAIR_KILLS = NUM_FAULTS or 2
PAIR_LAST = 15 + 8 * NUM_PAIR_KILLS


@pytest.mark.parametrize(
    "changes", [{"dropout": 0.1}, {"shard": True, "recipe": "modern", "dropout": 0.1}], ids=["copies", "slices"]
)
def test_a_run_of_two_processes_of_which_one_is_killed_goes_on_to_the_bit(tmp_path, changes):
    """What torchrun starts: the other one ends by itself and says why; the resumed run is the uninterrupted one."""
    corpus, whole, folder = (tmp_path / name for name in ("corpus", "whole", "killed"))
    config = tmp_path / "config.py"
    config.write_text("")
    write_char_folder("".join(chr(97 + (i * i // 7 + 3 * i) % 23) for i in range(20_000)), corpus)
    settings = {**SETTINGS, "n_embd": 64, "max_iters": PAIR_LAST, "lr_decay_iters": PAIR_LAST, **changes}
    settings["dataset"] = corpus
    moments = random.Random(17)
    num_inside = 0
    stores = []

    def pair(out_dir, begin):
        # torchrun itself, too, is where the processes meet, and outlives them.
        stores.append(TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False))
        common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(stores[-1].port)}
        common |= {"TORCHELASTIC_USE_AGENT_STORE": "True", "OMP_NUM_THREADS": "1"}
        return [
            start(
                printed_by(rank),
                config,
                environment={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                **settings,
                out_dir=out_dir,
                init_from=begin,
            )
            for rank in range(2)
        ]

    def printed_by(rank):
        return tmp_path / f"printed{rank}"

    def end(processes):
        for rank, process in enumerate(processes):
            process.join(300)
            assert process.exitcode == 0, printed_by(rank).read_text()

    end(pair(whole, "scratch"))
    for number in range(NUM_PAIR_KILLS):
        printed_by(0).write_text("")
        # A checkpoint is there after the first iterations.
        processes = pair(folder, "resume" if any(folder.glob("ckpt.*")) else "scratch")
        if number % 2:
            _wait_for_lines(printed_by(0), "iter ", moments.randrange(4, 10))
            time.sleep(moments.random() * 0.05)
        else:
            _wait_for_lines(printed_by(0), "saving", moments.choice([1, 2]))
            wait_for(lambda: is_writing(folder), "a checkpoint that is being written", pause=0.0005)
            time.sleep(moments.random() * 0.01)
            num_inside += is_writing(folder)
        victim = processes.pop(moments.randrange(2))
        victim.kill()
        victim.join(60)
        (other,) = processes
        other.join(120)
        texts = [printed_by(rank).read_text() for rank in range(2)]
        assert other.exitcode not in {None, 0}, texts
        assert any("train-rank-lost" in text for text in texts), texts
    end(pair(folder, "resume"))
    assert losses_of(folder) == losses_of(whole)
    assert read_earlier(folder / "steps.jsonl").num_steps == PAIR_LAST + 1
    assert same(computed(found.load(folder)), computed(found.load(whole)))
    print(f"{NUM_PAIR_KILLS} kills, {num_inside} of them while a checkpoint was being written")


def _wait_for_lines(printed: Path, start_of_line: str, count: int) -> None:
    wait_for(
        lambda: sum(line.startswith(start_of_line) for line in printed.read_text().splitlines()) >= count, start_of_line
    )
