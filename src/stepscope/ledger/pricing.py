"""What one evaluation and one save cost in this run, and how well the log tells them apart.

`prices.py` holds the statistics; here is what goes into them from a run, and what comes out for the ledger.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.ledger import priors
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.phases import Basis, Price, Split
from stepscope.ledger.prices import Excess, infer_prices
from stepscope.ledger.stamps import StampEvidence
from stepscope.run import Run
from stepscope.stops import Stop
from stepscope.units import NS

# The first step of a process is slower than the next ones even without compiling: first touch of memory.
FIRST_TOUCH = (0.0, 0.3, 1.0)  # in steps: low, middle, high
# The first evaluation of a process runs on cold caches: this many times a later one, give or take.
_FIRST_EVALUATION = (1.15, 0.25)
_NOTHING = (0.0, 0.0, 0.0)


class Row(NamedTuple):
    """A printed row seen against its neighbours: its seconds, what theirs would make of it, and how much that varies.

    `one_s` is the neighbours' level of one step; a row may stand for `span` of them.
    """

    total_s: float
    level_s: float
    jitter_s: float
    one_s: float
    span: int


class Pricing:
    """The prices of a run's events. Without any timed evaluation every price is zero and `is_known` is False."""

    def __init__(
        self,
        run: Run,
        stops: list[Stop],
        baseline: Baseline,
        stamps: StampEvidence | None,
        *,
        confidence: float,
    ) -> None:
        self._run = run
        self._stops = stops
        self._baseline = baseline
        self._stamps = stamps
        # On a CPU without compile, start-up is over before the first evaluation begins.
        self.eager_cpu = run.settings.truth("compile") is False and run.settings.text("device") == "cpu"
        excesses = [excess for stop in stops if (excess := self._excess(stop)) is not None and excess.level_s > 0]
        self._prior = priors.evaluation_steps(run.settings, run.format)
        self._posterior = infer_prices(
            excesses,
            evaluation=self._prior,
            save=priors.checkpoint_seconds(run.settings, run.format),
            confidence=confidence,
        )
        self._stamped_saves: list[float] = []
        self.split = self._how_split()
        self._typical = self._typical_evaluation(excesses)

    @property
    def scatter(self) -> float:
        """How much single evaluations differ from each other, as a share."""
        return self._posterior.scatter if self._posterior else 0.0

    @property
    def basis(self) -> Basis:
        """What the border between evaluation and save rests on."""
        return "assumed" if self.split in {"model", "guess"} else "inferred"

    def row(self, index: int) -> Row:
        """A row and its neighbourhood."""
        span, level = int(self._run.steps.span[index]), float(self._baseline.level[index])
        return Row(
            total_s=float(self._run.steps.dur_ns[index] * span / NS),
            level_s=level * span,
            jitter_s=float(self._baseline.jitter[index]) * span,
            one_s=level,
            span=span,
        )

    def starts_process(self, row: int) -> bool:
        """Whether a row is the first of a process, compile and all."""
        segment = self._run.segments[int(self._run.steps.segment[row])]
        return segment.fresh and row == segment.first_row

    @property
    def has_later_evaluation(self) -> bool:
        """Whether any evaluation was timed that start-up is not part of."""
        return any(s.row is not None and s.evaluated and not self.starts_process(s.row) for s in self._stops)

    def evaluation_at(self, level_s: float) -> tuple[float, float, float]:
        """Low, middle and high of an evaluation at a step level."""
        if self._posterior is None:
            return _NOTHING
        factor = self._posterior.factor(level_s)
        low, _, high = self._posterior.evaluation_s
        return low * factor, self._typical * factor, high * factor

    def save_at(self, level_s: float) -> tuple[float, float, float]:
        """Low, middle and high of a save at a step level."""
        return self._posterior.save_at(level_s) if self._posterior else _NOTHING

    def evaluation_price(self) -> Price | None:
        """What an evaluation costs at the end of the log."""
        stamped = self._stamps.typical("evaluation") if self._stamps else None
        if stamped is not None:
            return Price(seconds=stamped[1], low_s=stamped[0], high_s=stamped[2], basis="measured")
        if self._posterior is None:
            return None
        low, middle, high = self.evaluation_at(self._recent_level())
        return Price(seconds=middle, low_s=low, high_s=high, basis=self.basis)

    def checkpoint_price(self) -> Price | None:
        """What a save costs at the end of the log; None when nothing was saved, or the clock stops for it."""
        stamped = self._stamps.typical("checkpoint") if self._stamps else None
        printed = [s.save_took_s for s in self._stops if s.save_took_s is not None]
        if stamped is not None:
            return Price(seconds=stamped[1], low_s=stamped[0], high_s=stamped[2], basis="measured")
        if len(self._stamped_saves) >= 2:
            middle = float(np.median(self._stamped_saves))
            return Price(
                seconds=middle, low_s=min(self._stamped_saves), high_s=max(self._stamped_saves), basis="inferred"
            )
        if printed:
            return Price(seconds=float(np.median(printed)), low_s=min(printed), high_s=max(printed), basis="measured")
        if self._posterior is None or not any(s.saved for s in self._stops):
            return None
        low, middle, high = self.save_at(self._recent_level())
        return Price(seconds=middle, low_s=low, high_s=high, basis=self.basis)

    def note_save(self, seconds: float, sd: float) -> None:
        """Remember what stamps say a save took, where they say it better than a coin toss would."""
        if sd < max(seconds, 0.0):
            self._stamped_saves.append(seconds)

    def _recent_level(self) -> float:
        normal = self._run.steps.dur_ns[self._baseline.normal]
        return float(np.median(normal[-100:]) / NS) if len(normal) else float(self._baseline.level[-1])

    def _excess(self, stop: Stop) -> Excess | None:
        if stop.row is None or not stop.evaluated or not stop.evaluation_inside:
            return None
        row = self.row(stop.row)
        seconds, jitter = row.total_s - row.level_s, row.jitter_s
        saved = stop.saved and stop.save_inside
        if saved and stop.save_took_s is not None:
            seconds, saved = seconds - stop.save_took_s, False
        first = self.starts_process(stop.row)
        if first and self.eager_cpu:
            seconds = (seconds - FIRST_TOUCH[1] * row.one_s) / _FIRST_EVALUATION[0]
            touch = FIRST_TOUCH[1] * row.one_s
            jitter = float(np.sqrt(jitter**2 + touch**2 + (_FIRST_EVALUATION[1] * max(seconds, 0.0)) ** 2))
        return Excess(
            seconds=seconds, level_s=row.one_s, jitter_s=jitter, saved=saved, at_most=first and not self.eager_cpu
        )

    def _typical_evaluation(self, excesses: list[Excess]) -> float:
        """An evaluation at the reference level: what later ones leave after their saves, else the middle."""
        price = self._posterior
        if price is None:
            return 0.0
        left = [
            (e.seconds - (price.save_at(e.level_s)[1] if e.saved else 0.0)) / price.factor(e.level_s)
            for e in excesses
            if not e.at_most
        ]
        low, middle, high = price.evaluation_s
        return min(max(float(np.median(left)), low), high) if left else middle

    def _how_split(self) -> Split:
        if self._stamps is not None and self._stamps.evaluations:
            return "stamps"
        timed = [s for s in self._stops if s.row is not None and s.evaluated]
        later = [s for s in timed if s.row is not None and not self.starts_process(s.row)]
        if not any(s.saved and s.evaluated for s in self._stops):
            return "none"
        if sum(not s.saved for s in later) >= 2 and sum(s.saved for s in later) >= 2:
            return "contrast"
        if self.eager_cpu and any(not s.saved for s in timed):
            return "first-step"
        return "guess" if self._prior is None else "model"
