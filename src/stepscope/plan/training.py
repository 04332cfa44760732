"""What is to be run: batch, accumulation, evaluations, checkpoints and length, from a config under nanoGPT's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stepscope.core.settings import Value
from stepscope.plan.speed import Software

# nanoGPT's own defaults (train.py), and HF's names for the same things.
_DEFAULTS: dict[str, int] = {
    "batch_size": 12,
    "gradient_accumulation_steps": 40,
    "max_iters": 600_000,
    "eval_interval": 2000,
    "eval_iters": 200,
}
_OTHER_NAMES = {
    "batch_size": ("per_device_train_batch_size", "micro_batch_size"),
    "max_iters": ("max_steps", "train_iters"),
    "eval_interval": ("eval_steps",),
}


class Training(NamedTuple):
    """A run's settings. Accumulation counts the micro-batches of all GPUs together, as nanoGPT does."""

    batch_size: int
    accumulation: int
    max_steps: int
    eval_interval: int
    eval_iters: int
    always_saves: bool
    is_compiled: bool
    dtype: str
    assumed: tuple[str, ...]  # settings that the config leaves to defaults

    @property
    def sequences(self) -> int:
        """Sequences per step."""
        return self.batch_size * self.accumulation

    @property
    def software(self) -> Software:
        """How the trainer is written, as far as its speed goes."""
        return "compiled" if self.is_compiled else "eager"


def training_of(config: Mapping[str, Value], *, max_steps: int | None = None) -> Training:
    """The run that a config describes."""
    values: dict[str, int] = {}
    assumed = []
    for name, default in _DEFAULTS.items():
        stated = next((config[key] for key in (name, *_OTHER_NAMES.get(name, ())) if key in config), None)
        if isinstance(stated, bool) or not isinstance(stated, int | float) or stated < 1:
            assumed.append(name)
            stated = default
        values[name] = int(stated)
    if max_steps is not None:
        values["max_iters"] = max_steps
        assumed = [name for name in assumed if name != "max_iters"]
    return Training(
        batch_size=values["batch_size"],
        accumulation=values["gradient_accumulation_steps"],
        max_steps=values["max_iters"],
        eval_interval=values["eval_interval"],
        eval_iters=values["eval_iters"],
        always_saves=config.get("always_save_checkpoint", True) is not False,
        is_compiled=config.get("compile", True) is not False,
        dtype=str(config.get("dtype", "bfloat16")),
        assumed=tuple(assumed),
    )
