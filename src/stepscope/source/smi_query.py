"""The long form, `nvidia-smi -q`: sections by indentation, a key and a value per line.

Names of keys changed with the drivers (throttle reasons became event reasons, the power section was split); each is
looked for under all the names it has had.
"""

from __future__ import annotations

import datetime as dt
import re

from stepscope.core import units
from stepscope.source.hardware import THROTTLE_NAMES, Hardware, Process, short_name

_GPU = re.compile(r"GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:")
_FIGURE = re.compile(r"-?\d+(?:\.\d+)?")
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "MB": 1 << 20}

Path = tuple[str, ...]


def parse_query(text: str) -> list[list[Hardware]]:
    """The GPUs of each log in a text."""
    readings: list[list[Hardware]] = []
    gpus: list[Hardware] = []
    moment: dt.datetime | None = None
    facts: dict[Path, str] = {}
    processes: list[dict[str, str]] = []
    opened: list[tuple[int, str]] = []
    index = -1
    for line in text.splitlines():
        if "NVSMI LOG" in line:
            gpus = _closed(gpus, facts, processes, index, moment)
            readings.append(gpus)
            gpus, facts, processes, index, moment = [], {}, [], -1, None
            continue
        if _GPU.match(line):
            gpus = _closed(gpus, facts, processes, index, moment)
            facts, processes, opened = {}, [], []
            index += 1
            continue
        text = line.expandtabs()
        key, colon, rest = text.partition(":")
        indent, key, value = len(text) - len(text.lstrip(" ")), key.strip().lower(), rest.strip() if colon else None
        if not (key[:1].isascii() and key[:1].isalpha()):
            continue
        opened = [item for item in opened if item[0] < indent]
        if key == "timestamp" and value and index < 0:
            moment = units.parse_moment(value, day=dt.date(2000, 1, 1))
        elif key == "process id" and value:
            processes.append({"pid": value})
        elif processes and value and key in {"name", "used gpu memory"}:
            processes[-1][key] = value
        if value and index >= 0:
            facts.setdefault((*(name for _, name in opened), key), value)
        opened.append((indent, key))
    readings.append(_closed(gpus, facts, processes, index, moment))
    return readings


def _closed(
    gpus: list[Hardware],
    facts: dict[Path, str],
    processes: list[dict[str, str]],
    index: int,
    moment: dt.datetime | None,
) -> list[Hardware]:
    """The GPUs with the one that was being read, if it has anything to say."""
    if index < 0 or not facts:
        return gpus
    power = _section(facts, "gpu power readings") or _section(facts, "power readings")
    memory, load = _section(facts, "fb memory usage"), _section(facts, "utilization")
    clocks, most = _section(facts, "clocks"), _section(facts, "max clocks")
    name = facts.get(("product name",))
    utilisation = _figure(load.get("gpu"))
    gpu = Hardware(
        gpu=short_name(name) if name else None,
        number=index,
        utilisation=min(1.0, utilisation / 100) if utilisation is not None else None,
        memory_used=_bytes(memory.get("used")),
        memory_total=_bytes(memory.get("total")),
        power=_first(power, "power draw", "instantaneous power draw", "average power draw"),
        power_limit=_first(power, "current power limit", "power limit", "enforced power limit"),
        temperature=_first(_section(facts, "temperature"), "gpu current temp"),
        time=moment,
        clock=_first(clocks, "sm", "graphics"),
        clock_most=_first(most, "sm", "graphics"),
        throttle=_throttle(facts),
        processes=tuple(
            Process(int(own["pid"]), own.get("name", ""), _bytes(own.get("used gpu memory")))
            for own in processes
            if own["pid"].isascii() and own["pid"].isdigit() and len(own["pid"]) < 12
        ),
    )
    return [*gpus, gpu]


def _section(facts: dict[Path, str], name: str) -> dict[str, str]:
    return {path[-1]: value for path, value in facts.items() if len(path) >= 2 and path[-2] == name}


def _throttle(facts: dict[Path, str]) -> tuple[str, ...] | None:
    """What holds the clocks down; reasons are nested, so the section's name may be anywhere in a path."""
    own = {
        path[-1]: value
        for path, value in facts.items()
        if any(name in {"clocks throttle reasons", "clocks event reasons"} for name in path[:-1])
    }
    if not own:
        return None
    words = [word for name, word in THROTTLE_NAMES.items() if own.get(name, "").lower() == "active"]
    return tuple(dict.fromkeys(words))


def _first(section: dict[str, str], *names: str) -> float | None:
    return next((figure for name in names if (figure := _figure(section.get(name))) is not None), None)


def _figure(text: str | None) -> float | None:
    found = _FIGURE.match(text) if text else None
    return float(found.group()[:20]) if found else None


def _bytes(text: str | None) -> int | None:
    figure = _figure(text)
    unit = text.split()[-1] if text else ""
    return round(figure * _UNITS[unit]) if figure is not None and unit in _UNITS else None
