"""What `stepscope run --trace` saw from inside a process: every span, and how often and for how long by kind.

`span_file.py` reads it. Before there were spans, a record of `trace.tsv` was: kind, wall-clock start, seconds, detail.
Kind `skipped` is a hook that this version of torch does not take; an `optimizer` record covers as many steps as its
detail says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.core.boundary import open_file
from stepscope.source.arrival_clock import parse_sleeps
from stepscope.source.recording import SUSPENDS
from stepscope.source.span_file import Lane, main_lanes, read_lanes

TRACE = "trace.tsv"
# In the order in which reports show them.
KINDS = ("step", "evaluation", "checkpoint", "data", "fetch", "gc", "compile", "logging", "optimizer", "retry")
_SPANS = {"evaluation", "checkpoint", "data", "gc", "compile"}
SUSPENDED = "suspended"
# A month of records; the rest is left out.
_MOST_BYTES = 1 << 28
_NS = 1e9
_LAST_S = 9.2e9  # what a whole number of nanoseconds since the epoch can say
_MOST_DIGITS = 12

Spans = Mapping[str, npt.NDArray[np.int64]]  # kind → start and end of each, nanoseconds since the epoch


class TracedKind(NamedTuple):
    """One kind of thing that happened inside: how often, seconds in all, and the longest."""

    kind: str
    num: int
    seconds: float
    longest_s: float


class Trace(NamedTuple):
    """All that was seen: totals by kind, the spans, and which hooks were skipped.

    lanes
        The processes that recorded spans; () of a recording from before there were any.
    """

    totals: tuple[TracedKind, ...]
    spans: Spans
    skipped: tuple[str, ...]
    lanes: tuple[Lane, ...] = ()


def read_trace(path: Path) -> Trace | None:
    """The trace of a recording; None where there is no recording or it was not traced. Torn lines are skipped."""
    lanes = read_lanes(path)
    return _of_lanes(lanes) if lanes else _read_old_trace(path)


def _of_lanes(lanes: tuple[Lane, ...]) -> Trace:
    """What the rank that speaks for the run saw: the lowest that has steps."""
    own = main_lanes(lanes)
    spans: dict[str, npt.NDArray[np.int64]] = {}
    for lane in own:
        for kind, table in lane.spans.items():
            spans[kind] = np.concatenate([spans[kind], table]) if kind in spans else table
        for still in lane.open:
            table = np.array([[still.begin_ns, max(still.begin_ns, lane.last_ns)]], dtype=np.int64)
            if still.kind != "step":
                spans[still.kind] = np.concatenate([spans[still.kind], table]) if still.kind in spans else table
    totals = []
    for kind in (*(kind for kind in KINDS if kind in spans), *sorted(spans.keys() - set(KINDS))):
        lengths = (spans[kind][:, 1] - spans[kind][:, 0]) / _NS
        totals.append(TracedKind(kind, len(lengths), math.fsum(lengths), float(lengths.max())))
    skipped = dict.fromkeys(text for lane in lanes for text in lane.skipped)
    return Trace(tuple(totals), spans, tuple(skipped), lanes)


def _read_old_trace(path: Path) -> Trace | None:
    """A file of version 0.1.0, with the wall clock."""
    trace = (path if path.is_dir() else path.parent) / TRACE
    found: dict[str, list[tuple[float, float, int]]] = {}
    skipped: list[str] = []
    try:
        with open_file(trace) as file:
            for record in file.read(_MOST_BYTES).split(b"\n"):
                fields = record.split(b"\t")
                if len(fields) != 4:
                    continue  # torn by a kill
                try:
                    start, seconds = float(fields[1]), float(fields[2])
                except ValueError:
                    continue
                kind = fields[0].decode("ascii", errors="replace")
                if kind == "skipped":
                    skipped.append(fields[3].decode("utf-8", errors="replace"))
                elif seconds >= 0 and start >= 0 and start + seconds < _LAST_S:
                    num = int(fields[3]) if kind in {"optimizer", "retry"} and _is_count(fields[3]) else 1
                    found.setdefault(kind, []).append((start, seconds, num))
    except OSError:
        return None
    return Trace(
        totals=tuple(_total(kind, found[kind]) for kind in KINDS if kind in found),
        spans={kind: _spans(records) for kind, records in found.items() if kind in _SPANS},
        skipped=tuple(dict.fromkeys(skipped)),
    )


def read_suspends(path: Path) -> Spans:
    """When the machine slept during a recording; empty where it did not, or was not watched."""
    folder = path if path.is_dir() else path.parent
    found = [(end_s - slept_s, slept_s, 1) for end_s, slept_s in parse_sleeps(folder / SUSPENDS)]
    return {SUSPENDED: _spans(found)} if found else {}


def _is_count(text: bytes) -> bool:
    return text.isdigit() and len(text) <= _MOST_DIGITS


def _total(kind: str, records: list[tuple[float, float, int]]) -> TracedKind:
    seconds = [record[1] for record in records]
    num = sum(record[2] for record in records)
    longest = max(record[1] / max(1, record[2]) for record in records)
    return TracedKind(kind, num, math.fsum(seconds), longest)


def _spans(records: list[tuple[float, float, int]]) -> npt.NDArray[np.int64]:
    table = np.array([(start, start + seconds) for start, seconds, _ in records])
    return np.round(table * _NS).astype(np.int64)
