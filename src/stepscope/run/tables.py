"""The columns of a Run: its step rows, and its evaluations and checkpoints.

Times are whole nanoseconds. A missing number is NaN in a float column and `NO_TIME` in a time column.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from stepscope.columns.decimals import Printed, take, unpack
from stepscope.columns.run_length import Pieces
from stepscope.core.units import NS

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, kw_only=True)
class StepTable:
    """One row per printed step, in the order of the file. Whole numbers are as narrow as they may be.

    A log may have tens of millions of rows: what follows from the other columns is worked out when it is asked for.
    """

    kept_step: Pieces | Ints
    kept_dur: Printed | Ints
    spans: Ints | None  # None: every row covers the steps since the one before it
    kept_loss: Printed | Floats
    kept_mfu_pct: Printed | Floats
    data_s: Floats  # waiting for the batch of one step, where the line says so; a mean where `dur_ns` is one
    work: Floats  # tokens, or another measure of the step's work, where the line states one
    kept_line: Pieces | Ints
    t_ns: Ints  # arrival or printed timestamp; empty when the log has none
    first_rows: Ints  # the first row of each segment
    merged: Ints | None = None  # how many printed rows each one is, where those of a very long run are merged

    def __len__(self) -> int:
        return len(self.kept_loss.numbers if isinstance(self.kept_loss, Printed) else self.kept_loss)

    @cached_property
    def dur_ns(self) -> Ints:
        """Of one step: the printed time, or the mean of those the row covers."""
        return unpack(self.kept_dur)

    @cached_property
    def loss(self) -> Floats:
        """The loss that each row prints."""
        return unpack(self.kept_loss)

    @cached_property
    def mfu(self) -> Floats:
        """The utilisation that each row prints, as a share."""
        percent = unpack(self.kept_mfu_pct)
        return np.where((percent > 0) & (percent < np.inf), percent / 100, np.nan)

    @cached_property
    def step(self) -> Ints:
        """The number of each row's step."""
        return unpack(self.kept_step)

    @cached_property
    def line(self) -> Ints:
        """The line of the log that each row was printed on."""
        return unpack(self.kept_line)

    def cut(self, rows: slice, first_segment: int) -> StepTable:
        """Some rows as a table of their own, from the first of a segment on."""
        own = self.first_rows[first_segment:].tolist()
        return StepTable(
            kept_step=self.step[rows],
            kept_dur=self.dur_ns[rows],
            spans=None if self.spans is None else self.spans[rows],
            kept_loss=self.loss[rows],
            kept_mfu_pct=take(self.kept_mfu_pct, rows),
            data_s=self.data_s[rows],
            work=self.work[rows],
            kept_line=self.line[rows],
            t_ns=self.t_ns[rows],
            first_rows=np.array([row - rows.start for row in own if row < rows.stop], dtype=np.int64),
            merged=None if self.merged is None else self.merged[rows],
        )

    @property
    def num_printed(self) -> int:
        """How many rows the log prints."""
        return len(self) if self.merged is None else int(self.merged.sum())

    def num_printed_of(self, rows: npt.NDArray[np.bool_]) -> int:
        """How many of the rows that the log prints are in some of these."""
        return int(rows.sum() if self.merged is None else self.merged[rows].sum())

    @property
    def seconds(self) -> Floats:
        """Seconds each row covers: its mean times its number of steps."""
        return self.dur_ns * self.span / NS

    @cached_property
    def span(self) -> Ints:
        """How many steps `dur_ns` is the mean of; 0 where the row has no time."""
        return steps_since(self.step, self.first_rows) if self.spans is None else self.spans

    @cached_property
    def segment(self) -> Ints:
        """Which segment each row belongs to."""
        if len(self.first_rows) == 1:
            return np.broadcast_to(np.int64(0), len(self))
        counts = np.diff(self.first_rows, append=len(self))
        return np.repeat(np.arange(len(self.first_rows), dtype=np.int64), counts)


def steps_since(step: Ints, first_rows: Ints) -> Ints:
    """How many steps each row is after the one before it; 1 for the first of a segment."""
    since: Ints = np.diff(step, prepend=0)
    since[first_rows] = 1
    return since


@dataclass(frozen=True, kw_only=True)
class EventTable:
    """Evaluations and checkpoints. `row` is the step row that follows the event, or len(steps) when none does yet."""

    kind: tuple[str, ...]
    step: Ints  # -1 where the line does not say
    row: Ints
    line: Ints
    t_ns: Ints
    before_ns: Ints  # timestamp of the line before the event's line: where its work began
    val_loss: Floats
    took_ns: Ints  # how long it took, where its line says so
    segment: Ints

    def __len__(self) -> int:
        return len(self.kind)

    @cached_property
    def _by_row(self) -> tuple[Ints, Ints]:
        """The events in the order of their rows, and these rows."""
        order = np.argsort(self.row, kind="stable")
        return order, self.row[order]

    def before(self, row: int) -> list[int]:
        """The events of one row, by their indices. Asked for row by row, it searches and looks through nothing."""
        if not self.kind:
            return []
        order, rows = self._by_row
        first, last = np.searchsorted(rows, (row, row + 1)).tolist()
        found: list[int] = order[first:last].tolist()
        return found

    def cut(self, first_row: int, first_segment: int, last_segment: int) -> EventTable:
        """The events of some segments, whose rows and segments count from 0."""
        own = np.flatnonzero((self.segment >= first_segment) & (self.segment <= last_segment))
        return EventTable(
            kind=tuple(self.kind[index] for index in own.tolist()),
            step=self.step[own],
            row=np.maximum(self.row[own] - first_row, 0),
            line=self.line[own],
            t_ns=self.t_ns[own],
            before_ns=self.before_ns[own],
            val_loss=self.val_loss[own],
            took_ns=self.took_ns[own],
            segment=self.segment[own] - first_segment,
        )

    def until(self, line: int, num_segments: int) -> EventTable:
        """The events up to a line of the log."""
        own = np.flatnonzero((self.line <= line) & (self.segment < num_segments))
        return EventTable(
            kind=tuple(self.kind[index] for index in own.tolist()),
            step=self.step[own],
            row=self.row[own],
            line=self.line[own],
            t_ns=self.t_ns[own],
            before_ns=self.before_ns[own],
            val_loss=self.val_loss[own],
            took_ns=self.took_ns[own],
            segment=self.segment[own],
        )
