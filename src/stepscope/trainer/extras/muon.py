"""Muon, the optimizer of the matrices of the blocks under `--recipe=modern`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import torch

from stepscope.trainer.extras.spread import divided, like, whole

_STEPS = 5
_A, _B, _C = 3.4445, -4.7750, 2.0315  # of one Newton-Schulz step: x becomes (A + B xxᵀ + C (xxᵀ)²) x


class Muon(torch.optim.Optimizer):
    """Momentum whose update is made orthogonal: every direction of a matrix moves equally far.

    After Keller Jordan's Muon (https://kellerjordan.github.io/posts/muon/), with AdamW's weight decay. The orthogonal
    matrix comes from five Newton-Schulz steps, which are products only. Matrices of one shape go through them together,
    each process taking its share of them.
    """

    def __init__(
        self,
        params: Iterable[torch.Tensor],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        *,
        in_bfloat16: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self._orthogonal = partial(orthogonal, in_bfloat16=in_bfloat16)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """One update of every matrix that has a gradient."""
        assert closure is None
        for group in self.param_groups:
            # A matrix in slices is gathered first: its parts have no orthogonal neighbours of their own.
            shapes: dict[tuple[int, ...], list[tuple[torch.Tensor, torch.Tensor]]] = {}
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                momentum = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                momentum.lerp_(weight.grad, 1 - group["momentum"])
                direction = weight.grad.lerp(momentum, group["momentum"])  # Nesterov: look ahead
                # Queries, keys and values are three matrices in one.
                rows, width = weight.shape
                for piece in whole(direction).chunk(3 if rows == 3 * width else 1):
                    shapes.setdefault(tuple(piece.shape), []).append((weight, piece))
            updates: dict[torch.Tensor, list[torch.Tensor]] = {}
            for (rows, width), pairs in shapes.items():
                # A tall matrix has more to move than its columns can say.
                scale = group["lr"] * max(1.0, rows / width) ** 0.5
                stack = divided(self._orthogonal, torch.stack([piece for _, piece in pairs])).mul_(scale)
                for (weight, _), update in zip(pairs, stack, strict=True):
                    updates.setdefault(weight, []).append(update)
            for weight, pieces in updates.items():
                # A checkpoint of an earlier version has a group without it.
                weight.mul_(1 - group["lr"] * group.get("weight_decay", 0.0))
                weight.sub_(like(torch.cat(pieces).to(weight.dtype), weight))


def orthogonal(x: torch.Tensor, *, in_bfloat16: bool = False) -> torch.Tensor:
    """The orthogonal matrix next to each of a stack of matrices, roughly: singular values end between 0.7 and 1.2.

    In bfloat16 on a GPU that has it, where that is twice as fast or more, and where it was tried: on some virtual CPUs
    bfloat16 kills the process (`torch.optim.Muon` uses it everywhere).
    """
    if in_bfloat16 or (x.is_cuda and torch.cuda.is_bf16_supported()):
        x = x.bfloat16()
    is_tall = x.size(-2) > x.size(-1)
    if is_tall:
        x = x.mT  # the products are then of the smaller side
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    if x.size(-1) > 2 * x.size(-2) and x.dtype == torch.float32:
        x = _through_gram(x)
    else:
        for _ in range(_STEPS):
            gram = x @ x.mT
            x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return x.mT if is_tall else x


def _through_gram(x: torch.Tensor) -> torch.Tensor:
    """The same five steps on xxᵀ, which is small where x is long: x itself is multiplied once, at the end.

    A step multiplies x by a polynomial of xxᵀ, and all of these commute. Not in bfloat16: xxᵀ has the squares of the
    singular values, and the small ones would drown.
    """
    gram = x @ x.mT
    product = None
    for number in range(_STEPS):
        factor = torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C)
        factor.diagonal(dim1=-2, dim2=-1).add_(_A)
        product = factor if product is None else factor @ product
        if number < _STEPS - 1:
            gram = factor @ (gram @ factor)
    assert product is not None
    return product @ x
