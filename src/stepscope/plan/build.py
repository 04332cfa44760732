"""Shape, training and GPU → Plan: does it fit, how long does it take, what to set instead."""

from __future__ import annotations

import math
from typing import NamedTuple

from stepscope.plan.gpus import GpuSpec
from stepscope.plan.memory import UNCERTAINTY, Memory, largest_micro_batch, memory
from stepscope.plan.model_shape import ModelShape
from stepscope.plan.speed import Step, checkpoint_seconds, evaluation_seconds, step
from stepscope.plan.training import Training

# Compile and first touch, before the first step counts.
_WARMUP_S = {True: 60.0, False: 5.0}
# A busy GPU draws this share of its power limit.
_POWER_SHARE = 0.9
# Micro-batches of this many tokens keep a GPU busy; larger ones only take memory.
_ENOUGH_TOKENS = 32_768
_EVALUATION_SHARE = 0.02
_EVAL_ITERS = 50
_LEAST_EVALUATIONS = 20


class Estimate(NamedTuple):
    """One run on one GPU with given settings. Seconds, bytes, joules."""

    training: Training
    step: Step
    memory: Memory
    evaluation_s: float
    checkpoint_s: float
    num_evaluations: int
    total_s: float
    energy_j: float

    @property
    def span(self) -> tuple[float, float]:
        """The interval of the total: the step's, as everything scales with it."""
        low, high = self.step.span()
        return self.total_s * low / self.step.seconds, self.total_s * high / self.step.seconds


class Known(NamedTuple):
    """What a measurement or another run says in place of the formula: seconds over seconds predicted, and its doubt."""

    calibration: float = 1.0
    log_sd: float | None = None
    disk_bytes_per_s: float | None = None
    memory_offset: float = 0.0  # bytes in use beyond what the formula says
    forward_share: float | None = None  # time of a forward pass in the log's evaluations, as a share of a micro-step
    checkpoint_s: float | None = None  # what a checkpoint took in the log


UNKNOWN = Known()


class GpuPlan(NamedTuple):
    """What a GPU makes of a run: as it is set, and as it should be set."""

    gpu: GpuSpec
    shape: ModelShape
    devices: int
    asked: Estimate
    held: float  # bytes of memory at the peak
    fits: bool
    surely_fits: bool
    largest: int
    proposed: Estimate | None  # None when not even one sequence fits
    known: Known

    @property
    def tokens_per_s(self) -> float:
        """Of the run as it is set."""
        return self.asked.training.sequences * self.shape.context / self.asked.step.seconds

    @property
    def utilisation(self) -> float:
        """Model FLOPs utilisation against this GPU's real peak, in nanoGPT's way of counting."""
        return self.tokens_per_s * self.shape.flops_per_token / (self.devices * self.gpu.tflops * 1e12)


def plan_gpu(
    shape: ModelShape, training: Training, gpu: GpuSpec, *, devices: int = 1, known: Known = UNKNOWN
) -> GpuPlan:
    """The plan for one kind of GPU."""
    largest = largest_micro_batch(shape, gpu, is_compiled=training.is_compiled, offset=known.memory_offset)
    asked = estimate(shape, training, gpu, devices=devices, known=known)
    proposed = None
    if largest:
        better = propose(shape, training, gpu, devices=devices, known=known)
        proposed = estimate(shape, better, gpu, devices=devices, known=known)
    held = asked.memory.total + known.memory_offset
    return GpuPlan(
        gpu=gpu,
        shape=shape,
        devices=devices,
        asked=asked,
        held=held,
        fits=held <= gpu.memory,
        surely_fits=held * (1 + UNCERTAINTY) <= gpu.memory,
        largest=largest,
        proposed=proposed,
        known=known,
    )


def estimate(
    shape: ModelShape, training: Training, gpu: GpuSpec, *, devices: int = 1, known: Known = UNKNOWN
) -> Estimate:
    """What a run takes from the first to the last step."""
    own = step(
        shape,
        gpu,
        micro_batch=training.batch_size,
        accumulation=max(1, math.ceil(training.accumulation / devices)),
        software=training.software,
        devices=devices,
        dtype=training.dtype,
    )
    own = own._replace(
        micro_s=own.micro_s * known.calibration,
        optimiser_s=own.optimiser_s * known.calibration,
        network_s=own.network_s * known.calibration,
        log_sd=own.log_sd if known.log_sd is None else known.log_sd,
    )
    num_evaluations = training.max_steps // training.eval_interval + 1
    evaluation_s = evaluation_seconds(own, training.eval_iters, forward_share=known.forward_share)
    # Without a record of which evaluations improve, half of them is the guess.
    saves = (num_evaluations - 1) * (1.0 if training.always_saves else 0.5)
    save_s = known.checkpoint_s
    if save_s is None or known.disk_bytes_per_s is not None:
        save_s = checkpoint_seconds(shape, known.disk_bytes_per_s)
    steps_s = (training.max_steps + 1) * own.seconds
    total_s = steps_s + num_evaluations * evaluation_s + saves * save_s + _WARMUP_S[training.is_compiled]
    return Estimate(
        training=training,
        step=own,
        memory=_memory(shape, training, gpu),
        evaluation_s=evaluation_s,
        checkpoint_s=save_s,
        num_evaluations=num_evaluations,
        total_s=total_s,
        energy_j=total_s * devices * gpu.watts * _POWER_SHARE,
    )


def _memory(shape: ModelShape, training: Training, gpu: GpuSpec) -> Memory:
    held = memory(shape, training.batch_size, is_compiled=training.is_compiled)
    return held._replace(context=0.0) if gpu.is_processor else held


def propose(
    shape: ModelShape, training: Training, gpu: GpuSpec, *, devices: int = 1, known: Known = UNKNOWN
) -> Training:
    """The same tokens per step in fewer, larger micro-batches, and evaluations that cost about 2 %."""
    largest = largest_micro_batch(shape, gpu, is_compiled=training.is_compiled, offset=known.memory_offset)
    batch = _micro_batch(training, largest, shape.context, devices)
    accumulation = max(1, round(training.sequences / batch))
    eval_iters = training.eval_iters
    if eval_iters > _EVAL_ITERS:
        # Fewer, larger batches see the same number of sequences, down to a quarter of them.
        eval_iters = max(_EVAL_ITERS, math.ceil(training.eval_iters * training.batch_size / batch / 4))
    better = training._replace(
        batch_size=batch,
        accumulation=accumulation,
        eval_iters=min(eval_iters, training.eval_iters),
        dtype="float16" if training.dtype == "bfloat16" and not gpu.has_bf16 else training.dtype,
    )
    own = estimate(shape, better, gpu, devices=devices, known=known)
    steps = own.evaluation_s / _EVALUATION_SHARE / own.step.seconds
    wanted = training.eval_interval
    for factor in (1, 2, 4, 5, 10):
        wanted = training.eval_interval * factor
        too_few = training.max_steps // (wanted * 2) < _LEAST_EVALUATIONS
        if wanted >= steps or too_few:
            break
    return better._replace(eval_interval=wanted)


def _micro_batch(training: Training, largest: int, context: int, devices: int) -> int:
    """The largest divisor of the step's sequences that fits, up to where a GPU is busy anyway."""
    share = max(1, training.sequences // devices)
    ceiling = max(1, min(largest, share, max(1, _ENOUGH_TOKENS // context)))
    divisors = [size for size in range(1, ceiling + 1) if share % size == 0]
    return max(divisors)
