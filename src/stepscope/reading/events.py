"""The evaluations, saves and other events of a log while it is read, as columns."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

import numpy as np

from stepscope.lines.figures import figure_ns
from stepscope.reading.rows import RowStore
from stepscope.run.model import NO_TIME, EventTable

KINDS = frozenset({"evaluation", "checkpoint", "gc", "data"})
_MAX_EXCERPTS = 5_000
_MAX_EXCERPT_CHARS = 1_000
_NUMBERS, _SEGMENT = 6, 4
_TOOK = {"took_ms": "dur_ms", "took_s": "dur_s", "took_clock": "dur_clock"}


class EventStore:
    """Columns that grow with each event line."""

    def __init__(self) -> None:
        self._kind: list[str] = []
        self._numbers = array("q")  # of each event: step, line, stamp, stamp before, segment, how long it took
        self._loss = array("d")
        self._last_rank: int | None = None
        self._last = "", -1  # kind and row of the last event
        self.excerpts: dict[int, str] = {}

    def is_repeated(self, kind: str, row: int, *, rank: int | None, is_bar: bool) -> bool:
        """Whether the event is the last one again: another state of its bar, or another rank's word for it."""
        if self._last != (kind, row):
            return False
        return is_bar or (rank is not None and rank != self._last_rank and self._last_rank is not None)

    def add(
        self,
        kind: str,
        groups: Mapping[str, str | None],
        *,
        step: int | None,
        row: int,
        line: int,
        stamp: int | None,
        before: int | None,
        segment: int,
        loss: float | None,
        rank: int | None,
        text: str,
    ) -> None:
        """One more event, before row `row`."""
        took = _took_ns(groups)
        self._kind.append(kind)
        self._last_rank, self._last = rank, (kind, row)
        self._numbers.extend(
            (
                -1 if step is None else step,
                line,
                NO_TIME if stamp is None else stamp,
                NO_TIME if before is None else before,
                segment,
                NO_TIME if took is None or took < 0 else took,
            )
        )
        self._loss.append(math.nan if loss is None else loss)
        if len(self.excerpts) < _MAX_EXCERPTS:
            self.excerpts[line] = text[:_MAX_EXCERPT_CHARS]

    def drop_rows(self, first: int, segment: int) -> None:
        """Rows from `first` on turned out not to belong to the run, whose last segment is now `segment`."""
        self._last = self._last[0], min(self._last[1], first)
        for at in range(_SEGMENT, len(self._numbers), _NUMBERS):
            self._numbers[at] = min(self._numbers[at], segment)

    def table(self, rows: RowStore, *, follow_step: bool) -> EventTable:
        """A frozen copy of what has grown so far.

        An event belongs to the row printed after its line, or to the one before it where events follow their step.
        """
        numbers = np.array(self._numbers, dtype=np.int64).reshape(-1, _NUMBERS)
        step, line, stamp, before, segment, took = (np.ascontiguousarray(column) for column in numbers.T)
        row = rows.rows_before(line)
        if follow_step:
            row = np.maximum(row - 1, 0)
        return EventTable(
            kind=tuple(self._kind),
            step=step,
            row=row,
            line=line,
            t_ns=stamp,
            before_ns=before,
            val_loss=np.array(self._loss, dtype=np.float64),
            took_ns=took,
            segment=segment,
        )


def _took_ns(groups: Mapping[str, str | None]) -> int | None:
    """How long an event took by its own line."""
    if groups.keys().isdisjoint(_TOOK):
        return None
    stated = {own: groups.get(name) for name, own in _TOOK.items()}
    return figure_ns(stated) if any(stated.values()) else None
