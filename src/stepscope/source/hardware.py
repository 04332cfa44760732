"""A GPU at a moment, however it was asked: NVML, a saved `nvidia-smi` table, its long form or its CSV."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

# Why clocks are lower than they could be, by NVML's bits. Idle clocks and a stated clock are no trouble.
THROTTLES = {
    0x04: "power_cap",
    0x08: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "thermal",
    0x40: "thermal",
    0x80: "power_brake",
}
# The names of the same reasons in `nvidia-smi`'s words and columns.
THROTTLE_NAMES = {
    "sw power cap": "power_cap",
    "hw slowdown": "hw_slowdown",
    "sync boost": "sync_boost",
    "sw thermal slowdown": "thermal",
    "hw thermal slowdown": "thermal",
    "hw power brake slowdown": "power_brake",
}
# More than any GPU has: such a figure comes from a damaged file.
MOST_MIB = float(1 << 27)
MOST_WATTS = 1e5
MOST_DEGREES = 1e3
MOST_MHZ = 1e5


class Process(NamedTuple):
    """A process on a GPU; memory in bytes."""

    pid: int
    name: str
    memory: int | None = None


class Hardware(NamedTuple):
    """One GPU at one moment. Memory in bytes, power in watts, clocks in MHz, utilisation as a share of 1.

    Of a GPU that is divided (MIG), memory is that of its fullest part. `throttle` holds words of `THROTTLES`; None
    where it is unknown.
    """

    gpu: str | None = None
    utilisation: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    power: float | None = None
    temperature: float | None = None
    power_limit: float | None = None
    time: dt.datetime | None = None
    number: int | None = None
    clock: float | None = None
    clock_most: float | None = None
    throttle: tuple[str, ...] | None = None
    processes: tuple[Process, ...] = ()
    others: tuple[Process, ...] | None = None  # processes that are not the run's; None where unknown


def plausible(gpu: Hardware) -> Hardware:
    """A GPU without the figures that none can have."""
    most = {
        "memory_used": MOST_MIB * (1 << 20),
        "memory_total": MOST_MIB * (1 << 20),
        "power": MOST_WATTS,
        "power_limit": MOST_WATTS,
        "temperature": MOST_DEGREES,
        "clock": MOST_MHZ,
        "clock_most": MOST_MHZ,
    }
    wrong: dict[str, Any] = {name: None for name, limit in most.items() if (getattr(gpu, name) or 0) > limit}
    return gpu._replace(**wrong) if wrong else gpu


def throttles_of(mask: int) -> tuple[str, ...]:
    """The words for the bits that are set."""
    return tuple(dict.fromkeys(word for bit, word in THROTTLES.items() if mask & bit))


def mask_of(words: tuple[str, ...]) -> int:
    """The bits for the words."""
    return sum(bit for bit, word in THROTTLES.items() if word in words and bit != 0x20)


def busiest(gpus: list[Hardware]) -> Hardware | None:
    """The busiest GPU, by utilisation, then by memory."""
    return max(gpus, key=lambda gpu: (gpu.utilisation or 0.0, gpu.memory_used or 0), default=None)


def short_name(name: str) -> str | None:
    """A GPU's name without the maker's; None where the table had too little room for it."""
    text = name.strip().removesuffix("...").strip()
    for maker in ("NVIDIA ", "GeForce "):
        text = text.removeprefix(maker)
    return text if text not in {"", "NVIDIA", "GeForce", "Quadro", "Tesla", "RTX", "Graphics Device"} else None
