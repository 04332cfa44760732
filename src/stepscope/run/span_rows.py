"""Where the steps of a recording lie in time: the edges of their rows, and what spans cover of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from stepscope.run.tables import StepTable

Ints = npt.NDArray[np.int64]
# Kinds during which the step's own clock does not run.
OUTSIDE = ("evaluation", "checkpoint", "compile")
# Waiting for a batch that others load; loading it oneself.
WAITS = ("data", "fetch")
_EARLIEST = np.iinfo(np.int64).min


def row_starts(begin: Ints, end: Ints, spans: Mapping[str, Ints]) -> Ints:
    """Where each step's row begins: with the fetch of its batch, or with the step.

    A row lasts until the next begins, so that whatever follows a step belongs to it.
    """
    stops = joined(spans, ("evaluation", "checkpoint"))
    waits = joined(spans, WAITS)
    waits = waits[~inside(waits[:, 0], stops)]
    if not len(waits):
        return begin
    ended = np.concatenate([[_EARLIEST], end[:-1]])
    place = np.searchsorted(waits[:, 0], ended, side="left")
    first = np.where(place < len(waits), waits[np.minimum(place, len(waits) - 1), 0], begin)
    before = waits[waits[:, 0] < begin[0]]
    # Other loaders may have been tried before the first step: its own fetch is the last one.
    first[0] = before[-1, 0] if len(before) else begin[0]
    return np.asarray(np.minimum(begin, np.maximum(first, ended)), dtype=np.int64)


def line_begins(steps: StepTable, begin_ns: int) -> Ints:
    """Where rows begin that are printed lines: with the line before, and those of another process as long ago as they
    say.
    """
    begin = np.concatenate([[min(begin_ns, int(steps.t_ns[0]))], steps.t_ns[:-1]])
    own = steps.first_rows[steps.first_rows > 0]
    begin[own] = np.maximum(begin[own], steps.t_ns[own] - steps.dur_ns[own] * steps.span[own])
    return begin


def joined(spans: Mapping[str, Ints], kinds: tuple[str, ...]) -> Ints:
    """The spans of several kinds in order of their beginning."""
    found = [spans[kind] for kind in kinds if kind in spans and len(spans[kind])]
    if not found:
        return np.zeros((0, 2), dtype=np.int64)
    table = np.concatenate(found)
    return np.asarray(table[np.argsort(table[:, 0], kind="stable")], dtype=np.int64)


def inside(moments: Ints, spans: Ints) -> npt.NDArray[np.bool_]:
    """Which moments lie in one of the spans."""
    if not len(spans):
        return np.zeros(len(moments), dtype=bool)
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    place = np.searchsorted(spans[:, 0], moments, side="right") - 1
    return np.asarray((place >= 0) & (moments < np.maximum.accumulate(spans[:, 1])[np.maximum(place, 0)]), dtype=bool)


def covered_upto(spans: Ints, moments: Ints) -> Ints:
    """Nanoseconds that spans cover up to each moment, every one counted once."""
    if not len(spans):
        return np.zeros(len(moments), dtype=np.int64)
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    ends = np.maximum.accumulate(spans[:, 1])
    starts = np.maximum(spans[:, 0], np.concatenate([spans[:1, 0], ends[:-1]]))
    lengths = np.maximum(ends - starts, 0)
    upto = np.concatenate([[0], np.cumsum(lengths)])
    place = np.searchsorted(starts, moments, side="right")
    last = np.maximum(place - 1, 0)
    partial = np.where(place > 0, np.clip(moments - starts[last], 0, lengths[last]), 0)
    return np.asarray(upto[last] + partial, dtype=np.int64)


def overlaps(spans: Ints, starts: Ints, ends: Ints) -> Ints:
    """Nanoseconds of each stretch that the spans cover."""
    return covered_upto(spans, ends) - covered_upto(spans, starts)
