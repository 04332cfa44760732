"""What a network writes when it is done, after what it wrote before it had learned anything."""

from __future__ import annotations

from typing import NamedTuple

import torch

from stepscope.trainer.extras.meta import Meta
from stepscope.trainer.model import GPT

_BEFORE_TOKENS = 80  # of the text of an untrained network: it gets no better


class Sample(NamedTuple):
    """Text of the network as it began, and as it is."""

    before: str
    after: str


def sample_of(model: GPT, meta: Meta | None, count: int, *, seed: int, with_before: bool) -> Sample | None:
    """`count` tokens of text; None where the data have no characters of their own.

    The network as it began is made again, for which a model in slices (not `with_before`) has no room.
    """
    if meta is None or model.args.vocab_size < len(meta.itos):
        return None
    before = ""
    if with_before:
        torch.manual_seed(seed)
        before = _text(GPT(model.args).to(model.lm_head.weight.device), meta, _BEFORE_TOKENS)
    return Sample(before, _text(model, meta, count))


def _text(model: GPT, meta: Meta, count: int) -> str:
    model.eval()
    start = torch.tensor([meta.first_tokens()], device=model.lm_head.weight.device)
    return meta.decode(model.generate(start, count, temperature=0.8, top_k=200)[0].tolist())
