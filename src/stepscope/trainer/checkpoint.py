"""What the next iteration depends on: how it is saved, loaded and put back to the bit.

That is large (weights and optimizers) or small (how far the run is, its random numbers, its place in the data). The
file has the format of `torch.save` and nanoGPT's keys, so that `torch.load` and nanoGPT's `sample.py` read it. Who
writes it, and how long the run waits for that, is a `Checkpointer`'s business:

    extras/staged.py      the state is copied aside, and another process writes it: a checkpoint costs a copy
    extras/blocking.py    no copy (`--staging=False`): the run waits for the disk
    extras/sharded.py     each process writes its slices (`--shard=True`)

All of them write next to the old checkpoint, flush to the disk and rename: a kill at any moment leaves a whole one.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch

from stepscope.trainer.config import NAMES, TrainConfig, TrainerError
from stepscope.trainer.data import Batches
from stepscope.trainer.extras.device import World, random_state, set_random_state
from stepscope.trainer.extras.found import candidates, damage
from stepscope.trainer.extras.spread import like
from stepscope.trainer.extras.writer import NAME, SMALL, Written
from stepscope.trainer.model import GPT, OPTIMIZERS

# -- what is saved ------------------------------------------------------------------------------------------------


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

    def take_mean_loss(self) -> float | None:
        """The mean training loss since this was last asked, None before the first step. Waits for the device."""
        mean = (self.loss_sum / self.loss_count).item() if self.loss_count else None
        self.loss_sum, self.loss_count = torch.zeros_like(self.loss_sum), 0
        return mean


# Of those, what a checkpoint has under "progress"; iteration and best loss have nanoGPT's keys.
_KEPT = ("evaluated", "loss_count", "running_mfu", "local_iteration")


class State(NamedTuple):
    """Everything that the next iteration depends on, on this process."""

    config: TrainConfig
    world: World
    model: GPT
    optimizers: list[torch.optim.Optimizer]
    batches: Batches
    scaler: torch.amp.GradScaler
    progress: Progress

    def large(self) -> dict[str, Any]:
        """Weights and optimizers. Of those in slices only what is small: the checkpointer knows the tensors."""
        states = {name: each.state_dict() for name, each in zip(OPTIMIZERS, self.optimizers, strict=False)}
        if self.config.shard:
            return {name: {"param_groups": state["param_groups"]} for name, state in states.items()}
        return {"model": self.model.state_dict(), **states}

    def small(self) -> dict[str, Any]:
        """Everything else. All processes must ask for it together."""
        progress = self.progress
        # Each process has random numbers of its own and, in nanoGPT's order, batches of its own.
        ranks = self.world.gather((random_state(self.world.device), self.batches.state()))
        return {
            "model_args": self.model.args.saved(),
            "iter_num": progress.iteration,
            "best_val_loss": progress.best_val_loss,
            "config": asdict(self.config),
            "rng": [rng for rng, _ in ranks],
            "data": [data for _, data in ranks],
            "scaler": self.scaler.state_dict(),
            "progress": {"loss_sum": progress.loss_sum.item(), **{name: getattr(progress, name) for name in _KEPT}},
        }

    def restore(self, saved: dict[str, Any], say: Callable[..., None]) -> tuple[Any, Any] | None:
        """Put back what a checkpoint has, but for weights that the network was built with; returns the next batch.

        nanoGPT's own has the optimizer and the iteration only. None: the batches are drawn from the beginning.
        """
        progress = self.progress
        progress.iteration = int(saved.get("iter_num", 0))
        progress.best_val_loss = float(saved.get("best_val_loss", 1e9))
        self._restore_large(saved)
        if "progress" not in saved:
            return None
        progress.loss_sum.fill_(saved["progress"]["loss_sum"])
        for name in _KEPT:
            setattr(progress, name, saved["progress"][name])
        self.scaler.load_state_dict(saved["scaler"])
        # nanoGPT's order is a different one in each process, so it can only be taken up by as many as before.
        data, is_same_world = saved["data"], len(saved["rng"]) == self.world.size
        own = data[self.world.rank] if is_same_world else data[0] if self.config.eval != "nanogpt" else None
        batch = None if own is None else self.batches.restore(own)
        if batch is None:
            say("train-other-batches")
        elif is_same_world:
            set_random_state(saved["rng"][self.world.rank], self.world.device)
        return batch

    def _restore_large(self, saved: dict[str, Any]) -> None:
        if "slices" in saved:
            from stepscope.trainer.extras import sharded

            sharded.read_into(Path(saved["slices"]), sharded.tensors_of(self.model, self.optimizers))
        for name, optimizer in zip(OPTIMIZERS, self.optimizers, strict=False):
            if name not in saved:
                continue
            own = optimizer.state_dict()
            state = saved[name].get("state", own["state"])  # a sharded state has just been read
            for number, values in state.items():
                for key, value in values.items():
                    values[key] = like(value, own["state"][number][key])
            optimizer.load_state_dict({"state": state, "param_groups": saved[name]["param_groups"]})
            for group in optimizer.param_groups:
                if "fused" in group:  # whichever the run before used
                    group["fused"], group["foreach"] = optimizer.defaults["fused"], None


class Checkpointer(Protocol):
    """Writes checkpoints of one run. One is under way at most."""

    def stage(self, state: dict[str, Any], iteration: int, *, is_best: bool = False) -> None:
        """Begin to save a state. It may still be read when this returns."""

    def settle(self) -> None:
        """Wait until the state has been read: must come before the next optimizer step."""

    @property
    def is_writing(self) -> bool:
        """Whether a checkpoint is on its way to the disk."""

    def collect(self, *, wait: bool = False) -> Written | None:
        """What became of the checkpoint under way, once that is known; `wait` until it is."""

    def close(self) -> Written | None:
        """Wait for the last checkpoint, and end."""


# -- loading ------------------------------------------------------------------------------------------------------

# What PyTorch raises for a file that is no checkpoint, depending on what is wrong with it.
_UNREADABLE = (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError, LookupError)


def load(
    folder: Path,
    *,
    say: Callable[..., None] | None = None,
    with_optimizers: bool = True,
    in_slices: bool = False,
    best: bool = False,
) -> dict[str, Any]:
    """The newest whole checkpoint of a folder: ours or nanoGPT's. Only tensors and plain values are believed.

    Every part is compared with its CRC-32 first, in the memory that the tensors are then used from: the file is read
    once. One that was written in slices (see `extras/sharded`) is put together; `in_slices` leaves them where they are
    and says so under "slices". Without `with_optimizers` those need not be there. `best`: the best one where there is
    one.
    """
    broken: list[str] = []
    for path in candidates(folder, best=best):
        problem = damage(path)
        if problem is None:
            try:
                if path.is_dir():
                    from stepscope.trainer.extras import sharded

                    if in_slices:
                        return {**sharded.read_small(path), "slices": str(path)}
                    return sharded.read_whole(path, with_optimizers=with_optimizers)
                state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
                if isinstance(state, dict) and {"model", "model_args"} <= state.keys():
                    return state
                problem = "no model in it"
            except _UNREADABLE as trouble:
                problem = str(trouble).partition("\n")[0]
        broken.append(f"{path.name}: {problem}")
        if say is not None:
            say("train-broken-checkpoint", path=str(path), reason=problem)
    if broken:
        raise TrainerError("train-no-whole-checkpoint", place=str(folder), reason="; ".join(broken))
    raise TrainerError("train-no-checkpoint", place=str(folder / NAME))


def saved_settings(folder: Path) -> dict[str, Any]:
    """The settings that the newest checkpoint states; none where it cannot be read, which `load` then says."""
    for path in candidates(folder):
        file = path / SMALL if path.is_dir() else path
        with contextlib.suppress(*_UNREADABLE, AttributeError, TypeError):
            found = torch.load(file, map_location="cpu", weights_only=True, mmap=True)["config"]
            return {name: found[name] for name in NAMES if isinstance(found.get(name), bool | int | float | str)}
    return {}
