"""Slow rows without an evaluation or a checkpoint: what made them slow, as far as the log shows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepscope.core.units import NS
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.bookkeeping import Attribution
from stepscope.ledger.data_waits import printed_waits, usual_wait_s
from stepscope.ledger.first_window import is_run_start, noise_share
from stepscope.ledger.neighbours import AmongNeighbours, ManyAmongNeighbours
from stepscope.ledger.slow import waits_outside_clock
from stepscope.run.model import NO_TIME, Ints, Run

# Warm-up lasts until three normal rows in a row, and no longer than this many rows.
_CALM_ROWS = 3
_MAX_WARMUP_ROWS = 50
# A first step waits a little longer than others in any case; this many times as long is worth a word.
_NOTABLE = 1.0


class SlowRows:
    """Books the rows that are slow for another reason than a stop."""

    def __init__(self, work: Attribution) -> None:
        self.run, self.books = work.run, work.books
        self.pricing, self.baseline = work.pricing, work.baseline
        self._noise = noise_share(work.run, work.baseline)
        self._waits_outside_clock = waits_outside_clock(work.run)
        self._waits = printed_waits(work.run)
        self._usual_wait_s = 0.0 if self._waits is None else usual_wait_s(self._waits, work.baseline.normal)

    def add_all(self, rows: Ints) -> None:
        """Slow rows without an evaluation: warm-up at the start of a process, else unexplained."""
        around = self.pricing.rows(rows)
        is_plain = self._are_plain(rows, around)
        self._add_plain(around.of(is_plain))
        for row, own in zip(rows[~is_plain].tolist(), around.of(~is_plain).each(), strict=True):
            self._add(row, own)

    def _are_plain(self, rows: Ints, around: ManyAmongNeighbours) -> npt.NDArray[np.bool_]:
        """Which rows are as quick as their neighbours: the first of a process, mostly. Nobody asks for their parts."""
        asked = self.baseline.slow.copy()
        asked[list(self._waits_outside_clock)] = True
        before = self.run.events.row
        asked[before[before < len(asked)]] = True
        return ~asked[rows] & (around.total_s - around.level_s <= self._noise * around.level_s)

    def _add_plain(self, around: ManyAmongNeighbours) -> None:
        level_s = np.minimum(around.level_s, around.total_s)
        step = self.books["step"]
        step.add_many(level_s, "inferred", sd=around.jitter_s, num=int(around.span.sum()))
        step.add_many(around.total_s - level_s, "measured", num=0)

    def _add(self, row: int, around: AmongNeighbours) -> None:
        step_s = min(around.level_s, around.total_s)
        self.books.book(row, "step", step_s, "inferred", sd=around.jitter_s)
        self.books["step"].num += around.span - 1
        excess = self._without_events(row, around.total_s - step_s)
        if excess <= 0:
            return
        if not self.baseline.slow[row] and excess <= self._noise * around.level_s:
            self.books.book(row, "step", excess, "measured", num=0)
        elif is_warmup(self.run, self.baseline, row):
            waited = min(self._waited_longer(row), excess)
            if waited > 0:
                self.books.book(row, "data", waited, "measured")
                excess -= waited
            self.books.book(row, "warmup", excess, "inferred", sd=around.jitter_s)
        else:
            self.add_stall(row, excess)

    def _waited_longer(self, row: int) -> float:
        """Seconds that the row waited for data beyond what is usual, as it says itself."""
        if self._waits is None or not np.isfinite(self._waits[row]):
            return 0.0
        usual = self._usual_wait_s
        more = max(0.0, float(self._waits[row]) - usual) * int(self.run.steps.span[row])
        return more if more > _NOTABLE * usual * int(self.run.steps.span[row]) else 0.0

    def _without_events(self, row: int, excess: float) -> float:
        """Book what garbage collection or data lines before this row say they took; give back the rest."""
        events = self.run.events
        for index in events.before(row):
            if events.took_ns[index] == NO_TIME:
                continue
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


def is_warmup(run: Run, baseline: Baseline, row: int) -> bool:
    """Whether a row is among the first of a process, before it calmed down."""
    segment = run.segments[int(run.steps.segment[row])]
    begins = segment.fresh or (segment.first_row == 0 and is_run_start(run))
    if not begins or row - segment.first_row >= _MAX_WARMUP_ROWS:
        return False
    calm = 0
    for other in range(segment.first_row + 1, row):
        calm = calm + 1 if baseline.normal[other] else 0
        if calm >= _CALM_ROWS:
            return False
    return True
