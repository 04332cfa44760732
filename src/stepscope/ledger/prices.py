"""What one evaluation and one checkpoint cost in this run, and how well the log separates them.

`posterior.py` holds the statistics; here is what goes into them from a run, and what comes out for the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger import priors
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.neighbours import AmongNeighbours, ManyAmongNeighbours, Neighbours
from stepscope.ledger.phases import Basis, Price, Split
from stepscope.ledger.posterior import CostReading, infer_prices
from stepscope.ledger.timestamps import StampEvidence
from stepscope.run.model import Ints, Run
from stepscope.run.stops import Stop

# The first step of a process is slower than the next ones even without compiling: first touch of memory.
FIRST_TOUCH = (0.0, 0.3, 1.0)  # in steps: low, middle, high
# The first evaluation of a process runs on cold caches: this many times a later one, give or take.
_FIRST_EVALUATION = (1.15, 0.3)
_AT_90 = 1.645  # standard deviations in half an interval of 90 %
_WAKES_AT_ONCE = {"cpu", "mps"}
# With this many other readings, the first evaluation of a process is warm-up and says nothing more.
_ENOUGH_OTHERS = 3
_NOTHING = (0.0, 0.0, 0.0)


class Pricing:
    """The prices of a run's events. Without any timed evaluation every price is zero and `is_known` is False."""

    def __init__(
        self,
        run: Run,
        stops: Sequence[Stop],
        baseline: Baseline,
        stamps: StampEvidence | None,
        *,
        confidence: float,
    ) -> None:
        self._run = run
        self._stops = stops
        self._baseline = baseline
        self._stamps = stamps
        self._neighbours = Neighbours(run, baseline)
        # Without compile, and where no GPU has to wake up, start-up is over before the first evaluation begins.
        self.eager = run.settings.truth("compile") is False and run.settings.text("device") in _WAKES_AT_ONCE
        readings = _without_first(
            [reading for stop in stops for reading in self._readings(stop) if reading.level_s > 0]
        )
        self._prior = priors.evaluation_steps(run.settings, run.format)
        self._posterior = infer_prices(
            readings,
            evaluation=self._prior or priors.any_evaluation_steps(run.format),
            save=priors.checkpoint_seconds(run.settings, run.format, level_s=float(median(baseline.level))),
            confidence=confidence,
        )
        self.split = self._how_split()
        self._typical = self._typical_evaluation(readings)

    @property
    def scatter(self) -> float:
        """How much single evaluations differ from each other, as a share."""
        return self._posterior.scatter if self._posterior else 0.0

    @property
    def basis(self) -> Basis:
        """What the border between evaluation and checkpoint rests on."""
        return "assumed" if self.split in {"model", "guess"} else "inferred"

    def rows(self, rows: Ints) -> ManyAmongNeighbours:
        """Many rows, and the neighbourhood of each."""
        return self._neighbours.rows(rows)

    def stop_row(self, index: int) -> AmongNeighbours:
        """A row that holds a stop, and its neighbourhood."""
        return self._neighbours.after_stop(index)

    def starts_process(self, row: int) -> bool:
        """Whether a row is the first of a process, compile and all."""
        segment = self._run.segments[int(self._run.steps.segment[row])]
        return segment.fresh and row == segment.first_row

    def is_first_later(self, row: int) -> bool:
        """Whether a row holds the first evaluation after a process's first step, with enough others to compare."""
        return len(self._later) > _ENOUGH_OTHERS and row == self._later[0]

    @cached_property
    def _later(self) -> list[int]:
        """The rows of evaluations that no process begins with."""
        return [s.row for s in self._stops if s.row is not None and s.evaluated and not self.starts_process(s.row)]

    @cached_property
    def around_printed_s(self) -> float:
        """What evaluations that print their own time usually take beyond it."""
        left = []
        for stop in self._stops:
            if (
                stop.row is not None
                and stop.evaluated
                and stop.evaluation_inside
                and stop.evaluation_took_s is not None
            ):
                row = self.stop_row(stop.row)
                left.append(row.total_s - row.level_s - stop.evaluation_took_s - (stop.save_took_s or 0.0))
        return max(0.0, float(median(left))) if left else 0.0

    @property
    def has_later_evaluation(self) -> bool:
        """Whether any evaluation was timed that start-up is not part of."""
        return bool(self._later)

    def evaluation_at(self, level_s: float) -> tuple[float, float, float]:
        """Low, middle and high of an evaluation at a step level."""
        if self._posterior is None:
            return _NOTHING
        factor = self._posterior.factor(level_s)
        low, _, high = self._posterior.evaluation_s
        return low * factor, self._typical * factor, high * factor

    def save_at(self, level_s: float) -> tuple[float, float, float]:
        """Low, middle and high of a checkpoint at a step level."""
        return self._posterior.save_at(level_s) if self._posterior else _NOTHING

    def evaluation_price(self) -> Price | None:
        """What an evaluation costs at the end of the log."""
        stamped = self._stamps.typical("evaluation") if self._stamps else None
        if stamped is not None:
            return Price(seconds=stamped[1], low_s=stamped[0], high_s=stamped[2], basis="measured")
        printed = [
            stop.evaluation_took_s
            for stop in self._run.stops
            if stop.evaluated and not stop.evaluation_inside and stop.evaluation_took_s is not None
        ]
        if printed:
            return Price(seconds=float(median(printed)), low_s=min(printed), high_s=max(printed), basis="measured")
        if self._posterior is None:
            return None
        low, middle, high = self.evaluation_at(self._recent_level())
        return Price(seconds=middle, low_s=low, high_s=high, basis=self.basis)

    def checkpoint_price(self) -> Price | None:
        """What a checkpoint costs at the end of the log; None when nothing was saved, or the clock stops for it."""
        stamped = self._stamps.typical("checkpoint") if self._stamps else None
        printed = [s.save_took_s for s in self._run.stops if s.saved and s.save_took_s is not None]
        if printed:
            return Price(seconds=float(median(printed)), low_s=min(printed), high_s=max(printed), basis="measured")
        if stamped is not None:
            return Price(seconds=stamped[1], low_s=stamped[0], high_s=stamped[2], basis="measured")
        if self._posterior is None or not any(s.saved for s in self._stops):
            return None
        low, middle, high = self.save_at(self._recent_level())
        return Price(seconds=middle, low_s=low, high_s=high, basis=self.basis)

    def _recent_level(self) -> float:
        normal = self._run.steps.dur_ns[self._baseline.normal]
        return float(median(normal[-100:]) / NS) if len(normal) else float(self._baseline.level[-1])

    def _readings(self, stop: Stop) -> Iterator[CostReading]:
        """What one stop says about the prices: the sum of both, or each by itself where it has timestamps."""
        if not (stop.evaluated and stop.evaluation_inside):
            return
        stamped = self._stamps.evaluations.get(stop.line) if self._stamps else None
        if stop.row is None:
            if stamped is not None:
                yield CostReading(
                    seconds=stamped.seconds,
                    level_s=float(self._baseline.level[min(stop.next_row, len(self._run) - 1)]),
                    jitter_s=stamped.uncertainty_s,
                    evaluated=True,
                    saved=False,
                    at_most=False,
                    first=not stamped.later,
                )
            return
        row = self.stop_row(stop.row)
        saved = stop.saved and stop.save_inside and stop.save_took_s is None
        left = row.total_s - row.level_s - (stop.save_took_s or 0.0 if stop.save_inside else 0.0)
        first = self.starts_process(stop.row)
        jitter = float(np.hypot(row.jitter_s, (row.down_s + row.up_s) / 2 / _AT_90))
        both = CostReading(
            seconds=left,
            level_s=row.one_s,
            jitter_s=jitter,
            evaluated=True,
            saved=saved,
            at_most=False,
            first=first,
        )
        if stamped is not None:
            alone = both._replace(seconds=stamped.seconds, jitter_s=stamped.uncertainty_s, saved=False)
            yield self._cold(alone) if first else alone
            if saved and not first:
                jitter = float(np.hypot(jitter, stamped.uncertainty_s))
                yield both._replace(seconds=left - stamped.seconds, jitter_s=jitter, evaluated=False, first=False)
        elif first and self.eager:
            touch = FIRST_TOUCH[1] * row.one_s
            yield self._cold(both._replace(seconds=left - touch, jitter_s=float(np.hypot(jitter, touch))))
        else:
            yield both._replace(at_most=first)

    def _cold(self, reading: CostReading) -> CostReading:
        """What the first evaluation of a process says about later ones."""
        seconds = reading.seconds / _FIRST_EVALUATION[0]
        jitter = float(np.hypot(reading.jitter_s, _FIRST_EVALUATION[1] * max(seconds, 0.0)))
        return reading._replace(seconds=seconds, jitter_s=jitter)

    def _typical_evaluation(self, readings: list[CostReading]) -> float:
        """An evaluation at the reference level: what later ones leave after their checkpoints, else the middle."""
        price = self._posterior
        if price is None:
            return 0.0
        left = [
            (reading.seconds - (price.save_at(reading.level_s)[1] if reading.saved else 0.0))
            / price.factor(reading.level_s)
            for reading in readings
            if reading.evaluated and not reading.at_most
        ]
        low, middle, high = price.evaluation_s
        return min(max(float(median(left)), low), high) if left else middle

    def _how_split(self) -> Split:
        if self._stamps is not None and self._stamps.evaluations:
            return "stamps"
        timed = [s for s in self._stops if s.row is not None and s.evaluated]
        later = [s for s in timed if s.row is not None and not self.starts_process(s.row)]
        if not any(s.saved and s.evaluated for s in self._stops):
            return "none"
        if sum(not s.saved for s in later) >= 2 and sum(s.saved for s in later) >= 2:
            return "contrast"
        if self.eager and any(not s.saved for s in timed):
            return "first-step"
        return "guess" if self._prior is None else "model"


def _without_first(readings: list[CostReading]) -> list[CostReading]:
    """The readings without those of a process's first step, where later ones are enough."""
    later = [reading for reading in readings if not reading.first]
    enough = sum(reading.evaluated and not reading.saved for reading in later) >= _ENOUGH_OTHERS
    return later if enough else readings
