"""What a cause may look at: the run with its ledger, and views of it that several causes need."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from heapq import nlargest
from typing import NamedTuple, TypeVar, cast

import numpy as np

from stepscope.causes._trend import Trend, find_trend
from stepscope.columns.statistics import distinct, median
from stepscope.core.units import NS
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.periods import Period
from stepscope.ledger.phases import Finding, Ledger, Regime, SlowStep
from stepscope.run.model import Floats, Ints, RemarkKind, Run
from stepscope.run.stops import Stop
from stepscope.source.hardware import Hardware

T = TypeVar("T")
# A block median within this share of the fitted course follows it.
_EVEN = 0.006


class Evidence:
    """Everything known of a run, before its causes are."""

    def __init__(self, *, run: Run, ledger: Ledger, baseline: Baseline, hardware: Hardware | None) -> None:
        self.run, self.ledger, self.baseline = run, ledger, baseline
        self.stops, self.hardware = run.stops, hardware
        self._answers: dict[object, object] = {}

    def once(self, question: Callable[[Evidence], T]) -> T:
        """The answer to a question about the whole run, worked out when it is first asked."""
        if question not in self._answers:
            self._answers[question] = question(self)
        return cast("T", self._answers[question])

    # -- rows ---------------------------------------------------------------------------------------------

    @cached_property
    def excess(self) -> Floats:
        """Seconds of each row above its level."""
        above: Floats = (self.run.steps.dur_ns / NS - self.baseline.level) * self.run.steps.span
        return above

    @cached_property
    def stalls(self) -> dict[int, float]:
        """The rows with seconds that no line explains, and how many."""
        found = {}
        for slow in self.ledger.slow:
            seconds = sum(part.seconds for part in slow.parts if part.phase == "stall")
            if seconds > 0:
                found[slow.row] = seconds
        return found

    @cached_property
    def _longest_stalls(self) -> list[int]:
        """The two rows with most of them, the most first."""
        return nlargest(2, self.stalls, key=self.stalls.__getitem__)

    def longest_other_stall(self, row: int) -> float:
        """Most seconds that no line explains in another row than this one; 0 where there is none."""
        return next((self.stalls[own] for own in self._longest_stalls if own != row), 0.0)

    @cached_property
    def aperiodic(self) -> Ints:
        """The unexplained rows that no comb holds, in order."""
        periodic = {row for period in self.ledger.periods.found for row in period.rows}
        return np.array(sorted(row for row in self.stalls if row not in periodic), dtype=np.int64)

    @cached_property
    def aperiodic_set(self) -> frozenset[int]:
        """The same, to ask whether a row is one of them."""
        return frozenset(self.aperiodic.tolist())

    @cached_property
    def raised(self) -> np.ndarray:
        """Rows above the noise, slow or not."""
        flags = np.zeros(len(self.run), dtype=bool)
        flags[list(self.ledger.periods.raised)] = True
        flags |= self.baseline.slow
        return flags

    def is_first(self, row: int) -> bool:
        """Whether a row is the first of its process."""
        return row == self.run.segments[int(self.run.steps.segment[row])].first_row

    # -- stops --------------------------------------------------------------------------------------------

    def row_after(self, stop: Stop) -> int:
        """The row in which the steps after a stop begin."""
        if stop.row is not None and stop.is_inside:
            return stop.row + 1
        return stop.next_row + (1 if self.run.format.layout.events_follow_step else 0)

    @cached_property
    def after_saves(self) -> Ints:
        """The first row after each checkpoint."""
        return self._distinct([self.row_after(stop) for stop in self.stops if stop.saved])

    @cached_property
    def after_evaluations(self) -> Ints:
        """The first row after each evaluation."""
        return self._distinct([self.row_after(stop) for stop in self.stops if stop.evaluated])

    def _distinct(self, rows: list[int]) -> Ints:
        return np.array(sorted({row for row in rows if row < len(self.run)}), dtype=np.int64)

    @cached_property
    def evaluating(self) -> dict[int, float]:
        """The rows that hold an evaluation, and their seconds beyond the step."""
        held = {stop.row for stop in self.stops if stop.row is not None and stop.evaluated and stop.is_inside}
        return {row: float(self.excess[row]) for row in sorted(held)}

    @cached_property
    def later_evaluations(self) -> dict[int, float]:
        """The same without the first step of a process, which holds more than an evaluation."""
        return {row: seconds for row, seconds in self.evaluating.items() if not self.is_first(row)}

    @cached_property
    def rows_evaluated_later(self) -> tuple[int, ...]:
        """The rows of those."""
        return tuple(self.later_evaluations)

    def is_near_stop(self, row: int) -> bool:
        """Whether an evaluation or a checkpoint is within a row of this one."""
        rows = self._stop_rows
        place = int(np.searchsorted(rows, row))
        return any(abs(int(rows[near]) - row) <= 1 for near in (place - 1, place) if 0 <= near < len(rows))

    @cached_property
    def _stop_rows(self) -> Ints:
        return np.array(sorted({stop.next_row for stop in self.stops}), dtype=np.int64)

    def evaluation_ratio(self, before: Regime, after: Regime) -> float | None:
        """How much longer evaluations take in one regime than in another; None where there are too few."""
        own = [
            [seconds for row, seconds in self.evaluating.items() if r.first_row <= row <= r.last_row]
            for r in (before, after)
        ]
        if not own[0] or len(own[1]) < 2 or median(own[0]) <= 0:
            return None
        return float(median(own[1]) / median(own[0]))

    # -- remarks ------------------------------------------------------------------------------------------

    @property
    def remarks(self) -> tuple[RemarkKind, ...]:
        """Unrecognised lines, by kind."""
        return tuple(kind for kind in self.run.remarks if len(kind.row))

    @cached_property
    def _by_row(self) -> dict[int, list[tuple[RemarkKind, int]]]:
        found: dict[int, list[tuple[RemarkKind, int]]] = {}
        for kind in self.remarks:
            for index, row in enumerate(kind.row.tolist()):
                found.setdefault(row, []).append((kind, index))
        return found

    def remarks_at(self, row: int) -> list[tuple[RemarkKind, int]]:
        """The unrecognised lines before a row's own, by kind."""
        return self._by_row.get(row, [])

    def text(self, line: int) -> str:
        """A line that was kept."""
        return self.run.excerpts.get(line, "")

    # -- the whole ----------------------------------------------------------------------------------------

    @cached_property
    def shape(self) -> Trend | None:
        """What the level does over the run; None when there is too little of it."""
        step = self.ledger.step
        if step is None or len(step.rows) < 24:
            return None
        return find_trend(self.run.steps.dur_ns[step.rows] / NS, self.run.steps.step[step.rows])

    @cached_property
    def is_planned(self) -> bool:
        """Whether the level changes with hardly any noise, the clock's own ticks aside: more plan than accident."""
        shape, step = self.shape, self.ledger.step
        if shape is None or step is None or step.typical_s <= 0:
            return False
        values = distinct(self.run.steps.dur_ns[step.rows])
        tick = float(np.diff(values).min()) / NS / step.typical_s if len(values) > 1 else 0.0
        return shape.noise < _EVEN + 0.5 * tick

    @cached_property
    def usual_wait_s(self) -> float:
        """What a step usually waits for its data, where rows say so."""
        waits = self.run.steps.data_s
        return float(np.nanmedian(waits)) if np.isfinite(waits).any() else 0.0

    @cached_property
    def epoch_steps(self) -> int | None:
        """How many steps an epoch has, where the log states it."""
        return self.run.settings.count("steps_per_epoch")

    @property
    def is_compiled(self) -> bool | None:
        """Whether the model is compiled; None where nothing says so."""
        return self.run.settings.truth("compile")


class Case(NamedTuple):
    """One slow step; `stall_s` are its seconds that no line explains."""

    evidence: Evidence
    slow: SlowStep
    stall_s: float
    rhythm: Finding | None = None  # the most likely cause of the comb it lies on

    @property
    def row(self) -> int:
        """The row of the step."""
        return self.slow.row

    @property
    def excess_s(self) -> float:
        """Its seconds beyond a normal step."""
        return sum(part.seconds for part in self.slow.parts if part.phase != "step")

    @property
    def waited_s(self) -> float:
        """How much longer than usual it waited for its data, as the row itself says; 0 where it says nothing."""
        waits = self.evidence.run.steps.data_s
        if not np.isfinite(waits[self.row]):
            return 0.0
        more = float(waits[self.row]) - self.evidence.usual_wait_s
        return max(0.0, more) * int(self.evidence.run.steps.span[self.row])


class Rhythmic(NamedTuple):
    """One comb, and the others found with it."""

    evidence: Evidence
    period: Period
    others: tuple[Period, ...]


class Shift(NamedTuple):
    """A change of level: the regime before, the one after, and what follows."""

    evidence: Evidence
    before: Regime
    after: Regime
    later: tuple[Regime, ...]

    @property
    def change(self) -> float:
        """By how much the level changed, as a share."""
        return self.after.typical_s / max(self.before.typical_s, 1e-12) - 1

    @property
    def returns(self) -> bool:
        """Whether a later regime is back at the level from before."""
        return any(abs(own.typical_s / max(self.before.typical_s, 1e-12) - 1) < 0.05 for own in self.later)

    @property
    def evaluations_follow(self) -> bool | None:
        """Whether evaluations changed by the same factor; None where the log does not show it."""
        ratio = self.evidence.evaluation_ratio(self.before, self.after)
        if ratio is None or abs(self.change) < 0.05:
            return None
        wanted = float(np.log1p(self.change))
        return abs(float(np.log(max(ratio, 1e-6))) - wanted) < 0.5 * abs(wanted)
