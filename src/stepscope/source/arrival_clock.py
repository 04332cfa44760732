"""When the lines of a recording arrived, by two clocks: one that people and NTP set, and one that stops in suspend.

Between two lines both pass the same time. Where they do not, the machine slept, which the recording has as well, or the
wall clock was set: then the monotonic one is right.
"""

from __future__ import annotations

import bisect
import math
import os
from pathlib import Path
from typing import BinaryIO, NamedTuple

from stepscope.core.boundary import open_file

_APART_S = 0.05  # a busy machine reads two clocks this far apart
_END_BYTES = 4096
_MOST_DIGITS = 18
_MOST_BYTES = 1 << 22  # a hundred thousand sleeps
_LATEST_S = 9.2e9  # what a whole number of nanoseconds since the epoch can say


class Arrival(NamedTuple):
    """One record: where the line ends, and when it came by the wall clock and by the monotonic one."""

    upto: int
    wall_s: float
    steady_s: float


def parse_arrival(record: bytes) -> Arrival | None:
    """The record of a line; None where it is torn or damaged."""
    fields = record.split(b"\t")
    if len(fields) != 3 or not fields[0].isdigit() or len(fields[0]) > _MOST_DIGITS:
        return None
    try:
        wall_s, steady_s = float(fields[1]), float(fields[2])
    except ValueError:
        return None
    is_sound = 0 <= wall_s < _LATEST_S and 0 <= steady_s < _LATEST_S  # false for NaN
    return Arrival(int(fields[0]), wall_s, steady_s) if is_sound else None


def parse_sleeps(path: Path) -> list[tuple[float, float]]:
    """When the machine woke up, by the wall clock, and for how long it had slept; [] where nobody knows."""
    found = []
    try:
        with open_file(path) as file:
            records = file.read(_MOST_BYTES).split(b"\n")
    except OSError:
        return []
    for record in records:
        fields = record.split(b"\t")
        try:
            end_s, slept_s = float(fields[0]), float(fields[1])
        except (ValueError, IndexError):
            continue  # torn by a kill
        if math.isfinite(slept_s) and 0 < slept_s <= end_s < _LATEST_S:
            found.append((end_s, slept_s))
    return found


class ArrivalClock:
    """A wall clock without the steps: `moment` takes the arrivals in their order."""

    def __init__(self, sleeps: Path) -> None:
        self._sleeps = sorted(parse_sleeps(sleeps))
        self._last: Arrival | None = None
        self._added_s = 0.0

    def end_with(self, stamps: BinaryIO) -> None:
        """Let the arrivals end with the wall clock of the last record so far: that is the time people have now."""
        first = parse_arrival(stamps.readline(_END_BYTES))
        size = stamps.seek(0, os.SEEK_END)
        stamps.seek(max(0, size - _END_BYTES))
        records = stamps.read(_END_BYTES).split(b"\n")[:-1]
        stamps.seek(0)
        last = next((found for record in reversed(records) if (found := parse_arrival(record)) is not None), None)
        if first is not None and last is not None:
            self._added_s = -self._step_s(first, last)

    def moment(self, arrival: Arrival) -> float:
        """Unix seconds of an arrival."""
        last, self._last = self._last, arrival
        if last is not None:
            self._added_s += self._step_s(last, arrival)
        return arrival.wall_s + self._added_s

    def _step_s(self, one: Arrival, other: Arrival) -> float:
        """By how much too little passed on the wall clock between two arrivals."""
        passed_s, steady_s = other.wall_s - one.wall_s, other.steady_s - one.steady_s
        if steady_s < 0:
            return max(0.0, -passed_s)  # another boot's clock
        if abs(passed_s - steady_s) <= _APART_S:
            return 0.0
        slept_s = self._slept_s(one.wall_s, other.wall_s)
        true_s = min((steady_s, steady_s + slept_s), key=lambda seconds: abs(seconds - passed_s))
        return true_s - passed_s if abs(true_s - passed_s) > _APART_S else 0.0

    def _slept_s(self, first_s: float, last_s: float) -> float:
        low, high = (bisect.bisect(self._sleeps, (moment, math.inf)) for moment in (first_s, last_s))
        return math.fsum(slept_s for _, slept_s in self._sleeps[low:high])
