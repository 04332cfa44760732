"""The network, in two recipes; what trains it is in `optimizers`.

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

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 (its customary name)

from stepscope.trainer.config import TrainerError, told_as

_MOST_LAYERS = 10_000  # of a checkpoint in slices, whose tensors are not looked at yet
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

    def saved(self) -> dict[str, Any]:
        """As a checkpoint keeps it: exactly nanoGPT's keys where nanoGPT can load it."""
        names = ("n_layer", "n_head", "n_embd", "block_size", "bias", "vocab_size", "dropout")
        args = {name: getattr(self, name) for name in names}
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


# -- loading ---------------------------------------------------------------------------------------------------------


def load_model(saved: dict[str, Any], *, place: str, dropout: float = 0.0) -> GPT:
    """The network of a checkpoint, ours or nanoGPT's."""
    with told_as("train-bad-checkpoint", place):
        args = saved["model_args"]
        shape = {name: args[name] for name in ("n_layer", "n_head", "n_embd", "block_size", "bias", "vocab_size")}
        _check_shape(shape, saved.get("model"))
        model = GPT(ModelArgs(**shape, dropout=dropout, recipe=args.get("recipe", "nanogpt")))
        if "model" not in saved:
            return model  # the checkpoint is in slices, and each process reads its own into the network it has
        # torch.compile puts a prefix before every name.
        weights = {name.removeprefix("_orig_mod."): value for name, value in saved["model"].items()}
        # Very old PyTorch kept the mask of causal attention as a buffer.
        weights = {name: value for name, value in weights.items() if not name.endswith(".attn.bias")}
        model.load_state_dict(weights)
    return model


def _check_shape(shape: dict[str, Any], weights: dict[str, Any] | None) -> None:
    """Refuse a network that is far larger than its weights before it is built."""
    layers = int(shape["n_layer"])
    if layers > (_MOST_LAYERS if weights is None else len(weights)):
        raise ValueError(f"n_layer {layers}")
    table = None if weights is None else weights.get("transformer.wte.weight")
    if table is not None and tuple(table.shape) != (shape["vocab_size"], shape["n_embd"]):
        raise ValueError(f"vocab_size {shape['vocab_size']}, n_embd {shape['n_embd']}: {tuple(table.shape)}")


def load_gpt2(name: str, folder: str, dropout: float) -> GPT:
    """A network with OpenAI's weights from a local folder in Hugging Face's layout; nothing is downloaded."""
    place = _gpt2_folder(name, folder)
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError:
        raise TrainerError("train-no-safetensors", extra="train") from None
    try:
        shape = json.loads((place / "config.json").read_text(encoding="utf-8"))
        args = ModelArgs(
            n_layer=int(shape["n_layer"]),
            n_head=int(shape["n_head"]),
            n_embd=int(shape["n_embd"]),
            block_size=int(shape.get("n_positions", 1024)),
            bias=True,
            vocab_size=int(shape["vocab_size"]),
            dropout=dropout,
        )
        weights = load_file(place / "model.safetensors")
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as problem:
        raise TrainerError("train-bad-gpt2", place=str(place), reason=str(problem)) from None
    model = GPT(args)
    own = model.state_dict()
    weights = {key.removeprefix("transformer."): value for key, value in weights.items()}
    # GPT-2 stored its linear layers the other way round.
    turned = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
    for key, target in own.items():
        short = "wte.weight" if key == "lm_head.weight" else key.removeprefix("transformer.")
        source = weights.get(short)
        if source is not None and short.endswith(turned):
            source = source.t()
        if source is None or source.shape != target.shape:
            raise TrainerError("train-bad-gpt2", place=str(place), reason=short)
        with torch.no_grad():
            target.copy_(source)
    return model


def _gpt2_folder(name: str, folder: str) -> Path:
    """The folder that was named, or Hugging Face's own cache."""
    if folder:
        candidates = [Path(folder).expanduser()]
    else:
        hub = Path("~/.cache/huggingface/hub").expanduser()
        candidates = [
            snapshot
            for owner in ("models--", "models--openai-community--")
            for snapshot in sorted(hub.glob(f"{owner}{name}/snapshots/*"))
        ]
    for candidate in candidates:
        if (candidate / "model.safetensors").exists():
            return candidate
    raise TrainerError("train-no-gpt2", place=str(candidates[0] if candidates else hub), name=name)
