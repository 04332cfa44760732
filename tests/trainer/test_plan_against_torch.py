"""The plan's formulas against our own model on the CPU: parameters, FLOPs and the bytes of a checkpoint."""

from __future__ import annotations

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from stepscope.plan.model_shape import gpt
from stepscope.trainer.model import GPT, ModelArgs

SIZES = {"layers": 3, "heads": 4, "hidden": 128, "context": 64, "vocabulary": 500}


def model_of(*, bias: bool = False) -> GPT:
    sizes = {"n_layer": 3, "n_head": 4, "n_embd": 128, "block_size": 64, "vocab_size": 500}
    return GPT(ModelArgs(**sizes, bias=bias, dropout=0.0))


def trained(model: GPT) -> torch.Tensor:
    tokens = torch.randint(0, SIZES["vocabulary"], (2, SIZES["context"]))
    _, loss = model(tokens, tokens)
    loss.backward()
    return tokens


@pytest.mark.parametrize("bias", [False, True])
def test_parameters_are_exact(bias):
    counted = sum(parameter.numel() for parameter in model_of(bias=bias).parameters())
    assert counted == gpt(**SIZES, bias=bias).parameters


def test_flops_agree_with_torchs_counter():
    """Forward and backward of a token, with attention as the full square that nanoGPT counts, within 1 %."""
    model = model_of()
    # The counter does not see into the CPU's fused attention.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        tokens = trained(model)
    counted = counter.get_total_flops() / tokens.numel()
    assert counted == pytest.approx(gpt(**SIZES)._replace(has_flash=False).work_per_token, rel=0.01)


def test_checkpoint_bytes_agree_with_a_file(tmp_path):
    model = model_of()
    optimizer = torch.optim.AdamW(model.parameters())
    trained(model)
    optimizer.step()
    path = tmp_path / "ckpt.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    assert path.stat().st_size == pytest.approx(gpt(**SIZES).checkpoint_bytes, rel=0.01)
