"""Rows whose time holds an evaluation, a checkpoint or both: what of it was which."""

from __future__ import annotations

import functools

import numpy as np

from stepscope.ledger.arrival_split import ArrivalSplit, following_rows, save_lines, split_row
from stepscope.ledger.bookkeeping import Attribution
from stepscope.ledger.phases import Basis, Part, Phase
from stepscope.ledger.posterior import SAVE_SCATTER
from stepscope.ledger.prices import FIRST_TOUCH
from stepscope.ledger.slow_rows import SlowRows
from stepscope.ledger.timestamps import LATE_S, StampedEvaluation
from stepscope.run.stops import Stop

# Printing a line (and wandb, and a flush) takes up to this long and is inside the next step's time.
LOG_LINE_S = 0.004
# A disturbance is this many standard deviations above what checkpoint and step usually take together.
_DISTURBED = 4.0
# Writing a line and handing it over takes this share of a step on a machine that slows everything down.
_WRITING = 0.01
# An evaluation this many times longer than usual contains something else.
_ODD_EVALUATION = 3.0
# An explanation less likely than this is left out of a 90 % interval.
_LEAST_CHANCE = 0.1
# Most of a row with an evaluation is the evaluation, so a slowdown of the row is one of the evaluation (on timed runs
# with neighbours, up to five times as long as usual). An evaluation longer than this hung, which says nothing about
# others.
_HUNG_EVALUATION = 10.0
# A checkpoint, or an evaluation, this many times longer than usual, by the arrival of the lines around it, contains
# something else; an evaluation is compared with no fewer than this many.
_ODD_SAVE, _ODD_ARRIVAL, _LEAST_USUAL = 2.0, 1.5, 2
# A checkpoint this many times longer may contain something else.
_LONG_SAVE = 1.25
# The first later evaluation, if it takes this many times what others do, compiled or touched something as well.
_RECOMPILED = 1.5
# The first evaluation of a process takes up to this many times a later one even where compiling is not counted.
_COLD = 1.05
# The printed time of an evaluation must be at least this share of the row for the rest to count as evaluation too.
_PRINTED_PART = 0.3
# What an evaluation does around the batches whose time it prints, as a share of that, where the rest is a checkpoint.
_AROUND_PRINTED = 0.05
_NOTHING = (0.0, 0.0, 0.0)


class StopRows:
    """Books the rows that hold a stop."""

    def __init__(self, work: Attribution, slow: SlowRows) -> None:
        self.work = work
        self.books, self.pricing, self.stamps = work.books, work.pricing, work.stamps
        self.baseline, self.timed = work.baseline, work.timed
        self._slow = slow
        self._follow_rows = following_rows(work.run)
        self._save_lines = save_lines(work.run, lambda row: self.pricing.stop_row(row).one_s, self._follow_rows)

    def add(self, row: int, stop: Stop) -> None:
        """Book one row and the stop it holds."""
        around = self.pricing.stop_row(row)
        self.books["step"].num += around.span - 1
        save = _NOTHING
        if stop.saved and stop.save_inside and stop.save_took_s is None:
            save = self.pricing.save_at(around.one_s)
        stamped = self.stamps.evaluations.get(stop.line) if self.stamps else None
        if stamped is not None:
            self._add_stamped(row, stamped, save)
            return
        split = self._split(row, stop)
        if split is not None and not self.pricing.starts_process(row):
            self._add_arrivals(row, stop, split)
            return
        # What the lines print is known; what a step takes there is not.
        step_s = min(around.level_s, max(0.0, around.total_s - _printed_inside_s(stop)))
        self.books.book(
            row, "step", step_s, "inferred", sd=around.jitter_s, source="after stop", down=around.down_s, up=around.up_s
        )
        excess = self._without_printed(row, stop, around.total_s - step_s)
        if not (stop.evaluated and stop.evaluation_inside):
            self._split_save_only(row, excess, save)
        elif stop.evaluation_took_s is not None:
            self._split_around_printed(row, stop.evaluation_took_s, excess, save)
        elif self.pricing.starts_process(row):
            self._split_first(row, excess, save)
        else:
            self._split_later(row, excess, save)

    def _split(self, row: int, stop: Stop) -> ArrivalSplit | None:
        one_s = self.pricing.stop_row(row).one_s
        return split_row(self.work.run, row, stop, one_s, follow_rows=self._follow_rows, ends_save=self._save_lines.end)

    @functools.cached_property
    def _usual_evaluation_s(self) -> float | None:
        """What an evaluation usually takes, by the arrivals; None where there are too few."""
        stops = [stop for stop in self.work.run.stops if stop.evaluated and stop.row is not None]
        splits = [self._split(stop.row, stop) for stop in stops if stop.row is not None]
        seconds = sorted(split.evaluation_s for split in splits if split is not None)
        # Of two, the longer one is the one that may hold something else.
        return seconds[(len(seconds) - 1) // 2] if len(seconds) >= _LEAST_USUAL else None

    def _without_pause(self, split: ArrivalSplit) -> ArrivalSplit:
        """A checkpoint that is far longer than the others may be followed by a pause of another kind."""
        usual_s = self._save_lines.usual_s
        if usual_s is None or split.checkpoint_s <= _ODD_SAVE * usual_s:
            return split
        return split._replace(checkpoint_s=usual_s, rest_s=split.rest_s + split.checkpoint_s - usual_s)

    def _doubt_long_save(self, split: ArrivalSplit) -> None:
        """What a checkpoint has beyond the others may be something after it, where its line does not end it."""
        usual_s = self._save_lines.usual_s
        if not self._save_lines.end and usual_s is not None and split.checkpoint_s > _LONG_SAVE * usual_s:
            self.books["checkpoint"].doubt("long", split.checkpoint_s - usual_s, 0.0)
            self.books["step"].either(split.checkpoint_s - usual_s)

    def _add_arrivals(self, row: int, stop: Stop, split: ArrivalSplit) -> None:
        """Lines of a recording came at the ends of its parts; only the steps among them are taken to be usual ones."""
        around, own = self.pricing.stop_row(row), split.checkpoint_s
        if stop.saved:
            split = self._without_pause(split)
            self._doubt_long_save(split)
        sd, early = around.jitter_s, min(2 * LOG_LINE_S, 0.05 * split.evaluation_s)
        if stop.evaluation_took_s is None:
            early += min(
                0.5 * around.one_s, 0.05 * split.evaluation_s
            )  # the step before it may have been a slow one, or its end be printed late
        self.books.book(
            row, "step", around.level_s, "inferred", sd=sd, source="after stop", down=around.down_s, up=around.up_s
        )
        if stop.evaluated:
            # The printed duration leaves out what comes before its first batch and after its last.
            up = 0.0 if stop.evaluation_took_s is None else _AROUND_PRINTED * split.evaluation_s
            self.books.book(
                row, "evaluation", split.evaluation_s, "measured", sd=sd, source="late", down=early, up=LATE_S + up
            )
            usual_s = self._usual_evaluation_s
            if stop.evaluation_took_s is None and usual_s and split.evaluation_s > _ODD_ARRIVAL * usual_s:
                self.books["evaluation"].doubt("odd", split.evaluation_s - usual_s, 0.0)
                self.books["step"].either(split.evaluation_s - usual_s)
            self.books["evaluation"].doubt("place", min(split.slack_s, split.evaluation_s), split.slack_s)
        if stop.saved:
            down = _AROUND_PRINTED * split.evaluation_s if stop.evaluation_took_s is not None else LATE_S
            self.books.book(
                row,
                "checkpoint",
                split.checkpoint_s,
                "measured",
                sd=sd if split.checkpoint_s == own else float(np.hypot(sd, SAVE_SCATTER * split.checkpoint_s)),
                source="after stop",
                down=around.up_s + down,
                up=around.down_s + early,
            )
        if split.rest_s > max(around.one_s, 2 * sd):
            self._slow.add_stall(row, split.rest_s)
            # No line rules out that an unprinted checkpoint, or what follows the evaluation's line, took them.
            self.books["checkpoint" if stop.saved else "evaluation"].either(split.rest_s)
        elif split.rest_s > 0:
            self.books["step"].add(split.rest_s, "measured", num=0)

    def _without_printed(self, row: int, stop: Stop, excess: float) -> float:
        """Book what the lines themselves say an evaluation or a checkpoint took; give back the rest of the excess."""
        if stop.evaluated and stop.evaluation_inside and stop.evaluation_took_s is not None:
            self.books.book(row, "evaluation", min(stop.evaluation_took_s, max(excess, 0.0)), "measured")
            excess = max(0.0, excess - stop.evaluation_took_s)
        if stop.saved and stop.save_inside and stop.save_took_s is not None:
            self.books.book(row, "checkpoint", min(stop.save_took_s, max(excess, 0.0)), "measured")
            excess = max(0.0, excess - stop.save_took_s)
        return excess

    def _split_around_printed(
        self, row: int, printed_s: float, excess: float, save: tuple[float, float, float]
    ) -> None:
        """An evaluation prints what its batches took, but loads, gathers and scores around them: that is of it, too.

        As much as is usual, and no more than the printed part warrants.
        """
        usual, around = self.pricing.around_printed_s, self.pricing.stop_row(row)
        if self.pricing.starts_process(row) or printed_s < _PRINTED_PART * (printed_s + usual):
            self._split_save_only(row, excess, save)
            return
        if excess > _ODD_EVALUATION * usual + printed_s:
            self._slow.add_stall(row, excess - usual)
            self.books["evaluation"].either(excess - usual)
            excess = usual
        low, save_s, high = (min(seconds, excess) for seconds in save)
        down, up = high - save_s, save_s - low
        self.books.book(
            row, "evaluation", excess - save_s, "inferred", sd=around.jitter_s, source="save", down=down, up=up, num=0
        )
        # No line says so: the step after it may have taken them as well.
        self.books["evaluation"].doubt("around", excess - save_s, 0.0)
        self.books["step"].doubt("around", 0.0, excess - save_s)
        if save[1]:
            self.books.book(row, "checkpoint", save_s, self.pricing.basis, source="save", down=up, up=down)

    def _split_save_only(self, row: int, excess: float, save: tuple[float, float, float]) -> None:
        """No evaluation to share with: what is above the level is the checkpoint, start-up, or unexplained."""
        around = self.pricing.stop_row(row)
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
        """Evaluation is what the checkpoint leaves: the sum is known, only the border between them is not."""
        around = self.pricing.stop_row(row)
        _, middle, most = self.pricing.evaluation_at(around.one_s)
        expected = middle + save[1]
        if self.pricing.is_first_later(row) and excess > _RECOMPILED * (most + save[2]):
            # Another shape to compile, or the first checkpoint of a process: once, and then no more.
            self.books.book(row, "warmup", excess - expected, "inferred", sd=around.jitter_s)
            self.books["evaluation"].either(excess - expected)
            excess = expected
        elif len(self.timed) > 3 and excess > _HUNG_EVALUATION * max(expected, most + save[1]):
            self._slow.add_stall(row, excess - expected)
            # No line rules out that the evaluation itself, or its checkpoint, took these seconds.
            self.books["evaluation"].either(excess - expected)
            self.books["checkpoint"].either(excess - expected if save[1] else 0.0)
            excess = expected
        elif excess > _ODD_EVALUATION * expected and around.level_s > _LEAST_CHANCE * (around.level_s + expected):
            # The step in this row is long enough to have been the disturbed part instead.
            self.books["evaluation"].doubt("odd", excess - expected, 0.0)
            self.books["step"].either(excess - expected)
        low, save_s, high = (min(seconds, max(excess, 0.0)) for seconds in save)
        # Without a checkpoint there is no border to find.
        basis: Basis = self.pricing.basis if save[1] else "inferred"
        own = SAVE_SCATTER * save_s
        sd = float(np.hypot(around.jitter_s, own))
        self.books.book(
            row, "evaluation", excess - save_s, basis, sd=sd, source="save", down=high - save_s, up=save_s - low
        )
        self.books["evaluation"].doubt("after stop", around.up_s, around.down_s)
        if save[1]:
            self.books.book(
                row, "checkpoint", save_s, basis, sd=own, source="save", down=save_s - low, up=high - save_s
            )

    def _split_first(self, row: int, excess: float, save: tuple[float, float, float]) -> None:
        """The first step of a process: evaluation at the price it has elsewhere, the rest is warm-up."""
        around, pricing = self.pricing.stop_row(row), self.pricing
        if pricing.eager:
            least, middle, most = (share * around.one_s for share in FIRST_TOUCH)
            evaluation_s = max(0.0, excess - middle - save[1])
            low, high = excess - most - save[2], excess - least - save[0]
            basis: Basis = "inferred"
            # The first touch of memory may be a slow first step: nothing in the log separates them.
            self.books["step"].either(most)
        else:
            least, middle, most = pricing.evaluation_at(around.one_s)
            swing = 1 + self.books.z * pricing.scatter
            evaluation_s = min(middle, max(0.0, excess - save[1]))
            low, high = least / swing, min(most * swing * _COLD, excess)
            basis = pricing.basis if pricing.has_later_evaluation else "assumed"
        down, up = max(0.0, evaluation_s - low), max(0.0, high - evaluation_s)
        save_s = min(save[1], max(0.0, excess - evaluation_s))
        self.books.book(row, "evaluation", evaluation_s, basis, sd=around.jitter_s, source="first", down=down, up=up)
        if save[1]:
            self.books.book(row, "checkpoint", save_s, basis, source="save", down=save_s - save[0], up=save[2] - save_s)
        warm_s = max(0.0, excess - evaluation_s - save_s)
        self.books.book(row, "warmup", warm_s, basis, sd=around.jitter_s, source="first", down=up, up=down)

    def _add_stamped(self, row: int, stamped: StampedEvaluation, save: tuple[float, float, float]) -> None:
        """Timestamps around it measure the evaluation, and the sum of checkpoint and step as no line ends one."""
        around, tick = self.pricing.stop_row(row), stamped.uncertainty_s
        basis: Basis = "measured" if stamped.exact else "inferred"
        # The line before was still being written when the evaluation's clock began.
        early = min(max(2 * LOG_LINE_S, _WRITING * around.one_s), 0.05 * stamped.seconds)
        self.books.book(row, "evaluation", stamped.seconds, basis, sd=tick, source="late", down=early, up=LATE_S)
        rest = around.total_s - stamped.seconds
        if self.pricing.starts_process(row) and rest > (1 + FIRST_TOUCH[2]) * around.level_s + save[2]:
            warm_s = rest - around.level_s - save[1]
            self.books.book(row, "warmup", warm_s, "inferred", sd=around.jitter_s)
            rest -= warm_s
        sd = tick
        if save[1]:
            # The sum of checkpoint and step is known. Which of them was longer than usual is not: each takes its share.
            jitter, own = float(np.hypot(around.jitter_s, tick)), SAVE_SCATTER * save[1]
            trust = own**2 / (own**2 + jitter**2)
            if self.pricing.starts_process(row):
                trust = 0.0  # first touch makes the step longer, by nobody knows how much
            sd = jitter * trust**0.5
            low, middle, high = ((1 - trust) * price + trust * (rest - around.level_s) for price in save)
            save_s = min(max(middle, 0.0), rest)
            # The lines themselves took time to write, and the step may be one of the slower ones after a stop.
            down, up = trust * around.up_s, trust * around.down_s
            self.books["checkpoint"].doubt("after stop", down, up)
            self.books["checkpoint"].doubt("late", LOG_LINE_S, 0.0)
            self.books["step"].doubt("after stop", up, down)
            if rest - around.level_s - save_s > _DISTURBED * jitter:
                # Too long for both: one of them was disturbed, and nothing says which.
                self.books["checkpoint"].either(rest - around.level_s - save_s)
            self.books.book(
                row, "checkpoint", save_s, "inferred", sd=sd, source="save", down=middle - low, up=high - middle
            )
            self.books["step"].doubt("save", high - middle, middle - low)
            rest -= save_s
        self.books.book(row, "step", rest, basis, sd=sd)

    def _note(self, row: int, phase: Phase, seconds: float, span: tuple[float, float], basis: Basis) -> None:
        self.books.note(row, Part(phase=phase, seconds=seconds, low_s=span[0], high_s=span[1], basis=basis))


def _printed_inside_s(stop: Stop) -> float:
    """The printed seconds of those parts of a stop that the log's clock runs during."""
    evaluation_s = stop.evaluation_took_s if stop.evaluated and stop.evaluation_inside else None
    save_s = stop.save_took_s if stop.saved and stop.save_inside else None
    return (evaluation_s or 0.0) + (save_s or 0.0)
