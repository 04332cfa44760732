"""The loop: nanoGPT's numbers and lines, and accounts that close."""

from __future__ import annotations

import json
import re
import sys

import pytest
import torch

from stepscope.analysis.explain import explain
from stepscope.ledger.priors import evaluation_passes
from stepscope.reading.reader import read
from stepscope.trainer.accounts import Accounts
from stepscope.trainer.config import TrainerError
from stepscope.trainer.extras.muon import orthogonal
from stepscope.trainer.extras.run_log import RunLog, silent
from stepscope.trainer.extras.settings import build
from stepscope.trainer.model import GPT, ModelArgs
from tests.trainer.conftest import TINY, losses_of, records_of, summary

# What nanoGPT's own train.py printed for these settings on this corpus (commit 3adf61e, torch 2.13, one thread);
# `bench/train.py --only same` compares afresh, over 200 iterations.
NANOGPT_LOSSES = """
3.1938 3.1871 3.1071 3.0247 3.0655 3.0235 2.9966 3.0122 2.9829 3.0034 3.0511 2.9797 2.9712 3.0023 2.9146 2.8883 2.9805
3.0171 3.0301 2.9765 3.0156 3.0012 2.9559 2.9971 2.9970 2.9500 2.9526 2.9679 2.9474 2.9553 2.8937 2.9507 2.9814 2.9851
2.9620 2.9969 2.9274 2.8807 2.9470 2.9362 2.9878
"""
NANOGPT_EVALUATIONS = [
    "step 0: train loss 3.1927, val loss 3.2006",
    "step 10: train loss 2.9543, val loss 2.9802",
    "step 20: train loss 3.0147, val loss 3.0024",
    "step 30: train loss 2.9229, val loss 2.9605",
    "step 40: train loss 2.9337, val loss 2.9296",
]


def test_losses_are_nanogpts_own(trained):
    """Same seed, same draws, same sums: dropout, accumulation and evaluation included."""
    run = trained(eval="nanogpt", eval_iters=3, dropout=0.1)
    printed = [float(text) for text in re.findall(r"^iter \d+: loss (\S+),", run.log, re.MULTILINE)]
    assert printed == pytest.approx([float(text) for text in NANOGPT_LOSSES.split()], abs=2e-4)
    evaluations = re.findall(r"^step .*", run.log, re.MULTILINE)
    numbers = [[float(x) for x in re.findall(r"\d+\.\d+", line)] for line in evaluations]
    for ours, line in zip(numbers, NANOGPT_EVALUATIONS, strict=True):
        assert ours == pytest.approx([float(x) for x in re.findall(r"\d+\.\d+", line)], abs=2e-4)


def test_where_nanogpts_losses_are_wanted_its_optimizer_is_used(trained):
    """On a CPU it is not the fused one, whose last bits differ: after 200 iterations a printed digit does."""
    for way, fused in (("nanogpt", False), ("fixed", True)):
        run = trained(name=way, max_iters=10, eval=way)
        assert f"using fused AdamW: {fused}\n" in run.log
        saved = torch.load(run.folder / "ckpt.pt", weights_only=True)["optimizer"]
        assert {group["fused"] for group in saved["param_groups"]} == {fused}
        other = {"nanogpt": "fixed", "fixed": "nanogpt"}[way]
        again = trained(name=way, max_iters=12, eval=other, init_from="resume")
        saved = torch.load(again.folder / "ckpt.pt", weights_only=True)["optimizer"]
        assert {group["fused"] for group in saved["param_groups"]} == {not fused}


def test_a_line_leaves_the_process_in_one_piece(tmp_path, monkeypatch):
    """Two processes print side by side, and `torchrun` starts them unbuffered."""
    written: list[str] = []
    monkeypatch.setattr(sys.stdout, "write", written.append)
    config = build({**TINY, "out_dir": str(tmp_path)})
    log = RunLog(config, is_first=False, say=silent, show=silent, started_ns=0)
    log.print("tokens per iteration will be: 256", every_rank=True)
    assert [text for text in written if text] == ["tokens per iteration will be: 256\n"]


def test_lines_have_nanogpts_shape(trained):
    log = trained(max_iters=10).log
    lines = [line for line in log.splitlines() if not line.startswith("Overriding: ")]
    shapes = [re.sub(r"\d+(,\d{3})*(\.\d+)?", "#", line) for line in lines]
    folder = re.escape(shapes[1].partition("(inside ")[2])
    assert re.fullmatch(r"tokens per iteration will be: #", shapes[0])
    assert re.fullmatch(rf"found vocab_size = # \(inside {folder}", shapes[1])
    assert shapes[2:8] == [
        "Initializing a new model from scratch",
        "number of parameters: #M",
        "num decayed parameter tensors: #, with # parameters",
        "num non-decayed parameter tensors: #, with # parameters",
        "using fused AdamW: True",
        "step #: train loss #, val loss #",
    ]
    # The share of an A100's peak is for GPUs.
    assert shapes[8] == shapes[-1] == "iter #: loss #, time #ms"
    assert shapes[-2].startswith("saving checkpoint to ")


def test_the_ledger_closes(trained):
    run = trained(max_iters=20)
    ledger = run.outcome.ledger
    assert sum(ledger["phases"].values()) == pytest.approx(ledger["wall_s"], rel=0.001)
    assert ledger == json.loads((run.folder / "ledger.json").read_text())
    assert {"forward", "backward", "optimizer", "data", "evaluation_val", "checkpoint_staging"} <= set(ledger["phases"])


def test_every_step_is_recorded_with_its_phases(trained):
    run = trained(max_iters=20)
    records = records_of(run.folder)
    by_kind = {kind: [r for r in records if r["kind"] == kind] for kind in {str(r["kind"]) for r in records}}
    assert [r["step"] for r in by_kind["step"]] == list(range(21))
    assert [r["at_step"] for r in by_kind["evaluation"]] == [0, 10, 20]
    assert [r["at_step"] for r in by_kind["checkpoint"]] == [10, 20]
    # A step's duration ends before its line is printed; the printing belongs to the next one.
    steps = by_kind["step"]
    assert sum(sum(r["phases"].values()) for r in steps) >= 0.5 * sum(r["duration_s"] for r in steps)
    for record in steps[1:]:
        assert record["total_s"] == pytest.approx(sum(record["phases"].values()), abs=1e-7)
        assert record["lr"] > 0
        assert record["grad_norm"] > 0
        assert record["mfu"] is None  # of an A100: for GPUs only


@pytest.mark.parametrize(("way", "batches"), [("nanogpt", 40), ("fixed", 320)])  # about as long an evaluation
def test_explain_on_the_printed_log_agrees_with_the_ledger(trained, tmp_path, way, batches):
    """The trainer knows the truth; the log alone must lead to it. Intervals are stated at 90 %: one run may be out."""
    outside = []
    for number in range(3):
        run = trained(name=f"run-{number}", max_iters=60, eval=way, eval_iters=batches, eval_interval=20)
        path = tmp_path / f"{number}.log"
        path.write_text(run.log)
        truth = summary(run.outcome.ledger)
        stated = {total.phase: total for total in explain(read(str(path))).ledger.phases}
        evaluation, step = stated["evaluation"], stated["step"]
        # Printing is part of the iteration that the log's clock covers.
        holds = evaluation.low_s <= truth["evaluation"] <= evaluation.high_s
        holds = holds and step.low_s <= truth["step"] + truth["logging"] and truth["step"] <= step.high_s
        if not holds:
            outside.append((number, truth, evaluation, step))
    assert len(outside) <= 1, outside


def test_of_the_folder_of_a_run_the_records_are_read(trained):
    """The printed log says less."""
    folder = trained(max_iters=20, log_interval=5).folder
    assert read(str(folder)).format.name == "stepscope_train"


def test_the_log_says_how_many_passes_an_evaluation_is(trained, tmp_path):
    """A quarter of nanoGPT's batches of one split: whoever explains the log must not expect eight times as much."""
    run = trained(max_iters=20, eval_iters=8)
    assert "Overriding: eval_passes = 2\n" in run.log
    path = tmp_path / "printed.log"
    path.write_text(run.log)
    found = read(str(path))
    assert evaluation_passes(found.settings, found.format) == 2
    codes = {advice.code for advice in explain(found).advice}
    assert not codes & {"A103", "A105"}  # it looks at one split only, and at the same batches


def test_accounts_add_up_and_can_be_corrected():
    accounts = Accounts()
    accounts.lap(0)
    took = accounts.lap(1)
    accounts.move(took, 1, 2)
    assert accounts.seconds(1) == 0
    assert accounts.seconds(2) == took / 1e9
    ledger = accounts.close(0, "finished")
    assert sum(ledger["phases"].values()) == pytest.approx(ledger["wall_s"], abs=1e-3)


def test_the_settings_of_an_evaluation_do_not_change_what_is_trained_on(trained):
    """In nanoGPT they do: everything draws from one generator."""
    one = trained(name="one", max_iters=15, eval_iters=4, eval_interval=10)
    other = trained(name="other", max_iters=15, eval_iters=16, eval_interval=4, eval_train=True)
    assert one.losses == other.losses


def test_an_evaluation_looks_at_the_same_windows_every_time(trained):
    run = trained(max_iters=10, learning_rate=0.0, min_lr=0.0, eval_interval=5)
    values = [r["val_loss"] for r in records_of(run.folder) if r["kind"] == "evaluation"]
    assert len(values) == 3
    assert len(set(values)) == 1


def test_the_modern_recipe_learns_faster(trained):
    """Also in 40 steps of a toy; what it is worth in time is measured in bench/train.py."""
    old = trained(name="old", eval_interval=40)
    new = trained(name="new", eval_interval=40, recipe="modern")
    last = [[r["val_loss"] for r in records_of(run.folder) if r["kind"] == "evaluation"][-1] for run in (old, new)]
    assert last[1] < last[0]


def test_muons_update_is_nearly_orthogonal():
    matrices = torch.randn(3, 24, 64, generator=torch.Generator().manual_seed(1))
    for matrix in (matrices, matrices.mT):
        values = torch.linalg.svdvals(orthogonal(matrix))
        assert values.min() > 0.6
        assert values.max() < 1.3


def test_modern_blocks_start_as_the_identity():
    torch.manual_seed(1)
    args = ModelArgs(n_layer=2, n_head=2, n_embd=16, block_size=8, bias=False, vocab_size=11, dropout=0.0)
    args.recipe = "modern"
    model = GPT(args)
    x = torch.randn(1, 8, 16)
    assert torch.equal(model.transformer["h"][0](x), x)


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_checkpoint(trained, monkeypatch, tmp_path):
    from stepscope.trainer import train as module
    from stepscope.trainer.extras import found

    original = module.learning_rate_at
    monkeypatch.setattr(module, "learning_rate_at", lambda c, i: original(c, i) if i < 15 else float("inf"))
    with pytest.raises(TrainerError, match="train-nan") as caught:
        trained(max_iters=30, name="nan")
    assert caught.value.args_for_text["saved"] == 10
    assert 15 <= caught.value.args_for_text["iteration"] <= 18
    saved = found.load(tmp_path / "nan")
    assert saved["iter_num"] == 10
    assert all(torch.isfinite(value).all() for value in saved["model"].values())
    assert max(losses_of(tmp_path / "nan")) >= 14


def test_out_of_memory_says_what_to_change(trained, monkeypatch):
    from stepscope.trainer import train as module

    def exhausted(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(module.Trainer, "_step", exhausted)
    with pytest.raises(TrainerError, match="train-memory") as caught:
        trained()
    assert caught.value.args_for_text == {"batch_size": "2", "accumulation": "4"}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"dataset": "nowhere"}, "train-no-data"),
        ({"device": "cuda"}, "train-no-device"),
        ({"device": "abacus"}, "train-device"),
        ({"init_from": "resume"}, "train-no-checkpoint"),
        ({"init_from": "gpt2", "gpt2_folder": "nowhere"}, "train-no-gpt2"),
    ],
)
def test_what_is_missing_is_told(trained, changes, key):
    if changes.get("device") == "cuda" and torch.cuda.is_available():
        changes = {"device": "mps"}
    with pytest.raises(TrainerError, match=key):
        trained(**changes)


def test_an_evaluation_alone(trained):
    run = trained(eval_only=True)
    assert run.log.splitlines()[-1].startswith("step 0: train loss ")
    assert not (run.folder / "ckpt.pt").exists()
    trained(name="more", max_iters=10)
    again = trained(name="more", init_from="resume", eval_only=True)
    assert again.log.splitlines()[-1].startswith("step 10: train loss ")


def test_only_the_best_is_kept_where_that_was_asked(trained):
    run = trained(always_save_checkpoint=False, learning_rate=0.0, min_lr=0.0, max_iters=30)
    # Nothing learned, so nothing better than the first evaluation: there is only the one at the end.
    assert run.log.count("saving checkpoint") == 1
    assert not (run.folder / "ckpt-best.pt").exists()


def test_settings_of_the_built_in_run_are_sound():
    from stepscope.cli._train_config import SMALL

    assert build(SMALL).recipe == "modern"
    assert build(TINY).recipe == "nanogpt"
