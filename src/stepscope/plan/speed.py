"""How long a step takes on a GPU: matrix products at the rate the GPU reaches, the rest at its memory's speed.

    t = work / (peak x reached x shapes)  +  bytes / bandwidth   for each micro-batch,   + the optimiser, + the network

The bytes are what the element-wise work moves: per token, channel and layer, and per token and word of the vocabulary
for the loss. `_SHAPES` and the traffic of compiled and lean trainers are what `bench/plan.py --fit` finds on the rows
that it marks as fitted; all other rows test them.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from stepscope.plan.gpus import GpuSpec
from stepscope.plan.model_shape import ModelShape

# Real layers are smaller than the matrices a benchmark multiplies: 0.8 to 0.95 of its rate before any fit.
_SHAPES = 0.88
# Bytes moved per token, channel and layer, forward and backward together, by how the trainer is written.
Software = Literal["compiled", "eager", "lean"]
_TRAFFIC: dict[Software, float] = {
    "compiled": 430.0,  # torch.compile over autocast with 32-bit weights: nanoGPT
    # The same without compile: published pairs differ by 0.9 (small model, RTX 3080) to 1.85 times (GPT-2, A100).
    "eager": 600.0,
    "lean": 180.0,  # 16-bit weights, fused by hand or by design: llm.c, nanochat, modded-nanogpt
}
_DROPOUT = 1.2
_LOGITS = 20.0
_ATTENTION_MATRIX = 30.0  # per token, head and position and layer, without a fused attention
# Weights, gradients and moments read and written once, and once more to clip.
_OPTIMISER = 40.0
# Between two of a layer's thirty kernels a GPU pauses for about 2 microseconds: why larger micro-batches pay a little.
_PAUSES_S = 60e-6
# Least seconds per layer: a GPU that is done earlier waits for Python.
_LAUNCH_S: dict[Software, float] = {"compiled": 0.35e-3, "eager": 0.9e-3, "lean": 0.25e-3}
# Spread of published figures around this formula (log): `bench/plan.py` shows it. Small models wait on launches.
_LOG_SD, _LOG_SD_SMALL = 0.18, 0.25
_SMALL_HIDDEN = 512
# No bf16 in hardware: it is emulated, at a tenth of the fp16 rate (public GEMM tables: V100 9.9 of 125).
_EMULATED = 0.08
# Time of an evaluation's forward pass as a share of a micro-step (measured 0.28 to 0.42).
FORWARD_SHARE = 0.34
_DISK_BYTES_PER_S = 330e6


class Step(NamedTuple):
    """One step on one GPU, in seconds. `log_sd` is how far off that may be, as the spread of its logarithm."""

    micro_s: float
    optimiser_s: float
    network_s: float
    accumulation: int
    log_sd: float

    @property
    def seconds(self) -> float:
        """The whole step."""
        return self.accumulation * self.micro_s + self.optimiser_s + self.network_s

    def span(self, z: float = 1.645) -> tuple[float, float]:
        """The interval it lies in."""
        return self.seconds * math.exp(-z * self.log_sd), self.seconds * math.exp(z * self.log_sd)


def step(
    shape: ModelShape,
    gpu: GpuSpec,
    *,
    micro_batch: float,
    accumulation: int,
    software: Software = "compiled",
    devices: int = 1,
    dtype: str = "bfloat16",
) -> Step:
    """What one step takes on `devices` equal GPUs.

    micro_batch: sequences of one micro-batch on one GPU.
    accumulation: micro-batches that each GPU runs one after the other in a step.
    software: how the trainer is written, which decides how much memory traffic it causes.
    devices: number of GPUs that exchange gradients.
    dtype: type of the matrix products; bfloat16 is slow on a GPU without it.
    """
    tokens = micro_batch * shape.context
    busy_s = tokens * token_seconds(shape, gpu, software, dtype) + shape.layers * _PAUSES_S
    micro_s = max(busy_s, shape.layers * _LAUNCH_S[software])
    exchange_s = 4.0 * shape.parameters * 2 * (devices - 1) / devices / (gpu.link_gbps * 1e9)
    is_small = shape.hidden < _SMALL_HIDDEN
    return Step(
        micro_s=micro_s,
        optimiser_s=_OPTIMISER * shape.parameters / (gpu.gbps * 1e9),
        # The exchange hides behind the backward pass of the last micro-batch.
        network_s=max(0.0, exchange_s - 2 / 3 * micro_s),
        accumulation=accumulation,
        log_sd=_LOG_SD_SMALL if is_small else _LOG_SD,
    )


def token_seconds(shape: ModelShape, gpu: GpuSpec, software: Software, dtype: str = "bfloat16") -> float:
    """Seconds per token of forward and backward, without launches and optimiser."""
    rate = gpu.tflops * 1e12 * gpu.reaches * _SHAPES
    if dtype == "bfloat16" and not gpu.has_bf16:
        rate *= _EMULATED
    elif dtype == "float32":
        rate *= gpu.float32_share
    moved = _TRAFFIC[software] * shape.layers * shape.hidden * (_DROPOUT if shape.dropout else 1.0)
    if not shape.has_flash:
        moved += _ATTENTION_MATRIX * shape.layers * shape.heads * shape.context
    moved += _LOGITS * shape.vocabulary
    return shape.work_per_token / rate + moved / (gpu.gbps * 1e9)


def evaluation_seconds(own: Step, num_batches: int, splits: int = 2, forward_share: float | None = None) -> float:
    """One evaluation: forward passes only, on one GPU."""
    return splits * num_batches * (forward_share or FORWARD_SHARE) * own.micro_s


def checkpoint_seconds(shape: ModelShape, disk_bytes_per_s: float | None = None) -> float:
    """The stall of one blocking checkpoint, at the disk's measured speed or what disks usually give."""
    return shape.checkpoint_bytes / (disk_bytes_per_s or _DISK_BYTES_PER_S)
