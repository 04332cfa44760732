"""The spans that a training recorded from inside: one file per process, docs/integrations.md describes them.

Their times are on the monotonic clock, as the arrivals of the lines are; both are put on one wall clock here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.core.boundary import is_readable, open_file
from stepscope.core.units import NS
from stepscope.source.arrival_clock import ArrivalClock, parse_arrival
from stepscope.source.recording import STAMPS, SUSPENDS
from stepscope.source.sampled_spans import Sampled, cut_short, outermost, unseen, with_sampled

SPANS = "spans"
Ints = npt.NDArray[np.int64]
# What is read of one process, and of how many: a month of steps at 10 ms is beyond it, and its end is kept.
_MOST_BYTES = 1 << 29
_MOST_FILES = 4096
_MOST_STAMPS_BYTES = 1 << 27
_SAMPLED_STAMPS = 1 << 14
_LATEST_NS = 9_200_000_000_000_000_000
# Clocks of one machine agree to within this; else the spans are another machine's, and its wall clock counts.
_SAME_CLOCK_S = 1.0
_MOST_DIGITS = 19
_STOPS = {"evaluation", "checkpoint"}
_LOADS = ("data", "fetch")
# The detail of a span that was seen by looking now and then.
_SAMPLED = "sampled"
# The detail of an evaluation that nothing ended, and that was over at the latest when something else began.
_LATEST = "latest"


class OpenSpan(NamedTuple):
    """A span that had not ended when its process last wrote."""

    kind: str
    begin_ns: int
    detail: str


class Values(NamedTuple):
    """Figures that the training reported: when, of which step (None: it did not say), and by name."""

    t_ns: int
    step: int | None
    figures: Mapping[str, float]


class Lane(NamedTuple):
    """What one process recorded, on the wall clock.

    spans
        By kind, start and end of each in nanoseconds since the epoch, in order; of the thread that trains.
    step_numbers
        The number of each span of kind `step`; -1 where nobody gave it one.
    is_counted
        The numbers were counted from 0, as the probe could not know the program's own.
    total_steps, last_step
        How many steps there will be, or the number of the last one; None where nothing said so.
    """

    rank: int
    world: int
    host: str
    pid: int
    source: str
    spans: Mapping[str, Ints]
    background: Mapping[str, Ints]
    step_numbers: Ints
    is_counted: bool = False
    open: tuple[OpenSpan, ...] = ()
    last_ns: int = 0
    total_steps: int | None = None
    last_step: int | None = None
    total_epochs: int | None = None
    values: tuple[Values, ...] = ()
    skipped: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()

    @property
    def num_steps(self) -> int:
        """How many steps it recorded."""
        return len(self.step_numbers)


def span_files(folder: Path) -> list[Path]:
    """The files of spans in a recording, in order of rank and name."""
    if not is_readable(folder / SPANS):
        return []
    try:
        with os.scandir(folder / SPANS) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".tsv"))
    except OSError:
        return []
    found = [folder / SPANS / name for name in names[:_MOST_FILES]]
    return [path for path in found if path.is_file() and is_readable(path)]


def read_lanes(path: Path) -> tuple[Lane, ...]:
    """What every process of a recording (its folder or its log) recorded; () where none did."""
    folder = path if path.is_dir() else path.parent
    files = span_files(folder)
    if not files:
        return ()
    clock = _RecordingClock(folder)
    return tuple(lane for file in files if (lane := _read_lane(file, clock)) is not None)


def main_lanes(lanes: Sequence[Lane]) -> tuple[Lane, ...]:
    """The processes that speak for the run, one after the other: those of the lowest rank that has steps.

    Of several at the same time, the one with the most steps.
    """
    trained = [lane for lane in lanes if lane.num_steps]
    if not trained:
        seen = [lane for lane in lanes if _STOPS & lane.spans.keys()] or lanes
        rank = min((lane.rank for lane in seen), default=0)
        return tuple(lane for lane in seen if lane.rank == rank)
    rank = min(lane.rank for lane in trained)
    kept: list[Lane] = []
    for lane in sorted((lane for lane in trained if lane.rank == rank), key=lambda lane: -lane.num_steps):
        first, last = int(lane.spans["step"][0, 0]), int(lane.spans["step"][-1, 1])
        if all(last <= other.spans["step"][0, 0] or first >= other.spans["step"][-1, 1] for other in kept):
            kept.append(lane)
    return tuple(sorted(kept, key=lambda lane: int(lane.spans["step"][0, 0])))


def recorded_frame(path: Path) -> tuple[int, int] | None:
    """When the first and the last line of a recording came, in nanoseconds since the epoch; None without lines."""
    moments = [moment for _, moment in _sampled_moments(path if path.is_dir() else path.parent)]
    return (round(moments[0] * NS), round(moments[-1] * NS)) if moments else None


_MOST_NS = float(1 << 62)  # no moment is as far away; those of a damaged recording may be


class _RecordingClock:
    """Turns moments of the monotonic clock into the wall clock that the lines of the recording have."""

    def __init__(self, folder: Path) -> None:
        pairs = list(_sampled_moments(folder))
        self._steady = np.array([steady for steady, _ in pairs])
        self._moment = np.array([moment for _, moment in pairs])

    def to_wall(self, at_ns: Ints, anchors: list[tuple[int, int]]) -> Ints:
        """Nanoseconds since the epoch; `anchors` are what both clocks showed in the process itself."""
        steady, wall = (np.array(column, dtype=np.float64) / NS for column in zip(*anchors, strict=True))
        if len(self._steady) and abs(float(self._at(steady[:1])[0] - wall[0])) <= _SAME_CLOCK_S:
            found = np.round(self._at(at_ns / NS) * NS)
            if np.isfinite(found).all() and np.abs(found).max(initial=0.0) < _MOST_NS:
                return found.astype(np.int64)
        # The wall clock may be set between two anchors: the first one goes on.
        return at_ns + (anchors[0][1] - anchors[0][0])

    def _at(self, steady: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        offset = np.interp(steady, self._steady, self._moment - self._steady)
        return np.asarray(steady + offset, dtype=np.float64)


def _sampled_moments(folder: Path) -> Iterator[tuple[float, float]]:
    """Arrivals, evenly spaced over the recording, by the monotonic clock and as the lines have them."""
    try:
        with open_file(folder / STAMPS) as file:
            clock = ArrivalClock(folder / SUSPENDS)
            clock.end_with(file)
            records = file.read(_MOST_STAMPS_BYTES).split(b"\n")[:-1]
    except OSError:
        return
    every = max(1, len(records) // _SAMPLED_STAMPS)
    latest = -1.0
    for record in (*records[:-1:every], *records[-1:]):
        arrival = parse_arrival(record)
        if arrival is not None and arrival.steady_s > latest:
            latest = arrival.steady_s
            yield arrival.steady_s, clock.moment(arrival)


class _Reading:
    """The records of one file, taken apart."""

    def __init__(self) -> None:
        self.anchors: list[tuple[int, int]] = []
        self.facts: dict[str, str] = {}
        self.ended: dict[tuple[str, bool], list[tuple[int, int]]] = {}
        self.sampled: dict[str, list[Sampled]] = {}
        self.latest: set[tuple[int, int]] = set()  # evaluations that may have ended before
        self.numbers: list[int] = []
        self.is_counted = False
        self.open: dict[tuple[str, str], list[tuple[int, str]]] = {}
        self.notes: list[tuple[int, str, str]] = []
        self.last_ns = 0

    def take(self, record: bytes) -> None:
        fields = record.split(b"\t")
        if len(fields) != 6 or not _is_time(fields[1]):
            return  # torn by a kill
        mark, at_ns = fields[0], int(fields[1])
        kind, thread = fields[2].decode("utf-8", "replace"), fields[3].decode("ascii", "replace")
        detail = fields[5].decode("utf-8", "replace")
        if mark == b"H" and _is_time(fields[4]):
            self.anchors.append((at_ns, int(fields[4])))
            self.facts = self.facts or _pairs(detail)
        elif mark == b"B":
            self.open.setdefault((kind, thread), []).append((at_ns, detail))
        elif mark == b"E" and _is_time(fields[4]) and int(fields[4]) <= at_ns:
            self._end(kind, thread, at_ns - int(fields[4]), at_ns, detail)
        elif mark == b"N":
            self.notes.append((at_ns, kind, detail))
        self.last_ns = max(self.last_ns, at_ns)

    def _end(self, kind: str, thread: str, begin_ns: int, end_ns: int, detail: str) -> None:
        began = self.open.get((kind, thread))
        while began and began[-1][0] >= begin_ns:
            began.pop()
        if kind in _STOPS and begin_ns == end_ns:
            return  # it turned out to be none
        if detail.startswith(_SAMPLED) and thread == "0":
            slack_ns = _whole(detail.removeprefix(_SAMPLED).strip()) or 0
            self.sampled.setdefault(kind, []).append(Sampled(begin_ns, end_ns, slack_ns))
            return
        if kind == "evaluation" and detail == _LATEST:
            self.latest.add((begin_ns, end_ns))
        self.ended.setdefault((kind, thread == "0"), []).append((begin_ns, end_ns))
        if kind == "step" and thread == "0":
            self.is_counted |= detail.startswith("~")
            number = _whole(detail.removeprefix("~"))
            self.numbers.append(-1 if number is None else number)


def _read_lane(path: Path, clock: _RecordingClock) -> Lane | None:
    reading = _Reading()
    try:
        with open_file(path) as file:
            for record in file.read(_MOST_BYTES).split(b"\n")[:-1]:
                reading.take(record)
    except OSError:
        return None
    if not reading.anchors:
        return None

    def to_wall(moments: list[int]) -> Ints:
        return clock.to_wall(np.array(moments, dtype=np.int64), reading.anchors)

    numbers = np.array(reading.numbers, dtype=np.int64)
    spans: dict[str, Ints] = {}
    background: dict[str, Ints] = {}
    _add_sampled(reading)
    for (kind, is_main), ended in reading.ended.items():
        table = clock.to_wall(np.array(ended, dtype=np.int64), reading.anchors)
        order = np.argsort(table[:, 0], kind="stable")
        (spans if is_main else background)[kind] = table[order]
        if kind == "step" and is_main:
            numbers = numbers[order]
    still = [
        (begin, kind, detail) for (kind, thread), own in reading.open.items() if thread == "0" for begin, detail in own
    ]
    begins = to_wall([begin for begin, _, _ in still]) if still else np.zeros(0, dtype=np.int64)
    moments = to_wall([at_ns for at_ns, _, _ in reading.notes]) if reading.notes else np.zeros(0, dtype=np.int64)
    totals = _totals(reading.notes)
    facts = reading.facts
    return Lane(
        rank=_whole(facts.get("rank")) or 0,
        world=_whole(facts.get("world")) or 1,
        host=facts.get("host", ""),
        pid=_whole(facts.get("pid")) or 0,
        source=facts.get("source", ""),
        spans=spans,
        background=background,
        step_numbers=numbers,
        is_counted=reading.is_counted,
        open=tuple(OpenSpan(kind, int(begin), detail) for begin, (_, kind, detail) in zip(begins, still, strict=True)),
        last_ns=int(to_wall([reading.last_ns])[0]),
        total_steps=totals.get("steps"),
        last_step=totals.get("last"),
        total_epochs=totals.get("epochs"),
        values=_values(reading.notes, moments),
        skipped=tuple(dict.fromkeys(text for _, kind, text in reading.notes if kind == "skipped")),
        probes=tuple(dict.fromkeys(text for _, kind, text in reading.notes if kind == "probe")),
    )


def _add_sampled(reading: _Reading) -> None:
    """What was seen by looks joins what hooks have timed."""
    ended = reading.ended.get(("evaluation", True))
    if ended is not None:
        reading.ended["evaluation", True] = [
            cut_short(span, reading.sampled) if span in reading.latest else span for span in ended
        ]
    for kind in _STOPS:
        if (kind, True) in reading.ended:
            reading.ended[kind, True] = outermost(reading.ended[kind, True])
    for kind, seen in reading.sampled.items():
        timed = {name: np.array(reading.ended.get((name, True), ()), dtype=np.int64).reshape(-1, 2) for name in _LOADS}
        own = unseen(seen, np.concatenate(list(timed.values()))) if kind in _LOADS else seen
        exact = np.array(reading.ended.get((kind, True), ()), dtype=np.int64).reshape(-1, 2)
        joined = with_sampled(exact, own).tolist()
        if joined:
            reading.ended[kind, True] = [(begin, end) for begin, end in joined]


def _totals(notes: list[tuple[int, str, str]]) -> dict[str, int]:
    """The last word on each total."""
    found: dict[str, int] = {}
    for _, kind, text in notes:
        if kind == "total":
            found |= {name: own for name, value in _pairs(text).items() if (own := _whole(value)) is not None}
    return found


def _values(notes: list[tuple[int, str, str]], moments: Ints) -> tuple[Values, ...]:
    found = []
    for at, (_, kind, text) in zip(moments.tolist(), notes, strict=True):
        if kind == "values":
            pairs = _pairs(text)
            step = _whole(pairs.pop("step", None))
            figures = {name: own for name, value in pairs.items() if (own := _figure(value)) is not None}
            found.append(Values(at, step, figures))
    return tuple(found)


def _pairs(text: str) -> dict[str, str]:
    return {name: value for word in text.split(" ") for name, is_pair, value in [word.partition("=")] if is_pair}


def _is_time(text: bytes) -> bool:
    return text.isdigit() and len(text) <= _MOST_DIGITS and int(text) < _LATEST_NS


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() and len(text) < _MOST_DIGITS else None


def _figure(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
