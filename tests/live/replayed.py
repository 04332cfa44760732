"""A whole log replayed through the watcher on a clock of our own, at the moments its own times give its lines."""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from stepscope.live.arrivals import arrivals
from stepscope.live.watch import Facts, View, Watch
from stepscope.run.model import Run
from stepscope.source.tail import News

START = dt.datetime(2026, 1, 5, 12, 0, tzinfo=dt.UTC)
FACTS = Facts(config=None, flags={}, confidence=0.9)


class FakeClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> dt.datetime:
        return START + dt.timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class ReplayTail:
    """Bytes that come at given moments: `ends[i]` of them are there from `moments[i]` on."""

    def __init__(self, clock: FakeClock, data: bytes, ends: list[int], moments: list[float]) -> None:
        self._clock, self._data, self._ends, self._moments = clock, data, ends, moments
        self._offset = 0
        self._written = 0.0

    @property
    def mtime(self) -> float:
        return START.timestamp() + self._written

    def _there(self) -> int:
        index = bisect_right(self._moments, self._clock.seconds)
        return self._ends[index - 1] if index else 0

    def look(self) -> News:
        upto = self._there()
        if upto == self._offset:
            return News()
        data, self._offset = self._data[self._offset : upto], upto
        self._written = self._moments[bisect_right(self._moments, self._clock.seconds) - 1]
        return News(data)

    def rewind(self) -> bool:
        self._offset = 0
        return True


class Seen(NamedTuple):
    """A view, the silence before it, and whether the watch would have left then."""

    view: View
    end: str | None
    row: int


def replay(data: bytes, run: Run, *, longest: int, evenly: int) -> list[Seen]:
    """What the watcher sees of a log before its longest silences and at evenly spread moments."""
    ends, moments = timetable(data, run)
    clock = FakeClock()
    watch = Watch(ReplayTail(clock, data, ends, moments), name="train.log", facts=FACTS, clock=clock, interval_s=1e-6)
    gaps = np.diff(np.array(moments))
    places = set(np.argsort(gaps)[-longest:].tolist()) if len(gaps) else set()
    places |= set(np.linspace(0, len(moments) - 1, evenly).astype(int).tolist())
    found = []
    for place in sorted(places):
        clock.seconds = moments[place]
        look_at(watch, found)
        if place + 1 < len(moments):
            # The last moment before the log goes on.
            clock.seconds = max(clock.seconds, moments[place] + 0.999 * (moments[place + 1] - moments[place]))
            look_at(watch, found)
    clock.seconds += 6.0  # long enough for its last words
    look_at(watch, found)
    return found


def look_at(watch: Watch, found: list[Seen]) -> None:
    for _ in range(2):  # once to read, once to see that nothing more is there
        view = watch.step()
        if view is not None:
            found.append(Seen(view, watch.end, len(view.report.run) if view.report else 0))


def timetable(data: bytes, run: Run) -> tuple[list[int], list[float]]:
    """Up to which byte the log is there at which moment: of each line, or of shares of a file that has none."""
    lines, moments = arrivals(run)
    if not len(lines):
        return [len(data)], [0.0]
    wide = run.encoding.startswith("utf-16")
    ends = [match.end() + wide for match in re.finditer(rb"\r\n|\n|\r(?!\0)" if not wide else rb"\n", data)]
    if run.format.document is not None or len(ends) < int(lines[-1]) - 1:
        # A table or a document: not one line of the file per line that was read.
        shares = np.arange(1, len(lines) + 1) / len(lines)
        return [int(share * len(data)) for share in shares], moments.tolist()
    ends.append(len(data))
    at = [ends[line - 1] for line in lines.tolist()]
    at[-1] = len(data)
    return at, moments.tolist()
