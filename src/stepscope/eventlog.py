"""The evaluations, saves and other events of a log while it is read, as columns."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

import numpy as np

from stepscope.formats._figures import figure_ns
from stepscope.run import NO_TIME, EventTable

KINDS = frozenset({"evaluation", "checkpoint", "gc", "data"})
_MAX_EXCERPTS = 5_000
_MAX_EXCERPT_CHARS = 1_000


class EventLog:
    """Columns that grow with each event line."""

    def __init__(self) -> None:
        self._kind: list[str] = []
        self._columns = tuple(array("q") for _ in range(6))  # step, row, line, stamp, stamp before, segment
        self._loss = array("d")
        self._took = array("q")
        self._last_rank: int | None = None
        self.excerpts: dict[int, str] = {}

    def is_repeated(self, kind: str, row: int, *, rank: int | None, is_bar: bool) -> bool:
        """Whether the event is the last one again: another state of its bar, or another rank's word for it."""
        if self._kind[-1:] != [kind] or self._columns[1][-1] != row:
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
        values = (
            -1 if step is None else step,
            row,
            line,
            NO_TIME if stamp is None else stamp,
            NO_TIME if before is None else before,
            segment,
        )
        self._kind.append(kind)
        self._last_rank = rank
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)
        self._loss.append(math.nan if loss is None else loss)
        told = {"dur_ms": groups.get("took_ms"), "dur_s": groups.get("took_s"), "dur_clock": groups.get("took_clock")}
        took = figure_ns(told) if any(told.values()) else None
        self._took.append(NO_TIME if took is None or took < 0 else took)
        if len(self.excerpts) < _MAX_EXCERPTS:
            self.excerpts[line] = text[:_MAX_EXCERPT_CHARS]

    def cut_rows(self, first: int, num: int, segment: int) -> None:
        """Rows from `first` on, `num` of them, turned out not to belong to the run: events move to what is left."""
        rows, segments = self._columns[1], self._columns[5]
        for index, row in enumerate(rows):
            if row > first:
                rows[index] = max(first, row - num)
            segments[index] = min(segments[index], segment)

    def table(self) -> EventTable:
        """A frozen copy of what has grown so far."""
        step, row, line, stamp, before, segment = (np.array(column, dtype=np.int64) for column in self._columns)
        return EventTable(
            kind=tuple(self._kind),
            step=step,
            row=row,
            line=line,
            t_ns=stamp,
            before_ns=before,
            val_loss=np.array(self._loss, dtype=np.float64),
            took_ns=np.array(self._took, dtype=np.int64),
            segment=segment,
        )
