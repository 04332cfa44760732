"""`nvidia-smi --query-gpu=… --format=csv`, with and without its header, with and without units; one reading or many.

Without a header a figure is identified by its unit; without either it is ignored.
"""

from __future__ import annotations

import datetime as dt
import re

from stepscope.core import units
from stepscope.source.hardware import THROTTLE_NAMES, Hardware, short_name, throttles_of

_MIB = 1 << 20
_FIGURE = re.compile(r"-?\d{1,18}(?:\.\d+)?")
_STAMP = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d")
_SIZE = re.compile(r"\d{1,9} MiB")
_POWER = re.compile(r"\d{1,6}(?:\.\d+)? W")
_LOAD = re.compile(r"\d{1,3} %")
_GPU_NAME = re.compile(r"(?:NVIDIA|Tesla|Quadro|GeForce) ?\S")
_HEADS = {
    "timestamp": "time",
    "index": "index",
    "name": "name",
    "gpu_name": "name",
    "utilization.gpu": "util",
    "memory.used": "used",
    "memory.total": "total",
    "power.draw": "power",
    "power.draw.instant": "power",
    "power.draw.average": "power",
    "power.limit": "limit",
    "enforced.power.limit": "limit",
    "temperature.gpu": "temp",
    "clocks.current.sm": "clock",
    "clocks.sm": "clock",
    "clocks.max.sm": "most",
}
_REASON = re.compile(r"clocks_(?:throttle|event)_reasons\.(?P<name>\w+)$")


def parse_csv(text: str) -> list[list[Hardware]]:
    """The GPUs of each reading: a new reading begins when a GPU, or the first one, comes again."""
    heads: list[str] | None = None
    readings: list[list[Hardware]] = [[]]
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) < 2:
            continue
        names = [cell.partition("[")[0].strip().lower() for cell in cells]
        if sum(name in _HEADS or bool(_REASON.match(name)) for name in names) >= 2:
            heads = names
            continue
        facts = _by_head(heads, cells) if heads is not None and len(heads) == len(cells) else _by_unit(cells)
        gpu = _hardware(facts)
        if gpu is None:
            continue
        if readings[-1] and _is_next(readings[-1], gpu):
            readings.append([])
        readings[-1].append(gpu._replace(number=len(readings[-1])) if gpu.number is None else gpu)
    return readings


def _is_next(reading: list[Hardware], gpu: Hardware) -> bool:
    if gpu.number is not None:
        return any(gpu.number == other.number for other in reading)
    before = reading[-1].time
    # GPUs of one reading are asked within milliseconds, readings are a second apart or more.
    return gpu.time is not None and before is not None and abs((gpu.time - before).total_seconds()) > 0.5


def _by_head(heads: list[str], cells: list[str]) -> dict[str, str]:
    facts: dict[str, str] = {}
    for head, cell in zip(heads, cells, strict=True):
        reason = _REASON.match(head)
        key = _HEADS.get(head) or (f"reason {reason['name']}" if reason else None)
        if key is not None:
            facts.setdefault(key, cell)
    return facts


def _by_unit(cells: list[str]) -> dict[str, str]:
    """What a row without a header says outright: its time, its name, and figures whose unit leaves no doubt."""
    figures = _memory(cells)
    powers = [cell for cell in cells if _POWER.fullmatch(cell)]
    figures |= dict(zip(("power", "limit"), powers, strict=False))
    loads = [cell for cell in cells if _LOAD.fullmatch(cell)]
    figures |= {"util": loads[0]} if loads else {}
    if not (figures or any(_SIZE.fullmatch(cell) for cell in cells)):
        return {}
    labels = {"time": _STAMP, "name": _GPU_NAME}
    found = {key: next(filter(pattern.match, cells), None) for key, pattern in labels.items()}
    return figures | {key: cell for key, cell in found.items() if cell is not None}


def _memory(cells: list[str]) -> dict[str, str]:
    """Of two sizes or more the largest is the memory there is, the first of the others what is used of it."""
    sizes = sorted((cell for cell in cells if _SIZE.fullmatch(cell)), key=lambda cell: int(cell.split()[0]))
    if len(sizes) < 2:
        return {}
    others = [cell for cell in cells if cell in sizes and cell != sizes[-1]]
    return {"used": (others or sizes)[0], "total": sizes[-1]}


def _hardware(facts: dict[str, str]) -> Hardware | None:
    load, used, total = _figure(facts.get("util")), _figure(facts.get("used")), _figure(facts.get("total"))
    power, temperature, index = _figure(facts.get("power")), _figure(facts.get("temp")), _figure(facts.get("index"))
    if load is None and used is None and power is None and temperature is None:
        return None
    name = facts.get("name")
    return Hardware(
        gpu=short_name(name) if name else None,
        number=int(index) if index is not None else None,
        utilisation=min(1.0, load / 100) if load is not None else None,
        memory_used=int(used) * _MIB if used is not None else None,
        memory_total=int(total) * _MIB if total is not None else None,
        power=power,
        power_limit=_figure(facts.get("limit")),
        temperature=temperature,
        time=_moment(facts.get("time")),
        clock=_figure(facts.get("clock")),
        clock_most=_figure(facts.get("most")),
        throttle=_throttle(facts),
    )


def _throttle(facts: dict[str, str]) -> tuple[str, ...] | None:
    own = {key.removeprefix("reason "): value for key, value in facts.items() if key.startswith("reason ")}
    if not own:
        return None
    words: list[str] = []
    for name, value in own.items():
        if name == "active" and re.fullmatch(r"0x[0-9a-fA-F]{1,16}", value):
            words += throttles_of(int(value, 16))
        elif value.lower() == "active" and name.replace("_", " ") in THROTTLE_NAMES:
            words.append(THROTTLE_NAMES[name.replace("_", " ")])
    return tuple(dict.fromkeys(words))


def _moment(text: str | None) -> dt.datetime | None:
    if text is None or not _STAMP.match(text):
        return None
    return units.parse_moment(text[:19].replace("/", "-"), day=dt.date(2000, 1, 1))


def _figure(text: str | None) -> float | None:
    found = _FIGURE.match(text) if text else None
    return float(found.group()) if found else None
