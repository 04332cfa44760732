"""Checkpoints: nobody's only copy is ever at risk, and a resumed run is the run that was never interrupted."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import torch

from stepscope.trainer.config import TrainerError
from stepscope.trainer.extras import found, writer
from stepscope.trainer.extras.run_log import RunLog
from stepscope.trainer.extras.staged import StagedCheckpointer
from stepscope.trainer.extras.weights import load_gpt2, load_model
from stepscope.trainer.extras.writer import ASIDES, NAME, PREVIOUS
from tests.trainer.conftest import TINY, records_of, same, start


# What a run remembers of its own speed is not part of what it computes.
def computed(saved: dict[str, object]) -> dict[str, object]:
    progress = {name: value for name, value in saved["progress"].items() if name != "running_mfu"}
    config = {name: value for name, value in saved["config"].items() if name not in {"out_dir", "init_from"}}
    return {**saved, "progress": progress, "config": config}


def test_the_file_has_nanogpts_keys_and_is_a_torch_file(trained):
    run = trained(max_iters=20)
    saved = torch.load(run.folder / NAME, weights_only=True)
    assert {"model", "optimizer", "model_args", "iter_num", "best_val_loss", "config"} <= saved.keys()
    assert set(saved["model_args"]) == {
        "n_layer",
        "n_head",
        "n_embd",
        "block_size",
        "bias",
        "vocab_size",
        "dropout",
    }
    assert saved["iter_num"] == 20
    tied = saved["model"]["lm_head.weight"], saved["model"]["transformer.wte.weight"]
    assert tied[0].data_ptr() == tied[1].data_ptr()
    assert torch.load(run.folder / PREVIOUS, weights_only=True)["iter_num"] == 10
    assert not [path for pattern in ASIDES for path in run.folder.glob(pattern)]


def test_the_file_holds_what_torch_save_would_hold(tmp_path):
    """Every type of tensor, tied ones, empty ones, and plain values, through the writer process and back."""
    table = torch.randn(5, 3)
    state = {
        "model": {"a": table, "tied": table, "half": torch.randn(7).to(torch.bfloat16), "none": torch.zeros(0, 4)},
        "optimizer": {"state": {0: {"step": torch.tensor(3.0)}}, "param_groups": [{"betas": (0.9, 0.95), "lr": 0.1}]},
        "rng": [{"cpu": torch.get_rng_state()}],
        "iter_num": 12,
        "model_args": {"bias": False},
        "flags": torch.tensor([True, False]),
        "turned": torch.arange(6).view(2, 3).t(),
    }
    saver = StagedCheckpointer(tmp_path, state, torch.device("cpu"))
    saver.stage(state, 12)
    done = saver.close()
    assert done is not None
    assert done.problem is None
    assert done.num_bytes == (tmp_path / NAME).stat().st_size
    torch.save(state, tmp_path / "theirs.pt")
    ours, theirs = (torch.load(tmp_path / name, weights_only=True) for name in (NAME, "theirs.pt"))
    assert same(ours, theirs)
    assert ours["model"]["a"].data_ptr() == ours["model"]["tied"].data_ptr()


def test_a_save_is_a_snapshot_of_its_moment(tmp_path):
    """What happens to the weights after `settle` is not in the file."""
    weights = torch.zeros(1_000_000)
    state = {"model": {"w": weights}, "model_args": {}}
    saver = StagedCheckpointer(tmp_path, state, torch.device("cpu"))
    saver.stage(state, 1)
    saver.settle()
    weights.fill_(7)
    saver.close()
    assert not found.load(tmp_path)["model"]["w"].any()


@pytest.mark.parametrize("changes", [{}, {"eval": "nanogpt", "dropout": 0.2}, {"recipe": "modern", "dropout": 0.1}])
def test_a_resumed_run_equals_the_uninterrupted_one_to_the_bit(trained, changes):
    whole = trained(name="whole", **changes)
    trained(name="parts", max_iters=20, lr_decay_iters=40, **changes)
    # The checkpoint is of iteration 20, before its step: that step is done again, and comes out the same.
    resumed = trained(name="parts", init_from="resume", **changes)
    assert found.load(resumed.folder)["config"]["threads"] == 1
    assert resumed.losses == whole.losses
    assert len(whole.losses) == 41
    one, other = (found.load(run.folder) for run in (whole, resumed))
    assert same(computed(one), computed(other))
    assert resumed.log.count("\nstep 20:") == 0  # it was evaluated already


def test_nanogpts_own_checkpoint_is_taken_up(trained, tmp_path):
    """Its keys only, a tensor as best_val_loss, names with torch.compile's prefix, no fused optimizer."""
    first = trained(name="first", max_iters=10)
    saved = found.load(first.folder)
    for group in saved["optimizer"]["param_groups"]:
        group["fused"] = None
    theirs = {
        "model": {f"_orig_mod.{name}": value for name, value in saved["model"].items()},
        "optimizer": saved["optimizer"],
        "model_args": saved["model_args"],
        "iter_num": 10,
        "best_val_loss": torch.tensor(2.5),
        "config": {"dataset": "x"},
    }
    (tmp_path / "theirs").mkdir()
    torch.save(theirs, tmp_path / "theirs" / NAME)
    run = trained(name="theirs", init_from="resume", max_iters=12)
    assert sorted(run.losses) == [10, 11, 12]
    assert "\nstep 10: train loss" in run.log


def test_a_damaged_file_is_noticed_and_the_one_before_it_used(trained):
    run = trained(max_iters=20)
    blob = bytearray((run.folder / NAME).read_bytes())
    blob[len(blob) // 2] ^= 1  # one bit
    (run.folder / NAME).write_bytes(blob)
    said: list[str] = []
    saved = found.load(run.folder, say=lambda key, **args: said.append(f"{key} {args}"))
    assert saved["iter_num"] == 10
    assert "checksum" in said[0]
    (run.folder / PREVIOUS).write_bytes(b"PK")
    with pytest.raises(TrainerError, match="train-no-whole-checkpoint"):
        found.load(run.folder)


def test_a_checkpoint_that_would_run_code_is_refused(tmp_path):
    class Trap:
        def __reduce__(self):
            return (print, ("sprung",))

    torch.save({"model": Trap(), "model_args": {}}, tmp_path / NAME)
    with pytest.raises(TrainerError, match="train-no-whole-checkpoint"):
        found.load(tmp_path)


def test_a_checkpoint_of_another_shape_is_told(trained):
    run = trained(max_iters=10)
    saved = found.load(run.folder)
    saved["model_args"]["n_embd"] = 64
    with pytest.raises(TrainerError, match="train-bad-checkpoint"):
        load_model(saved, place="x")


def test_settings_that_a_checkpoint_overrides_are_said(trained):
    trained(max_iters=10)
    run = trained(init_from="resume", max_iters=11, n_layer=4)
    assert ("train-from-checkpoint", {"setting": "n_layer", "value": "2", "asked": "4"}) in run.said


def test_other_batches_than_the_checkpoints_are_said(trained):
    trained(max_iters=10)
    run = trained(init_from="resume", max_iters=11, batch_size=2)
    assert "train-other-batches" in [key for key, _ in run.said]


# The writer, but what it writes goes through a link to the kernel's own full device.
FULL = """
import runpy, sys
from pathlib import Path
names = runpy.run_path({writer!r}, run_name="writer")
names["write_file"].__globals__["aside_of"] = lambda path: Path({link!r})
names["serve"](sys.argv[1])
"""


def test_a_full_disk_costs_a_checkpoint_and_nothing_else(trained, tmp_path, monkeypatch):
    """The kernel's own full device stands in for the disk."""
    first = trained(max_iters=10)
    before = (first.folder / NAME).read_bytes()
    link, script = first.folder / "full", tmp_path / "full.py"
    link.symlink_to("/dev/full")
    script.write_text(FULL.format(writer=writer.__file__, link=str(link)))
    monkeypatch.setattr(writer, "__file__", str(script))
    run = trained(init_from="resume", max_iters=20)
    assert [(key, args["iteration"]) for key, args in run.said] == [("train-save-failed", 20)]
    assert "No space left" in str(run.said[0][1]["reason"])
    assert sorted(run.losses)[-1] == 20
    assert (run.folder / NAME).read_bytes() == before
    assert run.outcome.ledger["checkpoint"]["failed"] == 1


def test_a_dead_writer_costs_one_checkpoint(tmp_path):
    state = {"model": {"w": torch.zeros(3)}, "model_args": {}}
    saver = StagedCheckpointer(tmp_path, state, torch.device("cpu"))
    assert saver._writer is not None
    os.kill(saver._writer.pid, signal.SIGKILL)
    saver._writer.wait()
    saver.stage(state, 1)
    done = saver.collect(wait=True)
    assert done is not None
    assert done.problem is None  # a new one was started
    assert saver._writer is not None
    saver.stage(state, 2)
    os.kill(saver._writer.pid, signal.SIGSTOP)
    os.kill(saver._writer.pid, signal.SIGKILL)
    done = saver.close()
    assert done is not None
    assert found.load(tmp_path)["model"]["w"].tolist() == [0, 0, 0]


# -- real kills ---------------------------------------------------------------------------------------------------


def settings(corpus: Path, folder: Path) -> dict[str, object]:
    return {**TINY, "dataset": corpus, "out_dir": folder, "max_iters": 60, "lr_decay_iters": 60, "eval_interval": 3}


def test_the_writer_ends_with_the_trainer_and_holds_none_of_its_pipes(corpus, tmp_path):
    process = start(**settings(corpus, tmp_path / "out"), init_from="scratch")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("saving"):
            break
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    writers = [pid for pid in children if b"writer.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(writers) == 1
    pipes = {Path(f"/proc/{process.pid}/fd/{number}").readlink() for number in (1, 2)}
    held = {path.readlink() for path in Path(f"/proc/{writers[0]}/fd").iterdir()}
    assert not pipes & held
    process.kill()
    process.communicate()  # returns: nobody else holds the pipes
    while Path(f"/proc/{writers[0]}").exists() and "zombie" not in Path(f"/proc/{writers[0]}/status").read_text():
        time.sleep(0.05)  # a writer that stays fails this test by never ending it


def test_ctrl_c_saves_and_says_how_to_go_on(corpus, tmp_path):
    flags = {**settings(corpus, tmp_path / "out"), "max_iters": 5000, "eval_interval": 1000}
    process = start(**flags)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("iter 5:"):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert "saving checkpoint to" in out
    assert "--init_from=resume" in err
    saved = found.load(tmp_path / "out")
    assert saved["iter_num"] > 5
    assert not saved["progress"]["evaluated"]


def test_a_checkpoint_that_claims_a_million_layers_is_refused_before_it_is_built(trained, monkeypatch):
    saved = found.load(trained(max_iters=10).folder)
    monkeypatch.setattr("stepscope.trainer.extras.weights.GPT", None)
    for name, value in (("n_layer", 10**6), ("n_embd", 10**6), ("vocab_size", 10**9)):
        claimed = {**saved, "model_args": {**saved["model_args"], name: value}}
        with pytest.raises(TrainerError, match=f"train-bad-checkpoint.*{name}"):
            load_model(claimed, place="x")


def test_odd_fields_of_a_checkpoint_are_told(trained):
    path = trained(max_iters=10).folder / NAME
    whole = torch.load(path, weights_only=True)
    for field, value in (
        ("iter_num", "x"),
        ("best_val_loss", []),
        ("config", 3),
        ("config", {"threads": "many"}),
        ("progress", {}),
        ("progress", 7),
        ("rng", None),
        ("data", [3]),
        ("optimizer", 3),
        ("optimizer", {"state": {0: 1}, "param_groups": []}),
        ("model_args", None),
    ):
        torch.save({**whole, field: value}, path)
        with pytest.raises(TrainerError, match="train-bad-checkpoint"):
            trained(init_from="resume", max_iters=11)


def test_a_download_that_broke_off_is_told(tmp_path):
    (tmp_path / "config.json").write_text('{"n_layer": 1, "n_head": 1, "n_embd": 8, "vocab_size": 9}')
    (tmp_path / "model.safetensors").write_bytes(b"\x40\0\0\0\0\0\0\0{")
    with pytest.raises(TrainerError, match="train-bad-gpt2"):
        load_gpt2("gpt2", str(tmp_path), 0.0)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the system does not say what a process reads")
def test_loading_reads_the_file_once_and_where_it_lies(tmp_path):
    """Its checksums are compared in the memory that the tensors are used from: nothing is copied out of the file."""
    state = {"model": {"w": torch.randn(3_000_000)}, "model_args": {}}
    saver = StagedCheckpointer(tmp_path, state, torch.device("cpu"))
    saver.stage(state, 1)
    saver.close()

    def bytes_read() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    before = bytes_read()
    loaded = found.load(tmp_path)
    assert bytes_read() - before < 0.1 * (tmp_path / NAME).stat().st_size
    assert same(loaded["model"], state["model"])


def test_a_checkpoint_that_finds_the_last_one_unfinished_says_that_it_waits(trained, monkeypatch):
    """The seconds are in the accounts, and what the run does is shown meanwhile."""
    shown: list[str] = []
    collect = StagedCheckpointer.collect

    def slow_to_end(self, *, wait=False):
        if wait and self.is_writing:
            time.sleep(0.2)
        return collect(self, wait=wait) if wait else None

    monkeypatch.setattr(StagedCheckpointer, "collect", slow_to_end)
    monkeypatch.setattr(RunLog, "show", lambda _, doing, *__: shown.append(doing))
    run = trained(max_iters=20)
    assert shown.count("waiting") == 2  # before the second checkpoint, and at the end
    saves = [record for record in records_of(run.folder) if record["kind"] == "checkpoint"]
    assert [record["waiting_s"] >= 0.2 for record in saves] == [False, True]
    assert run.outcome.ledger["phases"]["checkpoint_waiting"] >= 0.4
