"""The settings of a run: nanoGPT's names and defaults, and a few of our own.

nanoGPT executes its config files into the globals of the script. Here a setting is a field with a type, and a slip of
the finger is an error before anything is trained (`extras/settings.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
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
    dtype: str = _setting(
        "auto", "Precision: float32, bfloat16 or float16; auto picks the best that the device has (docs/trainer.md)"
    )
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


_MOMENTUM = (0.85, 0.95, 300)  # of Muon: at the first iteration, later, and the iteration from which on it stays

NAMES = tuple(setting.name for setting in fields(TrainConfig))


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
