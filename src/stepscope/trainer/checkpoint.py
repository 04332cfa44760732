"""Checkpoints that cost the run a copy, survive a kill at any moment and bring it back to the bit.

What the next iteration depends on is large (weights and optimizers) or small (how far the run is, its random numbers,
its place in the data). Writing it has three parts, timed apart:

    staging   the state is copied into host memory that was set aside at start-up. On a GPU this runs on a stream of its
              own under the next forward and backward pass; only the next optimizer step has to wait for it, because
              until then nobody changes what is being copied.
    writing   another *process* writes the copy (`extras/writer.py`). A thread would fight with the training loop for
              the interpreter: a single large tensor froze it for half a second. The memory is shared, so nothing is
              sent but a few bytes. The new file is written next to the old one, flushed to the disk and renamed.
    waiting   only if a checkpoint comes while the one before it is still being written. Then the run waits: that is
              better than a third copy in memory.

The file has the format of `torch.save` and nanoGPT's keys, so that `torch.load` and nanoGPT's `sample.py` read it. It
is made in two halves: this side pickles the structure (a few kilobytes), the writer puts it and the tensors into the
container. So the writer needs no PyTorch, and is there at once.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from stepscope.trainer.config import NAMES, TrainConfig, TrainerError, told_as
from stepscope.trainer.data import Batches
from stepscope.trainer.extras import writer
from stepscope.trainer.extras.device import World, random_state, set_random_state
from stepscope.trainer.extras.found import candidates, damage
from stepscope.trainer.extras.shared_memory import SharedMemory
from stepscope.trainer.extras.spread import like
from stepscope.trainer.extras.torch_file import Key, bytes_of, key_of, parts_of
from stepscope.trainer.extras.writer import (
    ALIGN,
    NAME,
    SMALL,
    Written,
)
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
        "progress": {"loss_sum": progress.loss_sum.item(), **{name: getattr(progress, name) for name in _KEPT}},
    }


def restore_optimizers(
    saved: dict[str, Any], model: GPT, optimizers: Sequence[torch.optim.Optimizer], *, place: str
) -> None:
    """What the optimizers remember, and, where the checkpoint is in slices, the weights as well."""
    with told_as("train-bad-checkpoint", str(saved.get("slices", place))):
        if "slices" in saved:
            from stepscope.trainer.extras import sharded

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
    progress.loss_sum.fill_(saved["progress"]["loss_sum"])
    for name in _KEPT:
        setattr(progress, name, saved["progress"][name])
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


# -- writing ------------------------------------------------------------------------------------------------------


class Slot(NamedTuple):
    """Where a tensor lies in the shared memory."""

    offset: int
    num_bytes: int
    buffer: torch.Tensor


class Checkpointer:
    """Saves the state of a run through a writer process. One checkpoint is in flight at most."""

    def __init__(self, folder: Path, state: dict[str, Any], device: torch.device, *, lock: int | None = None) -> None:
        self._folder, self._lock = folder, lock
        tensors = {key_of(tensor): tensor for tensor in _tensors(state)}  # tied weights are one tensor under two names
        self.num_bytes = sum(_padded(tensor) for tensor in tensors.values())
        self._memory = SharedMemory(max(self.num_bytes, ALIGN))
        self._slots: dict[Key, Slot] = {}
        offset = 0
        for key, tensor in tensors.items():
            self._slots[key] = Slot(offset, tensor.nbytes, self._memory.tensor(offset, tensor))
            offset += _padded(tensor)
            # The first touch of fresh memory is slow (seconds for a gigabyte): now, not during the first checkpoint.
            self._slots[key].buffer.zero_()
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        if self._stream is not None:
            self._memory.pin()
        self._copied: Any = None  # an event on that stream
        self._message: bytes | None = None  # the message of a checkpoint that is still being copied
        self._iteration = 0
        self._in_flight: tuple[int, float] | None = None
        self._writer = self._start_writer()

    def _start_writer(self) -> subprocess.Popen[bytes]:
        """The writer shares no pipe with the trainer but its own two, and no terminal: Ctrl-C is not meant for it."""
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(writer.__file__)), self._memory.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # The folder is in use until the writer, too, is gone.
            pass_fds=self._memory.fds if self._lock is None else (*self._memory.fds, self._lock),
            start_new_session=True,
        )

    def stage(self, state: dict[str, Any], iteration: int, *, is_best: bool = False) -> None:
        """Copy the state aside and have it written. The copy may still run when this returns: see `settle`."""
        assert self._in_flight is None, "collect(wait=True) first"
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        with torch.no_grad(), torch.cuda.stream(self._stream) if self._stream else contextlib.nullcontext():
            for key, tensor in {key_of(tensor): tensor for tensor in _tensors(state)}.items():
                # Without a stream nobody waits for the copy: it must be whole when this returns (Apple's GPUs).
                self._slots[key].buffer.copy_(tensor, non_blocking=self._stream is not None)
        job = {"folder": str(self._folder), "parts": list(parts_of(state, self._content)), "is_best": is_best}
        self._message, self._iteration = pickle.dumps(job), iteration
        if self._stream is None:
            self.settle()
        else:
            self._copied = self._stream.record_event()

    def _content(self, key: Key, tensor: torch.Tensor) -> bytes | tuple[int, int]:
        """Of a tensor that was copied aside, the place; small ones travel in the message."""
        slot = self._slots.get(key)
        return bytes_of(tensor) if slot is None else (slot.offset, slot.num_bytes)

    def settle(self) -> None:
        """Must come before the next optimizer step: the copy is finished when this returns, and the writer knows."""
        if self._message is None:
            return
        if self._copied is not None:
            self._copied.synchronize()
        message, self._message, self._copied = self._message, None, None
        if self._writer.poll() is not None:
            self._end_writer()
            self._writer = self._start_writer()
        self._in_flight = (self._iteration, time.monotonic())
        self._send(message)

    def _send(self, message: bytes) -> None:
        assert self._writer.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the writer died: collect() will say so
            self._writer.stdin.write(len(message).to_bytes(8, "little") + message)
            self._writer.stdin.flush()

    @property
    def is_writing(self) -> bool:
        """Whether a checkpoint is on its way to the disk."""
        return self._in_flight is not None

    def collect(self, *, wait: bool = False) -> Written | None:
        """What became of the checkpoint in flight, once that is known; `wait` until it is."""
        self.settle()
        if self._in_flight is None:
            return None
        answers = self._writer.stdout
        assert answers is not None
        if not select.select([answers], [], [], 0)[0]:
            if not wait:
                return None
            self._send(writer.HURRY)
        line = answers.readline()
        (iteration, start), self._in_flight = self._in_flight, None
        if not line:
            return Written(iteration, time.monotonic() - start, 0, f"the writer ended ({self._writer.wait()})")
        return Written(iteration, **json.loads(line))

    def close(self) -> Written | None:
        """Wait for the last checkpoint and end the writer."""
        last = self.collect(wait=True)
        self._end_writer()
        writer.part_best(self._folder)
        return last

    def _end_writer(self) -> None:
        assert self._writer.stdin is not None
        assert self._writer.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._writer.stdin.close()
        self._writer.wait()
        self._writer.stdout.close()


def _padded(tensor: torch.Tensor) -> int:
    return -(-tensor.nbytes // ALIGN) * ALIGN


def _tensors(state: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors that are large and always there: weights and optimizer state. The rest travels in the message."""
    found: list[torch.Tensor] = []
    nodes: list[Any] = [state.get(key) for key in ("model", *OPTIMIZERS)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, torch.Tensor):
            found.append(node)
        elif isinstance(node, dict):
            nodes.extend(node.values())
        elif isinstance(node, list | tuple):
            nodes.extend(node)
    return found


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
