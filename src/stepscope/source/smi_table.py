"""The table of `nvidia-smi`: drivers 470 to 590, several GPUs, MIG, processes, Windows; one table or a series.

Column widths differ between driver generations and a pasted table loses blanks, so a row is known by its bars and a
figure by its unit, never by its place. `N/A` and `ERR!` are figures that are not there.
"""

from __future__ import annotations

import datetime as dt
import re

from stepscope.core import units
from stepscope.source.hardware import Hardware, Process, short_name

_MIB = 1 << 20
_MOMENT = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d{1,2}:\d\d:\d\d \d{4}")
_BEGIN = re.compile(r"\|\s*NVIDIA-SMI\s+\d")
_NAME = re.compile(r"\s*(?P<index>\d{1,3})\s+(?P<name>[A-Za-z]\S*(?:\s\S+)*?)\s+(?:On|Off|N/A|TCC|WDDM|MCDM|ERR!)\s*$")
_MISSING = r"N/A|ERR!|\[?Unknown Error\]?|\[?Not Supported\]?"
_LOAD = re.compile(
    rf"\s*(?:\d+\s*%|{_MISSING})\s+(?:(?P<temp>\d{{1,9}})\s*C|{_MISSING})\s+(?:P\d+|{_MISSING})\s+"
    rf"(?:(?P<power>\d+(?:\.\d+)?)\s*W|{_MISSING})\s*/\s*(?:(?P<limit>\d+(?:\.\d+)?)\s*W|{_MISSING})\s*$"
)
_MEMORY = re.compile(r"(?P<used>\d{1,9})\s*MiB\s*/\s*(?P<total>\d{1,9})\s*MiB")
_LOADED = re.compile(r"(?P<util>\d{1,9})\s*%")
_SLICE = re.compile(r"\s*(?P<index>\d{1,9})\s+\d{1,9}\s+\d{1,9}\s+\d{1,9}\s*$")
_PROCESS = re.compile(
    r"\|\s+(?P<index>\d{1,9})\s+(?:(?:\d{1,9}|N/A)\s+(?:\d{1,9}|N/A)\s+)?(?P<pid>\d{1,9})\s+"
    r"(?:C\+G|M\+C|C|G|M)\s+(?P<name>\S.{0,200}?)\s+"
    r"(?:(?P<used>\d{1,9})\s*MiB|N/A)\s*\|"
)


def parse_tables(text: str) -> list[list[Hardware]]:
    """The GPUs of each table in a text."""
    readings: list[list[Hardware]] = []
    moment: dt.datetime | None = None
    table = _Table(None)
    for line in text.splitlines():
        stamp = _MOMENT.search(line)
        if stamp is not None and "|" not in line:
            moment = units.parse_moment(stamp.group(), day=dt.date(2000, 1, 1))
        elif _BEGIN.search(line):
            readings.append(table.gpus())
            table, moment = _Table(moment), None
        elif "|" in line:
            table.take(line[line.index("|") :])
    readings.append(table.gpus())
    return readings


class _Table:
    """One table as it is read, row by row."""

    def __init__(self, moment: dt.datetime | None) -> None:
        self._moment = moment
        self._name: tuple[int, str] | None = None
        self._gpus: list[Hardware] = []
        self._slices: dict[int, tuple[int, int]] = {}
        self._processes: dict[int, list[Process]] = {}

    def take(self, line: str) -> None:
        process = _PROCESS.match(line)
        if process is not None:
            used = int(process["used"]) * _MIB if process["used"] else None
            own = Process(int(process["pid"]), process["name"], used)
            self._processes.setdefault(int(process["index"]), []).append(own)
            return
        cells = line.strip().strip("|").split("|")
        if len(cells) == 3:
            self._take_gpu(cells)
        elif len(cells) >= 4:
            part, memory = _SLICE.match(cells[0]), _MEMORY.search(cells[1])
            if part is not None and memory is not None:
                self._take_slice(int(part["index"]), int(memory["used"]) * _MIB, int(memory["total"]) * _MIB)

    def _take_gpu(self, cells: list[str]) -> None:
        named = _NAME.match(cells[0])
        if named is not None:
            self._name = int(named["index"]), named["name"]
            return
        load = _LOAD.match(cells[0])
        if load is None or self._name is None:
            return
        memory, loaded = _MEMORY.search(cells[1]), _LOADED.search(cells[2])
        self._gpus.append(
            Hardware(
                gpu=short_name(self._name[1]),
                number=self._name[0],
                utilisation=min(1.0, int(loaded["util"]) / 100) if loaded else None,
                memory_used=int(memory["used"]) * _MIB if memory else None,
                memory_total=int(memory["total"]) * _MIB if memory else None,
                power=_number(load["power"]),
                power_limit=_number(load["limit"]),
                temperature=_number(load["temp"]),
                time=self._moment,
            )
        )
        self._name = None

    def _take_slice(self, index: int, used: int, total: int) -> None:
        """Of a divided GPU, the part that is fullest by share is where memory runs out first."""
        before = self._slices.get(index)
        if total and (before is None or used * before[1] > before[0] * total):
            self._slices[index] = used, total

    def gpus(self) -> list[Hardware]:
        found = []
        for gpu in self._gpus:
            assert gpu.number is not None
            used, total = self._slices.get(gpu.number, (gpu.memory_used, gpu.memory_total))
            own = tuple(self._processes.get(gpu.number, ()))
            found.append(gpu._replace(memory_used=used, memory_total=total, processes=own))
        return found


def _number(text: str | None) -> float | None:
    """A figure of the table; a paste may have mangled it."""
    try:
        return float(text) if text else None
    except ValueError:
        return None
