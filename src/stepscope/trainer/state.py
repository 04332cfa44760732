"""What the next iteration depends on, and how a checkpoint keeps it.

Weights and optimizers are large (`large_state`). All the rest is small (`small_state`): how far the run is, its random
numbers, its place in the data. How a checkpoint gets to the disk and back is left to `checkpoint` and `sharded`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from stepscope.trainer.config import TrainConfig, told_as
from stepscope.trainer.data import Batches
from stepscope.trainer.device import World, random_state, set_random_state
from stepscope.trainer.model import GPT
from stepscope.trainer.optimizers import OPTIMIZERS, like


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far a run is: everything that the loop changes from step to step, apart from the weights."""

    iteration: int = 0
    first_iteration: int = 0  # the first iteration of this process; set when its loop begins
    local_iteration: int = 0  # steps done, also where nanoGPT's checkpoint made `iteration` begin higher
    best_val_loss: float = 1e9
    evaluated: bool = False  # this iteration was evaluated before the checkpoint that a resumed run came from
    # Of the training losses since the last evaluation. The sum stays on the device: reading it would wait for the step.
    loss_sum: torch.Tensor
    loss_count: int = 0
    running_mfu: float = -1.0  # not known yet

    def mean_loss(self) -> float | None:
        """The mean training loss since the last evaluation, None before the first step. Waits for the device."""
        return (self.loss_sum / self.loss_count).item() if self.loss_count else None

    def forget_losses(self) -> None:
        """Begin a new mean."""
        self.loss_sum, self.loss_count = torch.zeros_like(self.loss_sum), 0

    def saved(self) -> dict[str, Any]:
        """As a checkpoint has it under "progress"; the other fields have nanoGPT's keys."""
        return {
            "evaluated": self.evaluated,
            "loss_sum": self.loss_sum.item(),
            "loss_count": self.loss_count,
            "running_mfu": self.running_mfu,
            "local_iteration": self.local_iteration,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Take up what `saved` gave."""
        self.evaluated = saved["evaluated"]
        self.loss_sum.fill_(saved["loss_sum"])
        self.loss_count = saved["loss_count"]
        self.running_mfu, self.local_iteration = saved["running_mfu"], saved["local_iteration"]


# -- into a checkpoint --------------------------------------------------------------------------------------------


def large_state(model: GPT, optimizers: Sequence[torch.optim.Optimizer], *, in_slices: bool) -> dict[str, Any]:
    """Weights and optimizers. Of those in slices only what is small: the checkpointer knows the tensors."""
    states = {name: each.state_dict() for name, each in zip(OPTIMIZERS, optimizers, strict=False)}
    if in_slices:
        return {name: {"param_groups": state["param_groups"]} for name, state in states.items()}
    return {"model": model.state_dict(), **states}


def small_state(
    config: TrainConfig, world: World, progress: Progress, *, model: GPT, batches: Batches, scaler: torch.amp.GradScaler
) -> dict[str, Any]:
    """Everything else that the next iteration depends on. All processes must ask for it together."""
    # Of every process: each has random numbers of its own and, in nanoGPT's order, batches of its own.
    own = (random_state(world.device), batches.state())
    ranks: list[Any] = [own]
    if world.size > 1:
        ranks = [None] * world.size
        dist.all_gather_object(ranks, own)
    return {
        "model_args": model.args.saved(),
        "iter_num": progress.iteration,
        "best_val_loss": progress.best_val_loss,
        "config": asdict(config),
        "rng": [rng for rng, _ in ranks],
        "data": [data for _, data in ranks],
        "scaler": scaler.state_dict(),
        "progress": progress.saved(),
    }


# -- out of a checkpoint ------------------------------------------------------------------------------------------


def load_optimizers(
    saved: dict[str, Any], model: GPT, optimizers: Sequence[torch.optim.Optimizer], *, place: str
) -> None:
    """What the optimizers remember, and, where the checkpoint is in slices, the weights as well."""
    with told_as("train-bad-checkpoint", str(saved.get("slices", place))):
        if "slices" in saved:
            from stepscope.trainer import sharded

            sharded.read_into(Path(saved["slices"]), sharded.tensors_of(model, optimizers))
        for name, optimizer in zip(OPTIMIZERS, optimizers, strict=False):
            if name not in saved:
                continue
            own = optimizer.state_dict()
            state = saved[name].get("state", own["state"])  # a sharded state has just been read
            for number, values in state.items():
                for key, value in values.items():
                    values[key] = like(value, own["state"][number][key])
            optimizer.load_state_dict({"state": state, "param_groups": saved[name]["param_groups"]})
            for group in optimizer.param_groups:
                if "fused" in group:  # nanoGPT's own says None on a CPU
                    group["fused"], group["foreach"] = True, None


def restore_small(
    saved: dict[str, Any],
    config: TrainConfig,
    world: World,
    progress: Progress,
    *,
    batches: Batches,
    scaler: torch.amp.GradScaler,
    say: Callable[..., None],
) -> tuple[Any, Any] | None:
    """Put back what `small_state` gave; returns the batch that comes next. nanoGPT's checkpoints have none of this."""
    if "progress" not in saved:
        return None
    progress.restore(saved["progress"])
    scaler.load_state_dict(saved["scaler"])
    # nanoGPT's order is a different one in each process, so it can only be taken up by as many as before.
    data, is_same_world = saved["data"], len(saved["rng"]) == world.size
    own = data[world.rank] if is_same_world else data[0] if config.eval != "nanogpt" else None
    batch = None if own is None else batches.restore(own)
    if batch is None:
        say("train-other-batches")
    elif is_same_world:
        set_random_state(saved["rng"][world.rank], world.device)
    return batch
