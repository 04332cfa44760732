"""An optimizer's work over several processes: matrices that are divided between them, tensors that lie in slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist


def whole(tensor: Any) -> torch.Tensor:
    """All of a tensor, gathered from the processes where it is in slices (see `sharded`)."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def like(value: torch.Tensor, target: Any) -> torch.Tensor:
    """A whole tensor that every process has, in the slices of another; nobody needs to send anything for that."""
    if not hasattr(target, "full_tensor"):
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value, target.device_mesh, target.placements, src_data_rank=None)


def divided(work: Callable[[torch.Tensor], torch.Tensor], stack: torch.Tensor) -> torch.Tensor:
    """What `work` makes of a stack of matrices: each process makes its share of them and hears the others'."""
    size = dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1
    if size == 1:
        return work(stack)
    each = -(-len(stack) // size)
    # The last process may have fewer, or none: what fills up is thrown away.
    padded = torch.cat((stack, stack.new_zeros(each * size - len(stack), *stack.shape[1:])))
    own = work(padded[dist.get_rank() * each :][:each]).contiguous()
    gathered = [torch.empty_like(own) for _ in range(size)]
    dist.all_gather(gathered, own)
    return torch.cat(gathered)[: len(stack)]
