"""Hugging Face Accelerate: the loop is the user's own, and followed as PyTorch's; saves are its methods."""

from __future__ import annotations

import functools
from typing import Any

from _stepscope.session import Session
from _stepscope.wrapping import version_of


def hook_accelerator(session: Session, module: Any) -> None:
    """Its ways to save."""
    session.probe("accelerate", version_of("accelerate"))
    session.try_all(
        (f"Accelerator.{name}", functools.partial(session.wrap, module.Accelerator, name, "checkpoint"))
        for name in ("save_state", "save_model", "save")
    )


HOOKS = {"accelerate.accelerator": hook_accelerator}
