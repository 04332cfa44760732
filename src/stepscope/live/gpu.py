"""The card as NVML sees it now; nothing where there is no card, no driver or no library."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from stepscope.source.nvidia_smi import Hardware


def read_gpu(index: int | None = None) -> Hardware | None:
    """The busiest card, or the one of that index; None where there is none."""
    nvml = _nvml()
    if nvml is None:
        return None
    try:
        found = [_read(nvml, number) for number in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError:
        return None
    if index is not None:
        return found[index] if index < len(found) else None
    return max(found, key=lambda card: (card.utilisation or 0.0, card.memory_used or 0), default=None)


@cache
def _nvml() -> Any:
    if sys.platform.startswith("linux") and not Path("/dev/nvidiactl").exists():
        return None  # no driver: not worth the import
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def _read(nvml: Any, index: int) -> Hardware:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    name = nvml.nvmlDeviceGetName(handle)
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    return Hardware(
        gpu=(name.decode() if isinstance(name, bytes) else str(name)).removeprefix("NVIDIA ").removeprefix("GeForce "),
        utilisation=_or_none(nvml, lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100),
        memory_used=int(memory.used),
        memory_total=int(memory.total),
        power=_or_none(nvml, lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000),
        temperature=_or_none(nvml, lambda: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))),
    )


def _or_none(nvml: Any, ask: Any) -> float | None:
    """A figure that not every card gives."""
    try:
        return float(ask())
    except nvml.NVMLError:
        return None
