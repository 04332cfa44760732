"""A step over several processes: gradients that are averaged, matrices that are divided, tensors that lie in slices."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def shared_model(raw_model: Any, model: Any, *, in_slices: bool) -> tuple[Any, Callable[[bool], object]]:
    """The network for a step, and what says whether gradients travel with the next backward pass.

    Where each process has a copy of the network, DDP averages the gradients. `model` is `raw_model`, or that compiled.
    """
    if in_slices:
        return model, raw_model.set_requires_gradient_sync
    if _num_processes() == 1:
        return model, lambda _: None
    device = next(raw_model.parameters()).device
    # Gradients live in the buckets that travel: no copy into them, and no second set in memory. The only buffers are
    # the tables of the rotary positions, which follow from the shape: nobody needs to send them.
    parallel = DistributedDataParallel(
        model,
        device_ids=[device.index] if device.type == "cuda" else None,
        gradient_as_bucket_view=True,
        broadcast_buffers=False,
    )
    # It is never let go: its end waits for gloo's threads with the interpreter locked, and one of these may need the
    # interpreter to let go of a gradient. Both would wait for ever, after a run that is done.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(parallel))
    return parallel, partial(setattr, parallel, "require_backward_grad_sync")


def whole(tensor: Any) -> torch.Tensor:
    """All of a tensor, gathered from the processes where it is in slices (see `sharded`)."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def like(value: torch.Tensor, target: Any) -> torch.Tensor:
    """A whole tensor that every process has, in the slices of another; nobody needs to send anything for that."""
    if not hasattr(target, "full_tensor"):
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value, target.device_mesh, target.placements, src_data_rank=None)


def _num_processes() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def divided(work: Callable[[torch.Tensor], torch.Tensor], stack: torch.Tensor) -> torch.Tensor:
    """What `work` makes of a stack of matrices: each process makes its share of them and hears the others'."""
    size = _num_processes()
    if size == 1:
        return work(stack)
    each = -(-len(stack) // size)
    # The last process may have fewer, or none: what fills up is thrown away.
    padded = torch.cat((stack, stack.new_zeros(each * size - len(stack), *stack.shape[1:])))
    own = work(padded[dist.get_rank() * each :][:each]).contiguous()
    gathered = [torch.empty_like(own) for _ in range(size)]
    dist.all_gather(gathered, own)
    return torch.cat(gathered)[: len(stack)]
