"""Record a training of CatBoost: `record()` before `fit`."""

from __future__ import annotations

import os

import catboost  # noqa: F401 (what is to be hooked)

from stepscope.integrations import callbacks


def record(folder: str | os.PathLike[str] | None = None) -> None:
    """Time rounds and saves of this process from now on; on a GPU, CatBoost says nothing of its rounds."""
    callbacks.start("catboost", folder)
