"""`stepscope export`: one file of a checkpoint in slices."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from stepscope.trainer.config import TrainerError
from stepscope.trainer.extras.found import candidates, damage
from stepscope.trainer.extras.sharded import read_whole
from stepscope.trainer.extras.writer import SLICES, aside_of


def export(folder: Path, target: Path) -> dict[str, Any]:
    """Write the newest checkpoint in slices as one file with nanoGPT's keys; gives back what is in it."""
    paths = [path for path in candidates(folder) if path.is_dir() and damage(path) is None]
    if not paths:
        raise TrainerError("train-no-slices", place=str(folder / SLICES))
    state = read_whole(paths[0])
    aside = aside_of(target)
    try:
        with aside.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(target)
    except (OSError, RuntimeError) as problem:  # PyTorch says a full disk in its own way
        aside.unlink(missing_ok=True)
        raise TrainerError("train-out-dir", place=str(target), reason=str(problem).partition("\n")[0]) from None
    return state
