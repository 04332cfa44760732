"""Record a training of Ultralytics: `record()` before `model.train`."""

from __future__ import annotations

import os

import ultralytics.engine.trainer  # noqa: F401 (what is to be hooked)

from stepscope.integrations import callbacks


def record(folder: str | os.PathLike[str] | None = None) -> None:
    """Time steps, validation and saves of every trainer of this process from now on."""
    callbacks.with_torch("ultralytics", folder)
