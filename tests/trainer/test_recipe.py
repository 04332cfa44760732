"""The modern recipe: what its optimizers reach, its schedules, and that several processes divide its work."""

from __future__ import annotations

import re

import pytest
import torch

from stepscope.trainer.config import learning_rate_at, muon_momentum_at, muon_rate_at
from stepscope.trainer.extras import muon, spread
from stepscope.trainer.extras.muon import Muon, orthogonal
from stepscope.trainer.extras.settings import build
from stepscope.trainer.model import GPT, ModelArgs, make_optimizers
from tests.trainer.conftest import TINY

ARGS = {"n_layer": 2, "n_head": 2, "n_embd": 32, "block_size": 16, "bias": False, "vocab_size": 24, "dropout": 0.0}


@pytest.mark.parametrize("recipe", ["nanogpt", "modern"])
def test_weight_decay_reaches_every_tensor_that_the_log_counts(trained, recipe):
    """A step without gradients shows what decays: it gets shorter. Muon's matrices were counted, and did not."""
    log = trained(max_iters=1, recipe=recipe, weight_decay=0.5).log
    counted = int(re.search(r"num decayed parameter tensors: (\d+)", log)[1])
    model = GPT(ModelArgs(**ARGS, recipe=recipe))
    with torch.no_grad():
        for weight in model.parameters():
            weight.fill_(1.0)
    for optimizer in make_optimizers(model, build({**TINY, "recipe": recipe, "weight_decay": 0.5})):
        for weight in model.parameters():
            weight.grad = torch.zeros_like(weight)
        optimizer.step()
    shorter = [weight for weight in model.parameters() if weight.max() < 1.0]
    assert len(shorter) == counted
    assert len(shorter) == sum(weight.dim() >= 2 for weight in model.parameters())


def test_the_decay_of_a_matrix_is_its_rate_times_the_setting():
    weight = torch.nn.Parameter(torch.ones(4, 4))
    weight.grad = torch.zeros(4, 4)
    Muon([weight], lr=0.1, weight_decay=0.5).step()
    assert weight.detach() == pytest.approx(torch.full((4, 4), 0.95))


def test_a_long_matrix_takes_the_short_way_to_the_same_result():
    """Through xxᵀ, also where singular values lie four powers of ten apart."""
    generator = torch.Generator().manual_seed(1)
    matrix = torch.randn(2, 24, 100, generator=generator) @ torch.diag(torch.logspace(0, -4, 100))
    x = matrix / matrix.norm(dim=(-2, -1), keepdim=True)
    for _ in range(5):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    assert torch.allclose(orthogonal(matrix), x, atol=1e-4)
    assert torch.allclose(orthogonal(matrix.mT), x.mT, atol=1e-4)


def test_each_process_makes_its_share_of_the_matrices_and_hears_the_others(monkeypatch):
    """Three matrices over two processes: two and one, and no process makes all of them."""
    stack = torch.randn(3, 8, 8, generator=torch.Generator().manual_seed(1))
    made: list[int] = []
    parts = torch.cat((orthogonal(stack), torch.zeros(1, 8, 8))).split(2)

    def counted(x):
        made.append(len(x))
        return orthogonal(x)

    monkeypatch.setattr(spread.dist, "is_initialized", lambda: True)
    monkeypatch.setattr(spread.dist, "get_world_size", lambda: 2)
    for rank in range(2):

        def all_gather(into, own, rank=rank):
            assert torch.allclose(own, parts[rank], atol=1e-5)
            for target, part in zip(into, parts, strict=True):
                target.copy_(part)

        monkeypatch.setattr(spread.dist, "get_rank", lambda rank=rank: rank)
        monkeypatch.setattr(spread.dist, "all_gather", all_gather)
        assert torch.allclose(spread.divided(counted, stack), orthogonal(stack), atol=1e-5)
    assert made == [2, 2]


def test_on_a_cpu_the_products_are_in_half_precision_where_that_was_tried(monkeypatch):
    """Only `pick_precision` leaves bfloat16 in the settings of a CPU run: on some machines it kills the process."""
    asked: list[bool] = []

    def noted(x, *, in_bfloat16):
        asked.append(in_bfloat16)
        return orthogonal(x)

    monkeypatch.setattr(muon, "orthogonal", noted)
    for dtype in ("float32", "bfloat16"):
        model = GPT(ModelArgs(**ARGS, recipe="modern"))
        for weight in model.parameters():
            weight.grad = torch.ones_like(weight)
        for optimizer in make_optimizers(model, build({**TINY, "recipe": "modern", "dtype": dtype})):
            optimizer.step()
    assert asked == [False] * 3 + [True] * 3  # a product for each shape of matrices


def test_on_a_gpu_the_products_are_in_half_precision(monkeypatch):
    """A tensor that says it is on a GPU; what it is multiplied in shows."""

    class OnGpu(torch.Tensor):
        @property
        def is_cuda(self):
            return True

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    seen = []
    monkeypatch.setattr(
        torch.Tensor, "bfloat16", lambda self: seen.append(self.dtype) or self.as_subclass(torch.Tensor)
    )
    orthogonal(torch.randn(1, 4, 4).as_subclass(OnGpu))
    orthogonal(torch.randn(1, 4, 4))
    assert seen == [torch.float32]


# -- what follows from the iteration ----------------------------------------------------------------------------------


def test_the_rate_goes_up_stays_and_goes_down_in_a_line():
    settings = {"learning_rate": 1.0, "min_lr": 0.1, "warmup_iters": 9, "lr_decay_iters": 100, "warmdown": 0.4}
    config = build({**settings, "schedule": "wsd"})
    assert [learning_rate_at(config, i) for i in (0, 9, 60)] == [0.1, 1.0, 1.0]
    assert [learning_rate_at(config, i) for i in (80, 100, 101)] == pytest.approx([0.55, 0.1, 0.1])
    assert learning_rate_at(build({**settings, "schedule": "wsd", "warmdown": 0.0}), 99) == 1.0
    long = build({**settings, "schedule": "wsd", "warmdown": 5.0})
    assert learning_rate_at(long, 9) == pytest.approx(1.0)


def test_each_recipe_has_its_own_schedule_unless_one_is_asked_for():
    settings = {"learning_rate": 1.0, "min_lr": 0.1, "warmup_iters": 0, "lr_decay_iters": 100}
    assert learning_rate_at(build(settings), 50) == pytest.approx(0.55)
    assert learning_rate_at(build({**settings, "recipe": "modern"}), 50) == 1.0
    assert learning_rate_at(build({**settings, "recipe": "modern", "schedule": "cosine"}), 50) == pytest.approx(0.55)
    assert learning_rate_at(build({**settings, "decay_lr": False, "schedule": "wsd"}), 99) == 1.0


def test_the_matrices_have_a_rate_of_their_own_and_no_warm_up():
    config = build({"recipe": "modern", "learning_rate": 0.01, "min_lr": 0.001, "muon_lr": 0.05})
    assert muon_rate_at(config, 0) == muon_rate_at(config, 2000) == 0.05
    for iteration in (2000, 400_000, 599_000, 600_000, 700_000):
        assert muon_rate_at(config, iteration) == pytest.approx(5 * learning_rate_at(config, iteration))


def test_momentum_grows_with_the_iteration():
    assert [muon_momentum_at(i) for i in (0, 150, 300, 9000)] == pytest.approx([0.85, 0.90, 0.95, 0.95])


def test_rates_and_momentum_of_a_run_are_those_of_its_iteration(trained, monkeypatch):
    seen = []
    original = Muon.step

    def step(self, closure=None):
        group = self.param_groups[0]
        seen.append((group["lr"], group["momentum"]))
        return original(self, closure)

    monkeypatch.setattr(Muon, "step", step)
    trained(recipe="modern", max_iters=5)
    config = build({**TINY, "recipe": "modern"})
    assert seen == [(muon_rate_at(config, i), muon_momentum_at(i)) for i in range(6)]


def test_a_run_cut_while_momentum_grows_goes_on_to_the_bit(trained):
    settings = {"recipe": "modern", "eval_interval": 5, "lr_decay_iters": 20}
    whole = trained(name="whole", max_iters=15, **settings)
    trained(name="cut", max_iters=5, **settings)
    cut = trained(name="cut", max_iters=15, init_from="resume", **settings)
    assert {step: loss for step, loss in cut.losses.items() if step > 5} == {
        step: loss for step, loss in whole.losses.items() if step > 5
    }
