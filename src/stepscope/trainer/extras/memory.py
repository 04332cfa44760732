"""What a run needs of memory: the most that a piece of work had in use, and what the host has left.

A CUDA device keeps the peak itself. `LiveBytes` counts on any device, also with fake tensors, which compute nothing and
take no memory: that is how a test knows what a GPU would need.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from stepscope.trainer.config import TrainConfig
from stepscope.trainer.extras.device import Autocast, World, random_state, set_random_state, without_gradients

_STATED_BYTES = 100_000_000  # a copy in host memory that is smaller than this is not worth a line
# Training batches in one batch of an evaluation, where they fit: no activations are kept, but logits of every position
# are, and with a large vocabulary those are most of it. A CPU gains nothing by it (measured: 0.85 to 1.1).
_BATCHES_AT_ONCE = (4, 2)
# Runs one training step of one micro-batch, or one batch of an evaluation with this many sequences, and returns the
# most memory that was in use meanwhile; None: the device does not say.
Peak = Callable[[int | None], int | None]


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of the tensors that are made while it is entered and not gone yet; `peak` is the most."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, and note the storages that it made."""
        before = {id(leaf.untyped_storage()) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)}
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, torch.Tensor) and id(leaf.untyped_storage()) not in before:
                self._note(leaf.untyped_storage())
        return made

    def _note(self, storage: Any) -> None:
        if storage in self._known:
            return
        self._known.add(storage)
        num_bytes = storage.nbytes()
        self.now += num_bytes
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._gone, num_bytes)

    def _gone(self, num_bytes: int) -> None:
        self.now -= num_bytes


def state_bytes(model: torch.nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> int:
    """Of the weights and the optimizers' state on this process: what a checkpoint copies aside."""
    tensors: list[Any] = [*model.parameters()]
    for optimizer in optimizers:
        for values in optimizer.state.values():
            tensors += [value for value in values.values() if isinstance(value, torch.Tensor)]
    # A tensor in slices counts with the slice that is here.
    local = (tensor.to_local() if hasattr(tensor, "to_local") else tensor for tensor in tensors)
    return sum(tensor.nbytes for tensor in local)


def device_peak(device: torch.device, work: Callable[[], object]) -> int | None:
    """The most bytes in use on a device while it did some work; None where the device does not say."""
    if device.type != "cuda":
        return None
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    work()
    torch.cuda.synchronize(device)
    return int(torch.cuda.max_memory_allocated(device))


def host_bytes_left() -> int | None:
    """What the host can give without swapping; None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (OSError, ValueError, AttributeError):  # macOS has no such name
        return None


# -- batches of an evaluation ------------------------------------------------------------------------------------


def evaluation_batch(model: Any, config: TrainConfig, world: World, autocast: Autocast) -> int:
    """Sequences at once in an evaluation with `--eval=fixed`: more than in training where the device says they fit."""
    if world.device.type != "cuda" or world.size > 1 or config.compile:
        # Compiled, another batch size would be another graph; several processes must have one between them.
        return config.batch_size
    return fitting_batch(config.batch_size, make_peak(model, config, world.device, autocast))


def fitting_batch(batch_size: int, peak: Peak) -> int:
    """The largest batch of an evaluation that needs no more memory than a training step.

    A training batch always fits: the same forward pass, with nothing kept for a backward pass. More are tried only
    where two measurements say that they fit, and are measured before they are believed.
    """
    allowed = peak(None)
    if allowed is None:
        return batch_size
    half = max(1, batch_size // 2)
    one, part = peak(batch_size), peak(half)
    if one is None or part is None or half == batch_size:
        return batch_size
    each = max(0, one - part) / (batch_size - half)  # bytes of one more sequence
    for times in _BATCHES_AT_ONCE:
        size = batch_size * times
        if one + each * (size - batch_size) <= allowed and (peak(size) or allowed + 1) <= allowed:
            return size
    return batch_size


def rehearse(model: Any, config: TrainConfig, device: torch.device, autocast: Autocast, sequences: int | None) -> None:
    """A training step of one micro-batch, or an evaluation of this many sequences at once; the run does not notice."""
    before = random_state(device)
    shape = (config.batch_size if sequences is None else sequences, config.block_size)
    tokens = torch.zeros(shape, dtype=torch.long, device=device)
    targets = tokens.clone()  # a graph compiled for one tensor given twice would not do for two
    if sequences is None:
        with autocast():
            _, loss = model(tokens, targets)
        loss.backward()
        model.zero_grad(set_to_none=True)
    else:
        model.eval()
        with without_gradients(config), autocast():
            model(tokens, targets)
        model.train()
    set_random_state(before, device)


def compiled(raw_model: Any, config: TrainConfig, device: torch.device, autocast: Autocast, sequences: int) -> Any:
    """The compiled network, both graphs used once: the first iteration is then like the others."""
    model = torch.compile(raw_model)
    for each in (None, sequences):
        rehearse(model, config, device, autocast, each)
    return model


def make_peak(model: Any, config: TrainConfig, device: torch.device, autocast: Autocast) -> Peak:
    """Measures what `rehearse` does."""
    return lambda sequences: device_peak(device, lambda: rehearse(model, config, device, autocast, sequences))


def state_staging(model: torch.nn.Module, optimizers: Sequence[torch.optim.Optimizer], say: Callable[..., None]) -> int:
    """Say what the copies of checkpoints take of the host's memory, before it is taken; returns the bytes."""
    num_bytes, left = state_bytes(model, optimizers), host_bytes_left()
    if left is not None and num_bytes > left:
        say("train-staging-tight", size=num_bytes / 1e9, left=left / 1e9)
    elif num_bytes >= _STATED_BYTES:
        say("train-staging", size=num_bytes / 1e9)
    return num_bytes
