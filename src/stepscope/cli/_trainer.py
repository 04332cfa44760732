"""What the commands of the trainer share: the check for PyTorch, and its errors in the user's language."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import Any

from stepscope.core.errors import InputError, UsageError
from stepscope.trainer.config import Plain, TrainerError
from stepscope.trainer.extras.settings import parse_flag

# Asked wrongly, as against something that is missing or broken.
_USAGE = frozenset({"train-setting-type", "train-choice", "train-range", "train-heads", "train-odd-head"})


def need_torch() -> None:
    """Say what to install if PyTorch is missing."""
    if importlib.util.find_spec("torch") is None:
        raise InputError("train-no-torch", place="import torch", extra="train")


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Turn the trainer's errors into ours, which the command line prints in the user's language."""
    try:
        yield
    except TrainerError as problem:
        kind = UsageError if problem.key in _USAGE else InputError
        args: dict[str, Any] = problem.args_for_text
        raise kind(problem.key, place=problem.place, **args) from None


def setting(name: str, text: str) -> Plain:
    """The value of a setting as nanoGPT reads it."""
    with translated_errors():
        return parse_flag(name, text)
