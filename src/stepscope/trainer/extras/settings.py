"""What a person asks for, as settings: values in the type of their setting, checked before anything is trained."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from stepscope.trainer.config import Plain, TrainConfig, TrainerError

CHOICES = {
    "recipe": ("nanogpt", "modern"),
    "schedule": ("auto", "cosine", "wsd"),
    "eval": ("fixed", "nanogpt"),
    "dtype": ("auto", "float32", "bfloat16", "float16"),
    "init_from": ("scratch", "resume", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"),
}
# Settings that make no sense below this number.
_LEAST = {
    **dict.fromkeys(("eval_interval", "log_interval", "eval_iters", "gradient_accumulation_steps"), 1),
    **dict.fromkeys(("batch_size", "block_size", "n_layer", "n_head", "n_embd"), 1),
    **dict.fromkeys(("max_iters", "warmup_iters", "lr_decay_iters", "grad_clip", "weight_decay", "seed", "threads"), 0),
    **dict.fromkeys(("save_interval", "save_minutes"), 0),
    **dict.fromkeys(("learning_rate", "min_lr", "muon_lr", "warmdown", "dropout", "beta1", "beta2"), 0),
}
_BELOW_ONE = ("dropout", "beta1", "beta2")

ABOUT = {setting.name: str(setting.metadata["about"]) for setting in fields(TrainConfig)}
_DEFAULTS: dict[str, Any] = {setting.name: setting.default for setting in fields(TrainConfig)}


def parse_flag(name: str, text: str) -> Plain:
    """The value of `--name=text` as nanoGPT reads it: a Python literal, else the text itself."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        value = text
    # `--device=1` is not meant, but `--dataset=2024` may be: what should be text is text, without quotes around it.
    return coerce(name, text if isinstance(_DEFAULTS[name], str) and not isinstance(value, str) else value)


def coerce(name: str, value: Any) -> Any:
    """The value in the type of its setting; a whole number is a fine learning rate, and 1e5 a fine count."""
    wanted = type(_DEFAULTS[name])
    if wanted is bool and isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if wanted is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if type(value) is not wanted:
        raise TrainerError("train-setting-type", place=f"{name} = {value!r}", setting=name, wanted=wanted.__name__)
    return value


def build(*layers: Mapping[str, Plain]) -> TrainConfig:
    """The settings with later layers over earlier ones, checked."""
    config = TrainConfig()
    for layer in layers:
        values = {name: coerce(name, value) for name, value in layer.items()}
        config = replace(config, **values)
    _check(config)
    return config


def _check(config: TrainConfig) -> None:
    for name, known in CHOICES.items():
        if getattr(config, name) not in known:
            place = f"{name} = {getattr(config, name)}"
            raise TrainerError("train-choice", place=place, setting=name, known=", ".join(known))
    for name, least in _LEAST.items():
        value = getattr(config, name)
        if not (math.isfinite(value) and value >= least) or (name in _BELOW_ONE and value >= 1):
            raise TrainerError("train-range", place=f"{name} = {value}", setting=name, least=least)
    if config.n_embd % config.n_head:
        raise TrainerError("train-heads", place=f"n_embd = {config.n_embd}, n_head = {config.n_head}")
    if config.recipe == "modern" and (config.n_embd // config.n_head) % 2:
        raise TrainerError("train-odd-head", place=f"n_embd = {config.n_embd}, n_head = {config.n_head}")
    if config.recipe == "modern" and config.init_from.startswith("gpt2"):
        raise TrainerError("train-gpt2-recipe", place=f"init_from = {config.init_from}")
