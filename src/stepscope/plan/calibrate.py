"""Measure this machine instead of looking it up: matrix products, memory, disk, in a few seconds.

With torch and a CUDA GPU, the GPU is measured; else the processor, through NumPy. The only place outside the trainer
that may import torch, and only when asked to calibrate.
"""

from __future__ import annotations

import importlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stepscope.plan.gpus import PROCESSOR, GpuSpec, known_gpu

_SECONDS = 2.0
_CPU_SIZE, _CUDA_SIZE = 1024, 8192
_COPY_BYTES = 1 << 28
_DISK_BYTES = 1 << 28
_WATTS = 65.0  # usual power of a desktop processor; it cannot be measured here


class MachineSpeed(NamedTuple):
    """What was measured: a GPU as good as the table's, and the disk in bytes per second."""

    gpu: GpuSpec
    disk_bytes_per_s: float


def measure(folder: Path) -> MachineSpeed:
    """Measure the GPU, or the processor where there is none, and the disk under `folder`."""
    gpu = _cuda() or _processor()
    return MachineSpeed(gpu=gpu, disk_bytes_per_s=_disk(folder))


def _processor() -> GpuSpec:
    dice = np.random.default_rng(0)
    left = dice.random((_CPU_SIZE, _CPU_SIZE), dtype=np.float32)
    flops = _best(lambda: left @ left) * 2 * _CPU_SIZE**3
    source = np.ones(_COPY_BYTES // 8)
    target = np.empty_like(source)
    moved = _best(lambda: np.copyto(target, source)) * 2 * source.nbytes
    return GpuSpec(
        name=PROCESSOR,
        tflops=flops / 1e12,
        gbps=moved / 1e9,
        gb=_memory_gb(),
        watts=_WATTS,
        reaches=1.0,
        float32_share=1.0,
    )


def _cuda() -> GpuSpec | None:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return None
    return _measure_cuda(torch) if torch.cuda.is_available() else None


def _measure_cuda(torch: Any) -> GpuSpec:
    has_bf16 = torch.cuda.get_device_capability()[0] >= 8
    dtype = torch.bfloat16 if has_bf16 else torch.float16
    left = torch.randn(_CUDA_SIZE, _CUDA_SIZE, device="cuda", dtype=dtype)
    source = torch.empty(_COPY_BYTES, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)

    def synchronised(work: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            work()
            torch.cuda.synchronize()

        return run

    rate = _best(synchronised(lambda: left @ left)) * 2 * _CUDA_SIZE**3
    moved = _best(synchronised(lambda: target.copy_(source))) * 2 * _COPY_BYTES
    properties = torch.cuda.get_device_properties(0)
    listed = known_gpu(properties.name)
    return GpuSpec(
        name=listed.name if listed else str(properties.name),
        tflops=rate / 1e12,
        gbps=moved / 1e9,
        gb=properties.total_memory / (1 << 30),
        watts=listed.watts if listed else 300.0,
        reaches=1.0,
        has_bf16=has_bf16,
    )


def _best(work: Callable[[], object]) -> float:
    """Runs per second of the fastest of as many runs as fit into two seconds."""
    work()
    fastest, end = float("inf"), time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - start)
    return 1 / fastest


def _disk(folder: Path) -> float:
    block = os.urandom(1 << 22)
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        start = time.perf_counter()
        for _ in range(_DISK_BYTES // len(block)):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        return _DISK_BYTES / (time.perf_counter() - start)


def _memory_gb() -> float:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)
    except (AttributeError, ValueError, OSError):
        return 16.0
