"""Nothing of an earlier run is ever lost: its logs, its best checkpoint, its last iterations, its accounts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from stepscope.trainer import train as loop
from stepscope.trainer.config import TrainerError
from stepscope.trainer.extras.folder import EARLIER, LOCK, RunFolder
from stepscope.trainer.train import Evaluator, Losses
from tests.trainer.conftest import records_of

SMALL = {"max_iters": 6, "lr_decay_iters": 6, "eval_interval": 3, "eval_iters": 1, "n_embd": 16, "n_layer": 1}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": "nowhere"},
        {"n_head": 3, "n_embd": 24, "init_from": "gpt2", "gpt2_folder": "nowhere"},
        {"gradient_accumulation_steps": 2, "device": "cuda" if not torch.cuda.is_available() else "nothing"},
        {"init_from": "resume", "batch_size": 4, "block_size": 64},
    ],
    ids=["data", "weights", "device", "checkpoint"],
)
def test_a_start_that_fails_touches_no_file(trained, changes):
    before = contents(trained(**SMALL).folder)
    with pytest.raises(TrainerError):
        trained(**{**SMALL, **changes})
    assert contents(trained.folder) == before


def test_a_start_that_fails_leaves_no_folder(trained):
    with pytest.raises(TrainerError, match="train-no-data"):
        trained(**SMALL, dataset="nowhere")
    assert not trained.folder.exists()


@pytest.mark.parametrize("init_from", ["scratch", "resume"])
def test_an_evaluation_alone_touches_no_file(trained, init_from):
    before = contents(trained(**SMALL).folder)
    run = trained(**SMALL, eval_only=True, init_from=init_from)
    assert "train loss" in run.log
    assert contents(run.folder) == before


def test_the_logs_and_the_best_checkpoint_of_an_earlier_run_are_kept(trained):
    before = contents(trained(**SMALL).folder)
    second = trained(**SMALL, seed=7)
    third = trained(**SMALL, seed=8)
    kept = contents(third.folder / EARLIER / "1")
    assert kept == {name: before[name] for name in ("train.log", "steps.jsonl", "ledger.json", "ckpt-best.pt")}
    assert ("train-kept", {"folder": str(second.folder / EARLIER / "1")}) in second.said
    assert contents(third.folder / EARLIER / "2").keys() == kept.keys()
    assert len([r for r in records_of(third.folder) if r["kind"] == "start"]) == 1


def test_a_run_without_a_best_one_keeps_its_last_checkpoint(trained):
    """A folder of nanoGPT's has nothing but ckpt.pt: two checkpoints later it would be gone."""
    trained(**SMALL)
    for path in trained.folder.iterdir():
        if path.name != "ckpt.pt":
            path.unlink()
    before = (trained.folder / "ckpt.pt").read_bytes()
    trained(**SMALL, seed=7)
    assert (trained.folder / EARLIER / "1" / "ckpt.pt").read_bytes() == before
    assert (trained.folder / "ckpt.pt").read_bytes() != before


def saved_iteration(path: Path) -> int:
    return int(torch.load(path, weights_only=True)["iter_num"])


class FakeLosses:
    """The validation losses of the evaluations to come."""

    def __init__(self, *losses: float) -> None:
        self.losses = list(losses)

    def __call__(self, *_: object) -> Losses:
        return Losses(3.0, self.losses.pop(0))


def test_only_a_better_checkpoint_replaces_the_best(trained, monkeypatch):
    """Evaluations at 0, 3, 6, 9: the best is the one of 3, whatever is saved after it, by whom and how often."""
    monkeypatch.setattr(Evaluator, "__call__", FakeLosses(4.0, 2.0, 3.0))
    run = trained(**SMALL, always_save_checkpoint=False)
    best = run.folder / "ckpt-best.pt"
    assert saved_iteration(best) == 3
    assert saved_iteration(run.folder / "ckpt.pt") == 7  # the end of the run
    for number in range(2):  # two interruptions: what used to destroy it
        stop_at(monkeypatch, 8 + number)
        monkeypatch.setattr(Evaluator, "__call__", FakeLosses(3.0, 3.0))
        trained(**{**SMALL, "max_iters": 20}, always_save_checkpoint=False, init_from="resume")
        assert saved_iteration(run.folder / "ckpt.pt") == 9 + number
        assert saved_iteration(best) == 3
    monkeypatch.undo()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(Evaluator, "__call__", FakeLosses(1.0, 1.5))
    trained(**{**SMALL, "max_iters": 15}, init_from="resume")
    assert saved_iteration(best) == 12


def stop_at(monkeypatch: pytest.MonkeyPatch, iteration: int) -> None:
    """As Ctrl-C during that iteration."""
    report = loop.Trainer._report

    def stopping(self: loop.Trainer, *args: object) -> bool:
        report(self, *args)  # type: ignore[arg-type]
        return self.progress.iteration >= iteration

    monkeypatch.setattr(loop.Trainer, "_report", stopping)


@pytest.mark.parametrize(("interval", "saved"), [(4, [4, 7]), (100, [7]), (6, [6])])
def test_a_run_ends_with_a_checkpoint(trained, interval, saved):
    """With evaluations that do not divide the run, that come never, and that come at its last iteration."""
    run = trained(**{**SMALL, "eval_interval": interval})
    assert [r["at_step"] for r in records_of(run.folder) if r["kind"] == "checkpoint"] == saved
    assert saved_iteration(run.folder / "ckpt.pt") == saved[-1]
    again = trained(**{**SMALL, "eval_interval": interval}, init_from="resume")
    assert again.outcome.iteration == 7  # nothing is trained past the end


def test_saving_has_an_interval_of_its_own(trained):
    run = trained(**{**SMALL, "max_iters": 11, "eval_interval": 4}, save_interval=3, learning_rate=0.0, min_lr=0.0)
    records = records_of(run.folder)
    assert [r["at_step"] for r in records if r["kind"] == "evaluation"] == [0, 4, 8]
    assert [r["at_step"] for r in records if r["kind"] == "checkpoint"] == [3, 6, 9, 12]


def test_saving_by_the_clock(trained):
    run = trained(**{**SMALL, "eval_interval": 100}, save_minutes=1e-9)
    assert [r["at_step"] for r in records_of(run.folder) if r["kind"] == "checkpoint"] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("changes", [{"save_interval": 3}, {"save_minutes": 1e-9}], ids=["interval", "minutes"])
def test_a_run_resumed_from_a_save_of_its_own_interval_is_the_whole_one(trained, monkeypatch, changes):
    settings = {**SMALL, "max_iters": 12, "lr_decay_iters": 12, "eval_interval": 4, **changes}
    whole = trained(name="whole", **settings)
    with monkeypatch.context() as patched:
        stop_at(patched, 7)
        trained(name="parts", **settings)
    parts = trained(name="parts", **settings, init_from="resume")
    assert parts.losses == whole.losses
    assert [line for line in parts.log.splitlines() if line.startswith("step ")] == [
        line for line in whole.log.splitlines() if line.startswith(("step 8", "step 12"))
    ]


def test_a_second_trainer_in_the_same_folder_is_refused(trained, tmp_path):
    owner = RunFolder(tmp_path / "out")
    with pytest.raises(TrainerError, match="train-locked") as caught:
        trained(**SMALL)
    assert caught.value.args_for_text == {"process": str(os.getpid())}
    owner.release()
    assert trained(**SMALL).outcome.iteration == 7
    assert not (tmp_path / "out" / LOCK).exists()


def test_a_crash_leaves_no_lock_behind(tmp_path):
    """The file stays, the lock does not."""
    code = "import os, sys, pathlib; from stepscope.trainer.extras.folder import RunFolder; "
    code += "RunFolder(pathlib.Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert (tmp_path / LOCK).exists()
    RunFolder(tmp_path).release()


def test_a_folder_stays_locked_while_the_writer_of_a_killed_trainer_lives(tmp_path, monkeypatch):
    """It inherits the lock: two writers never meet."""
    monkeypatch.setattr("stepscope.trainer.extras.folder._WRITER_ENDS_IN", 0.2)
    code = "import os, sys, pathlib, subprocess; from stepscope.trainer.extras.folder import RunFolder; "
    code += "folder = RunFolder(pathlib.Path(sys.argv[1])); "
    code += "p = subprocess.Popen(['sleep', '60'], pass_fds=[folder.descriptor], stdout=subprocess.DEVNULL); "
    code += "print(p.pid, flush=True); os.kill(os.getpid(), 9)"
    started = subprocess.run([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, check=False)
    with pytest.raises(TrainerError, match="train-locked"):
        RunFolder(tmp_path)
    os.kill(int(started.stdout), 9)
    monkeypatch.setattr("stepscope.trainer.extras.folder._WRITER_ENDS_IN", 10)
    RunFolder(tmp_path).release()


def test_the_ledger_goes_across_resumes_and_marks_repeated_steps(trained):
    """A run of 7 iterations, killed so that its records reach past its checkpoint, then resumed."""
    first = trained(**SMALL).outcome.ledger
    (trained.folder / "ckpt-best.pt").replace(trained.folder / "ckpt.pt")  # the state of an earlier iteration
    begun = saved_iteration(trained.folder / "ckpt.pt")
    second = trained(**{**SMALL, "max_iters": 9}, init_from="resume")
    ledger = second.outcome.ledger
    assert ledger == json.loads((second.folder / "ledger.json").read_text())
    assert (ledger["iterations"], ledger["processes"]) == (10, 2)
    assert ledger["repeated_iterations"] == 7 - begun
    steps = [r for r in records_of(second.folder) if r["kind"] == "step"]
    assert [r["step"] for r in steps if r.get("again")] == list(range(begun, 7))
    assert ledger["wall_s"] > first["wall_s"]
    assert sum(ledger["phases"].values()) == pytest.approx(ledger["wall_s"], rel=0.001)
    assert ledger["checkpoint"]["saves"] > first["checkpoint"]["saves"]
    for name, seconds in first["phases"].items():
        assert ledger["phases"][name] >= seconds - 1e-6
