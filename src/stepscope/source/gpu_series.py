"""What the GPU did during the run: samples kept next to its log, in the form of `nvidia-smi --query-gpu`.

    nvidia-smi --query-gpu=timestamp,index,name,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu \\
               --format=csv -l 5 > gpu.csv

`stepscope run` keeps the same file in the folder of its recording.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from stepscope.core.boundary import open_file
from stepscope.source.hardware import MOST_DEGREES, MOST_MIB, MOST_WATTS

NAME = "gpu.csv"
# A week at one sample in five seconds; samples beyond that are left out.
_MOST_BYTES = 16 << 20
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_MIB = 1 << 20
# What is asked for, and the most that is believed of it: more comes from a torn line.
_MOST = {
    "utilization.gpu": 100.0,
    "memory.used": MOST_MIB,
    "memory.total": MOST_MIB,
    "power.draw": MOST_WATTS,
    "temperature.gpu": MOST_DEGREES,
}
FIELDS = tuple(_MOST)
_LONGEST_LINE = 10_000


class GpuSeries(NamedTuple):
    """Samples of one GPU, oldest first. NaN where the GPU gave no figure; memory in bytes, power in watts."""

    gpu: str | None
    seconds: tuple[float, ...]  # since the epoch
    utilisation: tuple[float, ...]  # shares of 1
    memory_used: tuple[float, ...]
    memory_total: tuple[float, ...]
    power: tuple[float, ...]
    temperature: tuple[float, ...]

    def between(self, first: float, last: float) -> GpuSeries | None:
        """The samples between two moments; None where there are none."""
        places = [place for place, moment in enumerate(self.seconds) if first <= moment <= last]
        if not places:
            return None
        own = slice(places[0], places[-1] + 1)
        return GpuSeries(self.gpu, *(column[own] for column in self[1:]))


def read_gpu_log(log: Path) -> bytes | None:
    """The samples next to a log (or in a recording's folder) as they are; None where there are none."""
    path = (log if log.is_dir() else log.parent) / NAME
    try:
        with open_file(path) as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return None


def busiest_gpu(samples: bytes) -> GpuSeries | None:
    """The samples of the busiest GPU; None where there are none. A day of them takes longer than most logs."""
    gpus = parse_gpu_series(samples.decode("utf-8", errors="replace").splitlines())
    return max(gpus, key=lambda gpu: _mean(gpu.utilisation), default=None)


def parse_gpu_series(lines: Sequence[str]) -> list[GpuSeries]:
    """Each GPU's samples. Lines that hold no sample (a torn line, a second heading) are skipped."""
    import csv

    rows = csv.reader((line for line in lines if len(line) < _LONGEST_LINE), skipinitialspace=True)
    columns: dict[str, int] = {}
    found: dict[str, list[tuple[float, ...]]] = {}
    names: dict[str, str] = {}
    for row in rows:
        if row and row[0].strip() == "timestamp":
            columns = {name.partition("[")[0].strip(): place for place, name in enumerate(row)}
            continue
        if "timestamp" not in columns or len(row) < len(columns):
            continue
        moment = _moment(row[columns["timestamp"]])
        if moment is None:
            continue
        gpu = row[columns["index"]].strip() if "index" in columns else "0"
        if "name" in columns:
            names[gpu] = row[columns["name"]].strip().removeprefix("NVIDIA ").removeprefix("GeForce ")
        values = (_number(row[columns[name]], most) if name in columns else math.nan for name, most in _MOST.items())
        found.setdefault(gpu, []).append((moment, *values))
    return [_series(names.get(gpu), sorted(samples)) for gpu, samples in found.items()]


def _series(name: str | None, samples: list[tuple[float, ...]]) -> GpuSeries:
    seconds, load, used, total, power, heat = zip(*samples, strict=True)
    return GpuSeries(
        gpu=name,
        seconds=seconds,
        utilisation=tuple(value / 100 for value in load),
        memory_used=tuple(value * _MIB for value in used),
        memory_total=tuple(value * _MIB for value in total),
        power=power,
        temperature=heat,
    )


def _number(text: str, most: float) -> float:
    found = _NUMBER.match(text.strip())
    number = float(found[0]) if found else math.nan
    return number if number <= most else math.nan


def _moment(text: str) -> float | None:
    for form in ("%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S"):
        try:
            return dt.datetime.strptime(text.strip(), form).astimezone().timestamp()
        except (ValueError, OverflowError, OSError):
            continue
    return None


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else -1.0
