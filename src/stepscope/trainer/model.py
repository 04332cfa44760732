"""The network and what trains it, in two recipes.

`nanogpt` is GPT-2 as nanoGPT trains it: the same modules under the same names, created in the same order, so that one
seed gives the same weights and a checkpoint goes either way. `modern` keeps the outline and changes what the public
speed-runs of the last years found to matter:

    positions        learned table              →  rotary, inside attention
    norms            LayerNorm with weights     →  RMSNorm without
    activation       GELU                       →  squared ReLU
    queries, keys    as they come               →  normalised, so that logits cannot blow up
    projections      small random               →  zero: every block starts as the identity
    optimizer        AdamW                      →  Muon for the matrices of the blocks, AdamW for the rest
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 (its customary name)

from stepscope.trainer.config import TrainConfig
from stepscope.trainer.extras.muon import Muon

SHAPE = ("n_layer", "n_head", "n_embd", "block_size", "bias")  # settings that a checkpoint's network has of its own
OPTIMIZERS = ("optimizer", "muon")  # their names in a checkpoint
A100_FLOPS = 312e12  # nanoGPT states its utilisation against an A100's bfloat16 peak, on any hardware


@dataclass
class ModelArgs:
    """The shape of a network; a checkpoint's `model_args`."""

    n_layer: int
    n_head: int
    n_embd: int
    block_size: int
    bias: bool
    vocab_size: int
    dropout: float
    recipe: str = "nanogpt"

    @classmethod
    def of(cls, config: TrainConfig, vocab_size: int, *, dropout: float = 0.0) -> ModelArgs:
        """The shape that the settings ask for."""
        asked = {name: getattr(config, name) for name in (*SHAPE, "recipe")}
        return cls(**asked, vocab_size=vocab_size, dropout=dropout)

    def saved(self) -> dict[str, Any]:
        """As a checkpoint keeps it: exactly nanoGPT's keys where nanoGPT can load it."""
        args = {name: getattr(self, name) for name in (*SHAPE, "vocab_size", "dropout")}
        return args if self.recipe == "nanogpt" else {**args, "recipe": self.recipe}


# -- layers -------------------------------------------------------------------------------------------------------


class LayerNorm(nn.Module):
    """LayerNorm whose bias can be left out."""

    def __init__(self, width: int, *, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Zero mean, unit variance, then scaled."""
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class RMSNorm(nn.Module):
    """Unit root mean square; nothing to learn."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scale each vector to length √width."""
        return F.rms_norm(x, (x.size(-1),))


def _norm(args: ModelArgs) -> nn.Module:
    return LayerNorm(args.n_embd, bias=args.bias) if args.recipe == "nanogpt" else RMSNorm()


class Rotary(nn.Module):
    """Turns each pair of components by an angle that grows with the position: attention then sees distances."""

    def __init__(self, head_size: int, block_size: int) -> None:
        super().__init__()
        speed = 10000.0 ** (-torch.arange(0, head_size, 2) / head_size)
        angle = torch.outer(torch.arange(block_size), speed)
        # Not part of a checkpoint: it follows from the shape.
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, heads, positions, head size)."""
        cos, sin = self.cos[: x.size(-2)], self.sin[: x.size(-2)]
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1).type_as(x)


class Attention(nn.Module):
    """Each position looks back at the ones before it."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.c_attn = nn.Linear(args.n_embd, 3 * args.n_embd, bias=args.bias)
        self.c_proj = nn.Linear(args.n_embd, args.n_embd, bias=args.bias)
        self.resid_dropout = nn.Dropout(args.dropout)
        self.n_head = args.n_head
        self.dropout = args.dropout
        self.rotary = Rotary(args.n_embd // args.n_head, args.block_size) if args.recipe == "modern" else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One product gives queries, keys and values of all heads; the fused kernel does the rest."""
        batch, positions, width = x.shape
        heads = (batch, positions, self.n_head, width // self.n_head)
        q, k, v = (part.view(heads).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))
        if self.rotary is not None:
            q, k = self.rotary(F.rms_norm(q, (q.size(-1),))), self.rotary(F.rms_norm(k, (k.size(-1),)))
        dropped = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropped, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(batch, positions, width)))


class MLP(nn.Module):
    """Each position thinks for itself, four times as wide."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.c_fc = nn.Linear(args.n_embd, 4 * args.n_embd, bias=args.bias)
        self.c_proj = nn.Linear(4 * args.n_embd, args.n_embd, bias=args.bias)
        self.dropout = nn.Dropout(args.dropout)
        self.squared = args.recipe == "modern"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Widen, bend, narrow."""
        hidden = self.c_fc(x)
        hidden = F.relu(hidden).square() if self.squared else F.gelu(hidden)
        return self.dropout(self.c_proj(hidden))


class Block(nn.Module):
    """Attention and MLP, each added to what came in."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.ln_1 = _norm(args)
        self.attn = Attention(args)
        self.ln_2 = _norm(args)
        self.mlp = MLP(args)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Two residual steps."""
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# -- the network --------------------------------------------------------------------------------------------------


class GPT(nn.Module):
    """Tokens in, logits of the next token out."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.args = args
        # The order of creation is the order in which random numbers are drawn: it is nanoGPT's.
        parts: dict[str, nn.Module] = {"wte": nn.Embedding(args.vocab_size, args.n_embd)}
        if args.recipe == "nanogpt":
            parts["wpe"] = nn.Embedding(args.block_size, args.n_embd)
        parts["drop"] = nn.Dropout(args.dropout)
        parts["h"] = nn.ModuleList(Block(args) for _ in range(args.n_layer))
        parts["ln_f"] = _norm(args)
        self.transformer = nn.ModuleDict(parts)
        self.lm_head = nn.Linear(args.n_embd, args.vocab_size, bias=False)
        # One table both reads tokens and predicts them.
        self.transformer["wte"].weight = self.lm_head.weight
        self.apply(_draw)
        for name, weight in self.named_parameters():
            if name.endswith("c_proj.weight"):
                if args.recipe == "modern":
                    nn.init.zeros_(weight)
                else:
                    nn.init.normal_(weight, mean=0.0, std=0.02 / math.sqrt(2 * args.n_layer))

    def num_parameters(self) -> int:
        """Of all but the position table, as nanoGPT counts them."""
        total = sum(p.numel() for p in self.parameters())
        return total - (self.transformer["wpe"].weight.numel() if "wpe" in self.transformer else 0)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor | None = None) -> tuple[Any, Any]:
        """Logits, and the mean cross-entropy where targets are given."""
        x = self.transformer["wte"](tokens)
        if "wpe" in self.transformer:
            x = x + self.transformer["wpe"](torch.arange(tokens.size(1), device=tokens.device))
        x = self.transformer["drop"](x)
        for block in self.transformer["h"]:
            x = block(x)
        x = self.transformer["ln_f"](x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None  # when sampling only the last position matters
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    def crop(self, block_size: int) -> None:
        """Shorten the context of a loaded network."""
        self.args.block_size = block_size
        if "wpe" in self.transformer:
            self.transformer["wpe"].weight = nn.Parameter(self.transformer["wpe"].weight[:block_size].clone())

    def utilisation(self, sequences: int, seconds: float) -> float:
        """Share of an A100's peak that the arithmetic of this many sequences in this time comes to."""
        args = self.args
        per_token = 6 * self.num_parameters() + 12 * args.n_layer * args.n_embd * args.block_size
        return per_token * args.block_size * sequences / seconds / A100_FLOPS

    @torch.inference_mode()
    def generate(self, tokens: torch.Tensor, count: int, *, temperature: float = 1.0, top_k: int | None = None) -> Any:
        """The tokens continued by `count` more, one at a time."""
        for _ in range(count):
            logits, _ = self(tokens[:, -self.args.block_size :])
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                least = torch.topk(logits, min(top_k, logits.size(-1))).values[:, [-1]]
                logits = logits.masked_fill(logits < least, -math.inf)
            tokens = torch.cat((tokens, torch.multinomial(F.softmax(logits, dim=-1), 1)), dim=1)
        return tokens


def _draw(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, mean=0.0, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


# -- what changes the weights -------------------------------------------------------------------------------------

# Everything that follows from the iteration (rates, momentum) is set by the loop before each step, so that an optimizer
# has no clock of its own and a resumed run goes on to the bit.


def make_optimizers(model: GPT, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """AdamW over everything, or Muon over the matrices of the blocks and AdamW over the rest.

    Anything with two dimensions decays; norms and biases do not. The state is made here and not by the first step, so
    that room for checkpoints can be set aside before training starts.
    """
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    matrices = [p for name, p in named if config.recipe == "modern" and p.dim() == 2 and ".h." in name]
    taken = {id(p) for p in matrices}
    rest = [p for _, p in named if id(p) not in taken]
    groups = [
        {"params": [p for p in rest if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in rest if p.dim() < 2], "weight_decay": 0.0},
    ]
    # nanoGPT's is fused on CUDA only. Elsewhere the fused one is faster, but rounds otherwise: not where its losses are
    # wanted to the last digit.
    fused = config.eval != "nanogpt" or model.lm_head.weight.is_cuda
    adam = torch.optim.AdamW(groups, lr=config.learning_rate, betas=(config.beta1, config.beta2), fused=fused)
    for group in adam.param_groups:
        for p in group["params"]:
            step = torch.zeros((), dtype=torch.float32, device=p.device)
            adam.state[p] = {"step": step, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
    if not matrices:
        return [adam]
    muon = Muon(matrices, lr=config.muon_lr, weight_decay=config.weight_decay, in_bfloat16=config.dtype == "bfloat16")
    for p in matrices:
        muon.state[p]["momentum"] = torch.zeros_like(p)
    return [adam, muon]
