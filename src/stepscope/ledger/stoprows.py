"""Rows whose time holds an evaluation, a save or both: what of it was which."""

from __future__ import annotations

import numpy as np

from stepscope.ledger.phases import Basis, Part, Phase
from stepscope.ledger.pricing import FIRST_TOUCH
from stepscope.ledger.slowrows import SlowRows
from stepscope.ledger.stamps import StampedEvaluation
from stepscope.ledger.work import Work
from stepscope.stops import Stop

# Printing a line (and wandb, and a flush) takes up to this long and is inside the next step's time.
LOG_LINE_S = 0.004
# A step beside an evaluation may be this much off its neighbours' level, all of them in the same direction.
_BESIDE = 0.05
# An evaluation that takes this many times what others did holds something else as well.
_ODD_EVALUATION = 3.0
_NOTHING = (0.0, 0.0, 0.0)


class StopRows:
    """Books the rows that hold a stop."""

    def __init__(self, work: Work, slow: SlowRows) -> None:
        self.work = work
        self.books, self.pricing, self.stamps = work.books, work.pricing, work.stamps
        self.baseline, self.timed = work.baseline, work.timed
        self._slow = slow

    def add(self, row: int, stop: Stop) -> None:
        """Book one row and the stop it holds."""
        stamped = self.stamps.evaluations.get(stop.line) if self.stamps else None
        if stamped is not None:
            self._add_stamped(row, stamped)
            return
        around = self.pricing.row(row)
        step_s = min(around.level_s, around.total_s)
        self.books.book(row, "step", step_s, "inferred", sd=around.jitter_s)
        self.books["step"].down += _BESIDE * around.one_s
        self.books["step"].up += _BESIDE * around.one_s
        self.books["step"].num += around.span - 1
        excess = self._without_printed(row, stop, around.total_s - step_s)
        save = _NOTHING
        if stop.saved and stop.save_inside and stop.save_took_s is None:
            save = self.pricing.save_at(around.one_s)
        if stop.evaluation_took_s is not None or not (stop.evaluated and stop.evaluation_inside):
            self._split_save_only(row, excess, save)
        elif self.pricing.starts_process(row):
            self._split_first(row, excess, save)
        else:
            self._split_later(row, excess, save)

    def _without_printed(self, row: int, stop: Stop, excess: float) -> float:
        """Book what the lines themselves say an evaluation or a save took; give back the rest of the excess."""
        if stop.evaluated and stop.evaluation_inside and stop.evaluation_took_s is not None:
            self.books.book(row, "evaluation", min(stop.evaluation_took_s, max(excess, 0.0)), "measured")
            excess = max(0.0, excess - stop.evaluation_took_s)
        if stop.saved and stop.save_inside and stop.save_took_s is not None:
            self.books.book(row, "checkpoint", min(stop.save_took_s, max(excess, 0.0)), "measured")
            excess = max(0.0, excess - stop.save_took_s)
        return excess

    def _split_save_only(self, row: int, excess: float, save: tuple[float, float, float]) -> None:
        """No evaluation to share with: what is above the level is the save, start-up, or unexplained."""
        around = self.pricing.row(row)
        if self.pricing.starts_process(row):
            self.books.book(row, "warmup", excess, "inferred", sd=around.jitter_s)
        elif save[1]:
            self.books.book(row, "checkpoint", excess, "inferred", sd=around.jitter_s)
        elif self.baseline.slow[row] and excess > around.one_s:
            self._slow.add_stall(row, excess)
        else:
            self.books["step"].add(excess, "measured", num=0)
            self._note(row, "step", excess, (excess, excess), "measured")

    def _split_later(self, row: int, excess: float, save: tuple[float, float, float]) -> None:
        """Evaluation is what the save leaves: the sum is known, only the border between them is not."""
        around = self.pricing.row(row)
        _, middle, most = self.pricing.evaluation_at(around.one_s)
        expected = middle + save[1]
        if len(self.timed) > 3 and excess > _ODD_EVALUATION * max(expected, most + save[1]):
            self._slow.add_stall(row, excess - expected)
            excess = expected
        low, save_s, high = (min(seconds, excess) for seconds in save)
        evaluation_s = excess - save_s
        basis, shift = self.pricing.basis, _BESIDE * around.one_s
        self.books["evaluation"].add(
            evaluation_s, basis, sd=around.jitter_s, down=high - save_s + shift, up=save_s - low + shift
        )
        doubt = self.books.z * around.jitter_s
        self._note(row, "evaluation", evaluation_s, (excess - high - doubt, excess - low + doubt), basis)
        if save[1]:
            self.books["checkpoint"].add(save_s, basis, down=save_s - low, up=high - save_s)
            self._note(row, "checkpoint", save_s, (low, high), basis)

    def _split_first(self, row: int, excess: float, save: tuple[float, float, float]) -> None:
        """The first step of a process: evaluation at the price it has elsewhere, the rest is warm-up."""
        around, pricing = self.pricing.row(row), self.pricing
        if pricing.eager_cpu:
            least, middle, most = (share * around.one_s for share in FIRST_TOUCH)
            evaluation_s = max(0.0, excess - middle - save[1])
            low, high = excess - most - save[2], excess - least - save[0]
            basis: Basis = "inferred"
            # What we call first touch is a slow first step: nothing in the log says which.
            self.books["step"].up += most
        else:
            least, middle, most = pricing.evaluation_at(around.one_s)
            swing = 1 + self.books.z * pricing.scatter
            evaluation_s = min(middle, max(0.0, excess - save[1]))
            low, high = least / swing, min(most * swing, excess)
            basis = pricing.basis if pricing.has_later_evaluation else "assumed"
        low, high = max(0.0, min(low, evaluation_s)), max(high, evaluation_s)
        down, up = evaluation_s - low, high - evaluation_s
        save_s = min(save[1], max(0.0, excess - evaluation_s))
        warm_s = max(0.0, excess - evaluation_s - save_s)
        self.books["evaluation"].add(evaluation_s, basis, sd=around.jitter_s, down=down, up=up)
        self._note(row, "evaluation", evaluation_s, (low, high), basis)
        if save[1]:
            self.books["checkpoint"].add(save_s, basis, down=max(0.0, save_s - save[0]), up=save[2] - save_s)
            self._note(row, "checkpoint", save_s, (save[0], save[2]), basis)
        self.books["warmup"].add(warm_s, basis, sd=around.jitter_s, down=up, up=down)
        self._note(row, "warmup", warm_s, (warm_s - up, warm_s + down), basis)

    def _add_stamped(self, row: int, stamped: StampedEvaluation) -> None:
        """Stamps before and after: evaluation is measured; the end of a save prints nothing, so save + step is."""
        around, tick = self.pricing.row(row), stamped.uncertainty_s
        basis: Basis = "measured" if stamped.exact else "inferred"
        # The line before was still being written when the evaluation's clock began.
        early = min(LOG_LINE_S, 0.05 * stamped.seconds) + 0.002 * stamped.seconds
        self.books["evaluation"].add(stamped.seconds, basis, sd=tick, down=early, up=0.002 * stamped.seconds)
        span = (stamped.seconds - early - 2 * tick, stamped.seconds + 2 * tick)
        self._note(row, "evaluation", stamped.seconds, span, basis)
        rest = around.total_s - stamped.seconds
        if self.pricing.starts_process(row) and stamped.rest_s is not None:
            warm_s = max(0.0, rest - stamped.rest_s)
            if warm_s > tick:
                self.books.book(row, "warmup", warm_s, basis, sd=tick)
                rest -= warm_s
        if stamped.saved:
            # The step inside is one draw: its neighbours' level is off by their spread and, beside a save, more.
            save_s = max(0.0, rest - around.level_s)
            sd = float(np.hypot(max(around.jitter_s, tick), 0.12 * around.level_s))
            self.books.book(row, "checkpoint", save_s, "inferred", sd=sd)
            self.pricing.note_save(save_s, sd)
            self.books["checkpoint"].down += 0.06 * around.level_s
            self.books["checkpoint"].up += 0.06 * around.level_s
            rest -= save_s
        self.books.book(row, "step", rest, basis, sd=max(tick, around.jitter_s if stamped.saved else 0.0))

    def _note(self, row: int, phase: Phase, seconds: float, span: tuple[float, float], basis: Basis) -> None:
        self.books.note(row, Part(phase=phase, seconds=seconds, low_s=span[0], high_s=span[1], basis=basis))
