"""How much of a GPU's memory a run takes, part by part, and the largest micro-batch that fits.

State is 16 bytes a parameter (weights, gradients and both moments of Adam in 32 bits). Activations of a layer with a
fused attention are about 34 bytes per token and channel (Korthikanti et al.), about 26 compiled; attention as a matrix
adds 5 bytes per token, head and position. The logits are kept in 16 bits, again in 32 for the loss, and their gradient.
"""

from __future__ import annotations

from typing import NamedTuple

from stepscope.plan.gpus import GpuSpec
from stepscope.plan.model_shape import ModelShape

_WEIGHTS, _GRADIENTS, _MOMENTS = 4, 4, 8  # bytes per parameter
_ACTIVATIONS = {False: 34.0, True: 26.0}  # bytes per token, channel and layer: eager, compiled
_ATTENTION_MATRIX = 5.0  # per token, head and position, without a fused attention
_DROPOUT_MASKS = 2.5  # per token, channel and layer
_LOGITS = {False: 10.0, True: 8.0}  # bytes per token and word
_CONTEXT = 0.8e9  # CUDA context, libraries' work space
_FRAGMENTS = 1.05
# Share of the memory to use: the rest is for the allocator's peaks and other programs. The formula is good to +-15 %.
_HEADROOM = 0.92
UNCERTAINTY = 0.15


class Memory(NamedTuple):
    """Bytes by part."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    context: float

    @property
    def total(self) -> float:
        """All of it, with what fragmentation adds."""
        return _FRAGMENTS * sum(self)


def memory(shape: ModelShape, micro_batch: float, *, is_compiled: bool) -> Memory:
    """What a training process holds at its peak, in bytes."""
    tokens = micro_batch * shape.context
    per_layer = _ACTIVATIONS[is_compiled] * shape.hidden
    if not shape.has_flash:
        per_layer += _ATTENTION_MATRIX * shape.heads * shape.context
    if shape.dropout:
        per_layer += _DROPOUT_MASKS * shape.hidden
    return Memory(
        weights=_WEIGHTS * shape.parameters,
        gradients=_GRADIENTS * shape.parameters,
        optimizer=_MOMENTS * shape.parameters,
        activations=tokens * shape.layers * per_layer,
        logits=tokens * shape.vocabulary * _LOGITS[is_compiled],
        context=_CONTEXT,
    )


def largest_micro_batch(shape: ModelShape, gpu: GpuSpec, *, is_compiled: bool, offset: float = 0.0) -> int:
    """How many sequences fit at once, `offset` bytes being taken already; 0 when not even one does."""
    fixed = memory(shape, 0, is_compiled=is_compiled).total
    each = memory(shape, 1, is_compiled=is_compiled).total - fixed
    return max(0, int((_HEADROOM * gpu.memory - fixed - max(0.0, offset)) / each))
