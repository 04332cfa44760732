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
