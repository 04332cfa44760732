"""Slow rows without an evaluation or a checkpoint: what made them slow, as far as the log shows."""

from __future__ import annotations

import numpy as np

from stepscope.core.units import NS
from stepscope.ledger.bookkeeping import Attribution
from stepscope.ledger.slow import waits_outside_clock
from stepscope.run.model import NO_TIME

# Warm-up lasts until three normal rows in a row, and no longer than this many rows.
_CALM_ROWS = 3
_MAX_WARMUP_ROWS = 50


class SlowRows:
    """Books the rows that are slow for another reason than a stop."""

    def __init__(self, work: Attribution) -> None:
        self.run, self.books = work.run, work.books
        self.pricing, self.baseline = work.pricing, work.baseline
        self._waits_outside_clock = waits_outside_clock(work.run)

    def add(self, row: int) -> None:
        """A slow row without an evaluation: warm-up at the start of a process, else unexplained."""
        around = self.pricing.row(row)
        step_s = min(around.level_s, around.total_s)
        self.books.book(row, "step", step_s, "inferred", sd=around.jitter_s)
        self.books["step"].num += around.span - 1
        excess = self._without_events(row, around.total_s - step_s)
        if excess <= 0:
            return
        if self._is_warmup(row):
            self.books.book(row, "warmup", excess, "inferred", sd=around.jitter_s)
        else:
            self.add_stall(row, excess)

    def _without_events(self, row: int, excess: float) -> float:
        """Book what garbage collection or data lines before this row say they took; give back the rest."""
        events = self.run.events
        for index in np.flatnonzero((events.row == row) & (events.took_ns != NO_TIME)).tolist():
            phase = events.kind[index]
            took = min(int(events.took_ns[index]) / NS, excess)
            if phase == "data" and row in self._waits_outside_clock:
                continue
            if phase in {"gc", "data"} and took > 0:
                self.books.book(row, "gc" if phase == "gc" else "data", took, "measured")
                excess -= took
        return excess

    def add_stall(self, row: int, seconds: float) -> None:
        """Book seconds of a row that nothing in the log explains."""
        self.books.book(row, "stall", seconds, "measured", sd=float(self.baseline.jitter[row]))
        # No line says that these seconds were not simply a slow step.
        self.books["step"].either(seconds)

    def _is_warmup(self, row: int) -> bool:
        """Among the first rows of a process, before it calmed down."""
        segment = self.run.segments[int(self.run.steps.segment[row])]
        if not segment.fresh or row - segment.first_row >= _MAX_WARMUP_ROWS:
            return False
        calm = 0
        for other in range(segment.first_row + 1, row):
            calm = calm + 1 if self.baseline.normal[other] else 0
            if calm >= _CALM_ROWS:
                return False
        return True
