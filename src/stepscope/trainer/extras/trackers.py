"""Where else the figures of a run go: Weights & Biases (`--wandb_log=True`, nanoGPT's keys) and TensorBoard.

Neither is needed: what is not installed is said once, and the run goes on. Its own records are in `steps.jsonl`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stepscope.trainer.config import TrainConfig


class Trackers:
    """The trackers that the settings ask for; none in most runs."""

    def __init__(self, config: TrainConfig, folder: Path, iteration: int, say: Callable[..., None]) -> None:
        self._wandb: Any = None
        self._board: Any = None
        if config.wandb_log:
            self._wandb = _start_wandb(config, folder, say)
        if config.tensorboard:
            self._board = _start_tensorboard(folder, iteration, say)

    def log(self, iteration: int, figures: Mapping[str, float | None]) -> None:
        """Figures of one moment, by name."""
        known = {name: value for name, value in figures.items() if value is not None}
        if self._wandb is not None:
            self._wandb.log({"iter": iteration, **known})
        if self._board is not None:
            for name, value in known.items():
                self._board.add_scalar(name, value, iteration)

    def close(self) -> None:
        """Have everything written."""
        if self._wandb is not None:
            self._wandb.finish()
        if self._board is not None:
            self._board.close()


def _start_wandb(config: TrainConfig, folder: Path, say: Callable[..., None]) -> Any:
    """As nanoGPT starts it; where it keeps its files is the run's folder (or WANDB_DIR)."""
    try:
        import wandb
    except ImportError:
        say("train-no-wandb")
        return None
    try:
        return wandb.init(
            project=config.wandb_project, name=config.wandb_run_name, config=asdict(config), dir=str(folder)
        )
    except Exception as problem:  # no account, no network, another version: none of it is a reason not to train
        say("train-no-tracker", name="W&B", reason=f"{type(problem).__name__}: {problem}".partition("\n")[0])
        return None


def _start_tensorboard(folder: Path, iteration: int, say: Callable[..., None]) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        say("train-no-tensorboard")
        return None
    # What was written past the checkpoint of a resumed run is not shown twice.
    return SummaryWriter(str(folder / "tensorboard"), purge_step=iteration or None)
