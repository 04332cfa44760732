"""The GPU as NVML sees it now; None where there is no GPU, no driver or no library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from stepscope.core.clock import now
from stepscope.source.hardware import Hardware, Process, busiest, short_name, throttles_of

_T = TypeVar("_T")


def read_gpu(pid: int | None = None) -> Hardware | None:
    """The GPU that a process and its children use, else the busiest one; None where there is none."""
    nvml = _nvml()
    if nvml is None:
        return None
    try:
        gpus = [_read(nvml, number) for number in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError:
        return None  # the driver is being replaced, or the GPU fell off the bus
    family = set(family_of(pid)) if pid is not None else set()
    own = [gpu for gpu in gpus if any(process.pid in family for process in gpu.processes)]
    gpu = busiest(own or gpus)
    if gpu is None or not own:
        return gpu
    others = tuple(process for process in gpu.processes if process.pid not in family)
    return gpu._replace(others=others)


def family_of(pid: int) -> Iterable[int]:
    """A process and all its descendants, by Linux's /proc; only the process itself elsewhere."""
    found, queue = [], [pid]
    while queue:
        one = queue.pop()
        found.append(one)
        try:
            for task in (Path("/proc") / str(one) / "task").iterdir():
                queue += [int(child) for child in (task / "children").read_text().split()]
        except (OSError, ValueError):
            continue  # the process has ended, or this is not Linux
    return found


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


def _read(nvml: Any, number: int) -> Hardware:
    handle = nvml.nvmlDeviceGetHandleByIndex(number)

    def ask(question: Callable[[], _T]) -> _T | None:
        """A figure that not every GPU or driver gives."""
        try:
            return question()
        except (nvml.NVMLError, AttributeError):
            return None

    name = nvml.nvmlDeviceGetName(handle)
    memory = ask(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    reasons = ask(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
    load = ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100)
    return Hardware(
        gpu=short_name(name.decode() if isinstance(name, bytes) else str(name)),
        number=number,
        utilisation=load,
        memory_used=int(memory.used) if memory is not None else None,
        memory_total=int(memory.total) if memory is not None else None,
        power=ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000),
        power_limit=ask(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000),
        temperature=ask(lambda: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))),
        clock=ask(lambda: float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))),
        clock_most=ask(lambda: float(nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM))),
        throttle=throttles_of(int(reasons)) if reasons is not None else None,
        processes=tuple(
            Process(int(own.pid), _name_of(int(own.pid)), own.usedGpuMemory)
            for own in ask(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or ()
        ),
        time=now(),
    )


def _name_of(pid: int) -> str:
    """The name of a process; empty where it may not be read."""
    try:
        return (Path("/proc") / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
