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
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 (its customary name)

from stepscope.trainer.config import TrainConfig
from stepscope.trainer.extras.spread import divided, like, whole

SHAPE = ("n_layer", "n_head", "n_embd", "block_size", "bias")  # settings that a checkpoint's network has of its own
OPTIMIZERS = ("optimizer", "muon")  # their names in a checkpoint
_STEPS = 5
_A, _B, _C = 3.4445, -4.7750, 2.0315  # of one Newton-Schulz step: x becomes (A + B xxᵀ + C (xxᵀ)²) x
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


class Muon(torch.optim.Optimizer):
    """Momentum whose update is made orthogonal: every direction of a matrix moves equally far.

    After Keller Jordan's Muon (https://kellerjordan.github.io/posts/muon/), with AdamW's weight decay. The orthogonal
    matrix comes from five Newton-Schulz steps, which are products only. Matrices of one shape go through them together,
    each process taking its share of them.
    """

    def __init__(
        self,
        params: Iterable[torch.Tensor],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        *,
        in_bfloat16: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self._orthogonal = partial(orthogonal, in_bfloat16=in_bfloat16)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """One update of every matrix that has a gradient."""
        assert closure is None
        for group in self.param_groups:
            # A matrix in slices is gathered first: its parts have no orthogonal neighbours of their own.
            shapes: dict[tuple[int, ...], list[tuple[torch.Tensor, torch.Tensor]]] = {}
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                momentum = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                momentum.lerp_(weight.grad, 1 - group["momentum"])
                direction = weight.grad.lerp(momentum, group["momentum"])  # Nesterov: look ahead
                # Queries, keys and values are three matrices in one.
                rows, width = weight.shape
                for piece in whole(direction).chunk(3 if rows == 3 * width else 1):
                    shapes.setdefault(tuple(piece.shape), []).append((weight, piece))
            updates: dict[torch.Tensor, list[torch.Tensor]] = {}
            for (rows, width), pairs in shapes.items():
                # A tall matrix has more to move than its columns can say.
                scale = group["lr"] * max(1.0, rows / width) ** 0.5
                stack = divided(self._orthogonal, torch.stack([piece for _, piece in pairs])).mul_(scale)
                for (weight, _), update in zip(pairs, stack, strict=True):
                    updates.setdefault(weight, []).append(update)
            for weight, pieces in updates.items():
                # A checkpoint of an earlier version has a group without it.
                weight.mul_(1 - group["lr"] * group.get("weight_decay", 0.0))
                weight.sub_(like(torch.cat(pieces).to(weight.dtype), weight))


def orthogonal(x: torch.Tensor, *, in_bfloat16: bool = False) -> torch.Tensor:
    """The orthogonal matrix next to each of a stack of matrices, roughly: singular values end between 0.7 and 1.2.

    In bfloat16 on a GPU that has it, where that is twice as fast or more, and where it was tried: on some virtual CPUs
    bfloat16 kills the process (`torch.optim.Muon` uses it everywhere).
    """
    if in_bfloat16 or (x.is_cuda and torch.cuda.is_bf16_supported()):
        x = x.bfloat16()
    is_tall = x.size(-2) > x.size(-1)
    if is_tall:
        x = x.mT  # the products are then of the smaller side
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    if x.size(-1) > 2 * x.size(-2) and x.dtype == torch.float32:
        x = _through_gram(x)
    else:
        for _ in range(_STEPS):
            gram = x @ x.mT
            x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return x.mT if is_tall else x


def _through_gram(x: torch.Tensor) -> torch.Tensor:
    """The same five steps on xxᵀ, which is small where x is long: x itself is multiplied once, at the end.

    A step multiplies x by a polynomial of xxᵀ, and all of these commute. Not in bfloat16: xxᵀ has the squares of the
    singular values, and the small ones would drown.
    """
    gram = x @ x.mT
    product = None
    for number in range(_STEPS):
        factor = torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C)
        factor.diagonal(dim1=-2, dim2=-1).add_(_A)
        product = factor if product is None else factor @ product
        if number < _STEPS - 1:
            gram = factor @ (gram @ factor)
    assert product is not None
    return product @ x


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
    adam = torch.optim.AdamW(groups, lr=config.learning_rate, betas=(config.beta1, config.beta2), fused=True)
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
