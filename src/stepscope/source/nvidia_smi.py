"""Read the table that `nvidia-smi` prints: the card, its load, and when it was taken.

Column widths differ between driver generations, so each figure is found by its unit, not by its place.
"""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import NamedTuple

from stepscope import units
from stepscope.errors import InputError

_NAME = re.compile(r"^\|\s+(?P<index>\d+)\s+(?P<name>\S.*?)\s{2,}(?:On|Off|N/A)\s+\|")
_LOAD = re.compile(
    r"(?P<temp>\d+)C\s+P\d+\s+(?:(?P<power>\d+)W|N/A)\s*/\s*(?:(?P<limit>\d+)W|N/A)"
    r".*?(?P<used>\d+)MiB\s*/\s*(?P<total>\d+)MiB.*?(?P<util>\d+)%"
)
_MIB = 1 << 20


class Hardware(NamedTuple):
    """One card at one moment. Memory in bytes, power in watts, utilisation as a share of 1."""

    gpu: str | None = None
    utilisation: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    power: float | None = None
    temperature: float | None = None
    power_limit: float | None = None
    time: dt.datetime | None = None


def read_nvidia_smi(path: Path) -> Hardware:
    """The busiest card in a saved `nvidia-smi` table."""
    try:
        text = path.read_bytes()[: 1 << 20].decode("utf-8", errors="replace")
    except FileNotFoundError:
        raise InputError("no-such-file", place=str(path), nearby="none") from None
    except OSError as problem:
        raise InputError("unreadable", place=str(path), reason=problem.strerror or str(problem)) from None
    cards = parse_nvidia_smi(text)
    if not cards:
        raise InputError("not-nvidia-smi", place=str(path))
    return max(cards, key=lambda card: (card.utilisation or 0.0, card.memory_used or 0))


def parse_nvidia_smi(text: str) -> list[Hardware]:
    """Every card in the table, in its order."""
    moment = None
    cards: list[Hardware] = []
    name: str | None = None
    for line in text.splitlines():
        if moment is None and re.match(r"^[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}", line):
            moment = units.parse_moment(line.strip(), day=dt.date(2000, 1, 1))
        titled = _NAME.match(line)
        if titled:
            name = titled["name"]
            continue
        load = _LOAD.search(line)
        if load and name is not None:
            cards.append(
                Hardware(
                    gpu=name.removeprefix("NVIDIA ").removeprefix("GeForce "),
                    utilisation=int(load["util"]) / 100,
                    memory_used=int(load["used"]) * _MIB,
                    memory_total=int(load["total"]) * _MIB,
                    power=float(load["power"]) if load["power"] else None,
                    temperature=float(load["temp"]),
                    power_limit=float(load["limit"]) if load["limit"] else None,
                    time=moment,
                )
            )
            name = None
    return cards
