"""Intervals that the run's settings state: a rhythm that equals one of them is that interval's."""

from __future__ import annotations

from typing import Literal

from stepscope.core.settings import Settings

# What the name of a setting says it repeats, and that it is an interval at all.
_WORDS: dict[Literal["evaluation", "checkpoint"], tuple[str, ...]] = {
    "evaluation": ("eval", "valid", "val_", "test"),
    "checkpoint": ("save", "saving", "checkpoint", "ckpt", "snapshot"),
}
_OWN_NAME = {"evaluation": "eval_interval", "checkpoint": "checkpoint_interval"}
_INTERVAL = ("interval", "every", "freq", "steps", "period", "snapshot", "iterations")


def stated_interval(settings: Settings, what: Literal["evaluation", "checkpoint"], every: float) -> int | None:
    """The interval of evaluations or checkpoints that a rhythm of `every` steps keeps; None where none is stated."""
    own = settings.count(_OWN_NAME[what])
    if own and every % own == 0:
        return own
    for name in settings:
        lowered = name.lower()
        is_interval = any(word in lowered for word in _INTERVAL) and any(word in lowered for word in _WORDS[what])
        if is_interval and settings.count(name) == every:
            return int(every)
    return None


def states_interval(settings: Settings, every: float) -> bool:
    """Whether evaluations or checkpoints come at that interval by the settings."""
    return any(stated_interval(settings, what, every) is not None for what in _WORDS)
