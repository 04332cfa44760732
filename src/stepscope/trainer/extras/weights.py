"""Networks that were trained before: those of checkpoints, ours or nanoGPT's, and OpenAI's from a local folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from stepscope.trainer.config import TrainerError, told_as
from stepscope.trainer.model import GPT, SHAPE, ModelArgs

_MOST_LAYERS = 10_000  # of a checkpoint in slices, whose tensors are not looked at yet


def load_model(saved: dict[str, Any], *, place: str, dropout: float = 0.0) -> GPT:
    """The network of a checkpoint, ours or nanoGPT's."""
    with told_as("train-bad-checkpoint", place):
        args = saved["model_args"]
        shape = {name: args[name] for name in (*SHAPE, "vocab_size")}
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
