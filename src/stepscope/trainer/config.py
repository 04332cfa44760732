"""The settings of a run: nanoGPT's names and defaults, and a few of our own.

nanoGPT executes its config files into the globals of the script. Here a setting is a field with a type, a config file
is read and never run, and a slip of the finger is an error before anything is trained.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

Plain = bool | int | float | str


class TrainerError(Exception):
    """Something a person can put right. `key` names the sentence that says it; the command line has the words."""

    def __init__(self, key: str, *, place: str | None = None, **args: object) -> None:
        super().__init__(f"{key}: {place or ''} {args or ''}".strip())
        self.key = key
        self.place = place
        self.args_for_text = args


@contextmanager
def told_as(key: str, place: str) -> Iterator[None]:
    """What goes wrong with a file's contents in here, whatever it is, is an error of that name."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as problem:
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
        raise TrainerError(key, place=place, reason=reason) from None


def _setting(default: Plain, about: str) -> Any:
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """All settings of a run, in nanoGPT's order; what nanoGPT does not have comes last."""

    # files
    out_dir: str = _setting("out", "Folder of the checkpoints and logs")
    eval_interval: int = _setting(2000, "Iterations between evaluations; a checkpoint may follow each")
    log_interval: int = _setting(1, "Iterations between log lines")
    eval_iters: int = _setting(200, "Batches in one evaluation (see --eval)")
    eval_only: bool = _setting(False, "Stop after the first evaluation")
    always_save_checkpoint: bool = _setting(True, "Save after every evaluation, not only after the best so far")
    init_from: str = _setting("scratch", "Starting point: scratch, resume, or gpt2, gpt2-medium, gpt2-large, gpt2-xl")
    wandb_log: bool = _setting(False, "Log to Weights & Biases, where wandb is installed")
    wandb_project: str = _setting("owt", "Project of the run at Weights & Biases")
    wandb_run_name: str = _setting("gpt2", "Name of the run at Weights & Biases")
    # data
    dataset: str = _setting(
        "openwebtext", "Data: data/NAME, or any folder with train.bin and val.bin; stdlib is built in"
    )
    gradient_accumulation_steps: int = _setting(5 * 8, "Micro-batches in one iteration, over all processes")
    batch_size: int = _setting(12, "Sequences in one micro-batch")
    block_size: int = _setting(1024, "Tokens in one sequence")
    # model
    n_layer: int = _setting(12, "Number of blocks")
    n_head: int = _setting(12, "Number of attention heads")
    n_embd: int = _setting(768, "Width of the model")
    dropout: float = _setting(0.0, "Share of activations dropped during training")
    bias: bool = _setting(False, "Use biases in the linear layers and norms")
    # optimizer
    learning_rate: float = _setting(6e-4, "Highest learning rate")
    max_iters: int = _setting(600000, "Number of the last iteration")
    weight_decay: float = _setting(1e-1, "Weight decay of the matrices")
    beta1: float = _setting(0.9, "Decay rate of AdamW's first moment")
    beta2: float = _setting(0.95, "Decay rate of AdamW's second moment")
    grad_clip: float = _setting(1.0, "Largest norm of the gradient; 0 for no limit")
    decay_lr: bool = _setting(True, "Warm up, then decay along a cosine")
    warmup_iters: int = _setting(2000, "Iterations of warm-up")
    lr_decay_iters: int = _setting(600000, "Iteration at which the cosine ends")
    min_lr: float = _setting(6e-5, "Learning rate at the end of the cosine")
    # system
    backend: str = _setting("nccl", "Backend of collectives under torchrun; always gloo on a CPU")
    device: str = _setting("cuda", "Device: cpu, cuda, cuda:1, mps")
    dtype: str = _setting("auto", "Precision: float32, bfloat16 or float16; auto picks the best that the device has")
    compile: bool = _setting(True, "Use torch.compile, warmed up before the clock starts")
    # settings that nanoGPT does not have
    seed: int = _setting(1337, "Seed of the weights and the data (nanoGPT always uses 1337)")
    recipe: str = _setting("nanogpt", "Model and optimizer: nanogpt has its own; modern reaches the same loss sooner")
    muon_lr: float = _setting(0.03, "Highest learning rate of the matrices under --recipe=modern")
    schedule: str = _setting(
        "auto", "Learning rate after warm-up: cosine (nanoGPT's), or wsd: constant, then down in a line; auto by recipe"
    )
    warmdown: float = _setting(0.4, "Share of lr_decay_iters at whose end the rate falls, under --schedule=wsd")
    eval: str = _setting(
        "fixed", "Batches to evaluate: fixed takes the same few every time; nanogpt draws as nanoGPT does"
    )
    eval_train: bool = _setting(False, "Evaluate the training split too, with --eval=fixed")
    threads: int = _setting(0, "CPU threads; 0 for as many as are idle when the run starts")
    save_interval: int = _setting(0, "Iterations between checkpoints; 0: one may follow each evaluation, as in nanoGPT")
    save_minutes: float = _setting(0.0, "Minutes between checkpoints; 0 for no such limit")
    tensorboard: bool = _setting(False, "Write TensorBoard files to tensorboard/ in the folder of the run")
    shard: bool = _setting(
        False, "Split the model over the processes under torchrun (FSDP2), where it does not fit on one"
    )
    staging: bool = _setting(
        True, "Keep a copy of the state in host memory: a checkpoint then costs a copy. False waits for the disk"
    )
    gpt2_folder: str = _setting("", "Folder with GPT-2's config.json and model.safetensors")


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
_MOMENTUM = (0.85, 0.95, 300)  # of Muon: at the first iteration, later, and the iteration from which on it stays

NAMES = tuple(setting.name for setting in fields(TrainConfig))
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


def learning_rate_at(config: TrainConfig, iteration: int) -> float:
    """The learning rate of an iteration: up in a line, then as `--schedule` says.

    nanoGPT divides by zero where `lr_decay_iters` equals `warmup_iters`; here that means no decay phase at all.
    """
    return _rate_at(config, iteration, config.learning_rate, config.min_lr, config.warmup_iters)


def muon_rate_at(config: TrainConfig, iteration: int) -> float:
    """The same for the matrices under `--recipe=modern`, from a height of their own and without warm-up.

    An orthogonal update is equally long from the first iteration on, and the blocks start as the identity: there is
    nothing to wait for.
    """
    lowest = config.min_lr * config.muon_lr / (config.learning_rate or 1.0)
    return _rate_at(config, iteration, config.muon_lr, lowest, 0)


def muon_momentum_at(iteration: int) -> float:
    """Less at the beginning, when the gradients of a few iterations ago are of another network."""
    low, high, until = _MOMENTUM
    return low + (high - low) * min(1.0, iteration / until)


def _rate_at(config: TrainConfig, iteration: int, highest: float, lowest: float, warmup: int) -> float:
    if not config.decay_lr:
        return highest
    end = config.lr_decay_iters
    if iteration < warmup:
        return highest * (iteration + 1) / (warmup + 1)
    if iteration > end or end <= warmup:
        return lowest
    if config.schedule == "wsd" or (config.schedule == "auto" and config.recipe == "modern"):
        # Not before the warm-up is over, however long the way down is.
        length = min(config.warmdown * end, end - warmup)
        left = (end - iteration) / length if length else 1.0
        return lowest + min(1.0, left) * (highest - lowest)
    ratio = (iteration - warmup) / (end - warmup)
    return lowest + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (highest - lowest)
