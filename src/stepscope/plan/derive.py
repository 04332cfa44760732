"""The size of a model that is not stated: the shapes that fit the step time, and the memory where that is known.

One step time cannot separate depth from width, so the answer is a range; what the log's first loss says of the
vocabulary (an untrained model's loss is the logarithm of it) and the memory in use narrow it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from stepscope.plan.gpus import GpuSpec
from stepscope.plan.memory import UNCERTAINTY, memory
from stepscope.plan.model_shape import ModelShape, gpt
from stepscope.plan.speed import step
from stepscope.plan.training import Training
from stepscope.run.model import Run

_VOCABULARIES = (65, 50304)
_DEPTHS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 18, 24, 36, 48)
_WIDTHS = (64, 128, 192, 256, 320, 384, 448, 512, 576, 640, 704, 768, 896, 1024, 1280, 1536, 1600, 2048)
# Proportions that anybody trains: from 24 channels a layer (deep and thin) to 256.
_ASPECT = (24, 256)


class Derived(NamedTuple):
    """Shapes that fit, the middle one and the range of their parameters."""

    shape: ModelShape
    low: int
    high: int
    num: int
    vocabulary_from_loss: bool
    used_memory: bool


def derive_shape(
    training: Training,
    gpu: GpuSpec,
    *,
    step_s: float,
    context: int,
    first_loss: float | None = None,
    memory_used: float | None = None,
) -> Derived | None:
    """The shapes whose predicted step and memory agree with what was seen; None when none does.

    step_s: measured seconds of a normal step.
    context: tokens of one sequence.
    first_loss: loss of the untrained model, which shows the size of the vocabulary.
    memory_used: bytes in use on the GPU.
    """
    vocabularies, from_loss = _vocabularies(first_loss)
    fitting: list[tuple[float, ModelShape]] = []
    for shape in _candidates(vocabularies, context):
        said = step(
            shape,
            gpu,
            micro_batch=training.batch_size,
            accumulation=training.accumulation,
            software=training.software,
            dtype=training.dtype,
        )
        doubt = abs(math.log(said.seconds / step_s)) / said.log_sd
        if memory_used:  # none in use is a table from before the run
            held = memory(shape, training.batch_size, is_compiled=training.is_compiled).total
            doubt = math.hypot(doubt, abs(math.log(held / memory_used)) / (1.5 * UNCERTAINTY))
        if doubt <= 2.0:
            fitting.append((doubt, shape))
    if not fitting:
        return None
    sizes = sorted(shape.parameters for _, shape in fitting)
    best = min(fitting, key=lambda pair: pair[0])[1]
    return Derived(
        shape=best,
        low=sizes[0],
        high=sizes[-1],
        num=len(sizes),
        vocabulary_from_loss=from_loss,
        used_memory=memory_used is not None,
    )


def _candidates(vocabularies: tuple[int, ...], context: int) -> Iterator[ModelShape]:
    """GPTs of usual depths, widths and proportions."""
    for vocabulary, layers, hidden in itertools.product(vocabularies, _DEPTHS, _WIDTHS):
        if _ASPECT[0] <= hidden / layers <= _ASPECT[1]:
            heads = max(1, hidden // 64)
            yield gpt(layers=layers, heads=heads, hidden=hidden, context=context, vocabulary=vocabulary)


def first_loss(run: Run) -> float | None:
    """The loss of the untrained model; None where the log does not begin with it."""
    losses, steps = run.steps.loss, run.steps.step
    return float(losses[0]) if len(losses) and int(steps[0]) <= 1 else None


def _vocabularies(first_loss: float | None) -> tuple[tuple[int, ...], bool]:
    """An untrained model's loss is ln(vocabulary), give or take a few tenths."""
    if first_loss is None or not math.isfinite(first_loss) or not 3.5 < first_loss < 13:
        return _VOCABULARIES, False
    near = [size for size in (65, 256, 32768, 50304, 65536, 131072) if abs(math.log(size) - first_loss) < 0.25]
    if near:
        return (min(near, key=lambda size: abs(math.log(size) - first_loss)),), True
    return (round(math.exp(first_loss)),), True
