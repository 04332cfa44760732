"""Record a loop with Accelerate: `record()` before the model and the optimizer are made."""

from __future__ import annotations

import os

import accelerate  # noqa: F401 (what is to be hooked)

from stepscope.integrations import callbacks


def record(folder: str | os.PathLike[str] | None = None) -> None:
    """Time steps, evaluations, saves and data of this process from now on."""
    callbacks.with_torch("accelerate", folder)
