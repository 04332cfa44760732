"""Checkpoints in slices, in one process that is a world of its own; `test_distributed` has the real worlds."""

from __future__ import annotations

import pickle
import resource
import shutil

import pytest
import torch
import torch.distributed as dist

from stepscope.cli import main
from stepscope.trainer.config import TrainerError
from stepscope.trainer.extras import found, sharded
from stepscope.trainer.extras.export import export
from stepscope.trainer.extras.settings import build
from stepscope.trainer.extras.weights import load_model
from stepscope.trainer.model import GPT, ModelArgs, make_optimizers
from tests.trainer.conftest import TINY, same


@pytest.fixture
def world(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    yield tmp_path / "out"
    dist.destroy_process_group()


@pytest.fixture
def run(world):
    """A small network in slices, its optimizers after one step, and a checkpointer of theirs."""
    world.mkdir()
    torch.manual_seed(1)
    model = GPT(ModelArgs(2, 2, 16, 8, False, 11, 0.0, "modern"))
    sharded.split(model, torch.device("cpu"))
    optimizers = make_optimizers(model, build({**TINY, "recipe": "modern"}))
    tokens = torch.arange(8).view(1, 8)
    model(tokens, tokens)[1].backward()
    for optimizer in optimizers:
        optimizer.step()
    tensors = sharded.tensors_of(model, optimizers)
    saver = sharded.ShardedCheckpointer(world, tensors, torch.device("cpu"))
    yield world, model, optimizers, saver
    saver.close()


def state_of(model, optimizers, iteration):
    groups = {
        name: {"param_groups": each.state_dict()["param_groups"]}
        for name, each in zip(("optimizer", "muon"), optimizers, strict=True)
    }
    return {**groups, "model_args": model.args.saved(), "iter_num": iteration, "best_val_loss": 2.5, "config": {}}


def save(run, iteration):
    _, model, optimizers, saver = run
    saver.stage(state_of(model, optimizers, iteration), iteration)
    done = saver.collect(wait=True)
    assert done is not None
    return done


def test_slices_come_together_as_the_file_one_process_would_have_written(run):
    folder, model, optimizers, _ = run
    done = save(run, 10)
    assert done.problem is None
    assert done.num_bytes == sum(path.stat().st_size for path in (folder / "ckpt.dist").iterdir())
    saved = found.load(folder)
    assert saved["iter_num"] == 10
    whole = {name: value.full_tensor() for name, value in model.state_dict().items()}
    assert same(saved["model"], whole)
    assert same(
        saved["optimizer"]["state"][0]["exp_avg"], optimizers[0].state_dict()["state"][0]["exp_avg"].full_tensor()
    )
    assert saved["optimizer"]["param_groups"] == optimizers[0].state_dict()["param_groups"]
    load_model(saved, place="x")
    assert "optimizer" not in found.load(folder, with_optimizers=False)["model"]


def test_a_save_in_slices_is_a_snapshot_of_its_moment(run):
    folder, model, optimizers, saver = run
    before = model.lm_head.weight.full_tensor().clone()
    saver.stage(state_of(model, optimizers, 1), 1)
    saver.settle()
    with torch.no_grad():
        model.lm_head.weight.zero_()
    saver.collect(wait=True)
    assert same(found.load(folder)["model"]["lm_head.weight"], before)


def test_the_last_two_are_kept_and_a_damaged_one_is_passed_over(run):
    folder = run[0]
    for iteration in (10, 20, 30):
        save(run, iteration)
    assert sorted(path.name for path in folder.iterdir()) == ["ckpt-previous.dist", "ckpt.dist"]
    assert found.load(folder)["iter_num"] == 30
    slices = folder / "ckpt.dist" / "__0_0.distcp"
    blob = bytearray(slices.read_bytes())
    weights = run[1].lm_head.weight.full_tensor().detach().numpy().tobytes()
    blob[blob.index(weights) + 100] ^= 1  # one bit
    slices.write_bytes(blob)
    said: list[str] = []
    assert found.load(folder, say=lambda key, **args: said.append(f"{key} {args}"))["iter_num"] == 20
    assert "train-broken-checkpoint" in said[0]
    shutil.rmtree(folder / "ckpt.dist")  # killed between the two renames
    assert found.load(folder)["iter_num"] == 20


def test_a_save_that_does_not_fit_the_disk_costs_that_checkpoint_only(run):
    """A limit on the size of files stands in for a full disk."""
    folder = run[0]
    save(run, 10)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        done = save(run, 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.problem is not None
    assert "File too large" in done.problem
    assert found.load(folder)["iter_num"] == 10
    assert not list(folder.glob("ckpt*.new"))
    assert save(run, 30).problem is None


def test_a_folder_that_would_run_code_is_refused(run):
    class Trap:
        def __reduce__(self):
            return (len, ("sprung",))  # `print` is another one once Ray is loaded

    folder = run[0]
    save(run, 10)
    (folder / "ckpt.dist" / ".metadata").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(TrainerError, match=r"asks for builtins\.len"):
        found.load(folder)


def test_export_writes_nanogpts_file(run, capsys):
    folder = run[0]
    save(run, 10)
    assert main(["export", f"--out_dir={folder}", "--lang=en"]) == 0
    assert "before iteration 10" in capsys.readouterr().out
    exported = torch.load(folder / "ckpt.pt", weights_only=True)
    assert {"model", "optimizer", "model_args", "iter_num", "best_val_loss", "config"} <= exported.keys()
    assert exported["model"]["lm_head.weight"].data_ptr() == exported["model"]["transformer.wte.weight"].data_ptr()
    shutil.rmtree(folder / "ckpt.dist")
    assert main(["export", f"--out_dir={folder}", "--lang=en"]) == 1
    assert "no sharded checkpoint" in capsys.readouterr().err


def test_the_younger_of_file_and_folder_counts(run):
    folder = run[0]
    save(run, 10)
    export(folder, folder / "ckpt.pt")
    save(run, 20)
    assert found.load(folder)["iter_num"] == 20
