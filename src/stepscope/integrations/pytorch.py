"""Record a hand-written PyTorch loop: `record()` before the model and the optimizer are made."""

from __future__ import annotations

import os

import torch  # noqa: F401 (what is to be hooked)

from stepscope.integrations import callbacks


def record(folder: str | os.PathLike[str] | None = None) -> None:
    """Time steps, evaluations, saves, data, compiles and collections of this process from now on."""
    callbacks.start("torch_loop", folder)
