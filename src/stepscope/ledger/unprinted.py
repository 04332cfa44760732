"""What was not printed: the steps between two printed ones, and stops whose step has no line."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepscope.columns.statistics import median
from stepscope.ledger.bookkeeping import Attribution
from stepscope.ledger.by_total import mean_by_total
from stepscope.ledger.epochs import epoch_starts
from stepscope.ledger.outside import is_after_last_row
from stepscope.ledger.posterior import SAVE_SCATTER
from stepscope.run.epoch_means import ByMeans, correct_unprinted
from stepscope.run.model import Floats
from stepscope.run.stops import Stop

# A step that took up to this many times its level is a sample of unprinted ones like it; a longer one is a stall.
_BUSY = 3.0
# A stall longer than this many steps is an interruption: a suspended machine, a pre-empted job.
_ONE_OFF = 20.0
# The first rows of a process may still be warm-up.
_SETTLING_ROWS = 3
# Rows of every k-th print, up to this k, that take this much longer than the others.
_MOST_DRAWN, _DRAWN = 20, 1.2
# Stalls of which most are equally far apart, this many at least, are no accident.
_LEAST_GAPS, _MOSTLY = 5, 0.7
_MOSTLY_DRAWN = 0.8


class Unprinted:
    """Books what no printed time holds, at the price it has elsewhere."""

    def __init__(self, work: Attribution) -> None:
        self.run, self.books, self.pricing = work.run, work.books, work.pricing
        self.baseline, self.timed, self.stops = work.baseline, work.timed, work.stops
        self.step_s, self.stamps = work.step_s, work.stamps
        self.has_silent = False  # whether steps lie between the printed ones
        self.is_edge = np.zeros(len(work.run), dtype=bool)  # the first step of an epoch, which is always printed
        self.is_edge[epoch_starts(work.run)] = True
        merged = work.run.steps.merged
        self.is_single = np.ones(len(work.run), dtype=bool) if merged is None else merged == 1
        self._drawn: npt.NDArray[np.bool_] | None = None
        self.waits_by_means_s = 0.0  # for data, of unprinted steps that the means of their epochs tell
        self.told_s = 0.0  # all of what those took
        self.mean_s: float | None = None  # of unprinted steps, where only the run's total tells

    def add_steps(self) -> float:
        """Book every step between two printed ones at its neighbours' level; the standard error of their sum."""
        steps = self.run.steps
        if len(steps) < 2:
            return 0.0
        missing = np.maximum(np.where(np.diff(steps.segment) == 0, np.diff(steps.step) - steps.span[1:], 0), 0)
        missing = np.where(steps.span[1:] > 0, missing, 0)  # a row without a time says nothing about its neighbours
        num = int(missing.sum())
        self.has_silent = num > 0
        if not num:
            return 0.0
        tempered = self._tempered()
        around = np.where(self.is_single[1:], (tempered[:-1] + tempered[1:]) / 2, tempered[1:])
        told = correct_unprinted(steps, self.run.means, np.concatenate([[0.0], missing * around]))
        self._add_told(told, np.concatenate([[0], missing]))
        missing = np.where(told.settled[1:], 0, missing)
        total, num = float(told.gap_s[~told.settled].sum()), int(missing.sum())
        if not num:
            return told.doubt_s
        sample = self._sampled()[(self.baseline.normal | self._slow_sample()) & ~self.is_edge & self.is_single]
        noise = float(np.std(np.diff(sample)) / 2**0.5) if len(sample) > 2 else float(self.baseline.jitter.mean())
        # A printed row is the sample for the unprinted steps on either side: its error counts once for all of them.
        samples = 1 if steps.merged is None else steps.merged[1:]
        sd = noise * float(np.sqrt((missing.astype(float) ** 2 / samples + missing).sum()))
        sd = float(np.hypot(sd, max(told.doubt_s, self.baseline.doubt * total)))
        self.mean_s = mean_by_total(self.run, self.books.seconds, num=num, estimate_s=total)
        if self.mean_s is not None:
            self.books["step"].add(num * self.mean_s, "inferred", sd=sd, num=num)
            return sd
        stalls_s, stalls_sd = self._unseen_stalls(num)
        sd = float(np.hypot(sd, stalls_sd))
        self.books["step"].add(total + stalls_s, "inferred", sd=sd, num=num)
        self.books["step"].doubt("unprinted", 0.005 * total, 0.005 * total)
        return sd

    def _add_told(self, told: ByMeans, missing: npt.NDArray[np.int64]) -> None:
        """Book the unprinted steps that the means of their epochs tell."""
        self.told_s, self.waits_by_means_s = float(told.gap_s[told.settled].sum()), told.data_s
        if self.told_s > 0:
            self.books["step"].add(self.told_s, "measured", sd=told.doubt_s, num=int(missing[told.settled].sum()))

    def _unseen_stalls(self, num: int) -> tuple[float, float]:
        """What `num` unprinted steps lost to stalls like the printed ones, and the standard error of that.

        The largest may be the only one of its kind (a suspended machine), so it is not multiplied: it only widens.
        """
        rows = self.baseline.slow & ~self._slow_sample() & self._is_sample() & ~self._drawn_rows()
        excess = np.sort((self.step_s - self.baseline.level)[rows])
        if not len(excess) or _comes_with_printing(self._printed_numbers(rows)):
            return 0.0, 0.0
        ratio = num / max(1, self.run.steps.num_printed_of(self.baseline.normal | rows))
        if excess[-1] < _ONE_OFF * float(median(self.baseline.level)):
            self.books["step"].doubt("unseen", 0.0, ratio * float(excess[-1]))
        return ratio * float(excess[:-1].sum()), ratio * float(np.sqrt((excess[:-1] ** 2).sum()))

    def _is_sample(self) -> npt.NDArray[np.bool_]:
        """Rows that show what unprinted ones are like: neither a stop nor the first of a process or an epoch."""
        sample = np.ones(len(self.run), dtype=bool)
        sample[list(self.timed)] = False
        sample[self.is_edge] = False
        for segment in self.run.segments:
            if segment.fresh:
                sample[segment.first_row : segment.first_row + _SETTLING_ROWS] = False
        return sample

    def _slow_sample(self) -> npt.NDArray[np.bool_]:
        """Slow rows that are samples of unprinted ones near: up to three times the level, as on any busy machine."""
        busy: npt.NDArray[np.bool_] = self.baseline.slow & (self.step_s <= _BUSY * self.baseline.level)
        return busy & self._is_sample()

    def _sampled(self) -> Floats:
        """Per row, the seconds that steps near it take, too: all of its own, but for what printing brings with it."""
        far = self.step_s > _BUSY * float(median(self.step_s))
        far = (far & _comes_with_printing(self._printed_numbers(far))) | self._drawn_rows()
        return np.where(far, float(median(self.step_s[~far])), self.step_s) if far.any() else self.step_s

    def _drawn_rows(self) -> npt.NDArray[np.bool_]:
        """Rows of every k-th print where those, and hardly any other, take longer than the rest: also by less."""
        if self._drawn is None:
            # Where there are any, no rows are merged.
            self._drawn = every_kth(self.step_s) if self.run.steps.merged is None else np.zeros(len(self.run), bool)
        return self._drawn

    def _printed_numbers(self, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """How many rows were printed before each of these."""
        merged = self.run.steps.merged
        return np.flatnonzero(rows) if merged is None else (np.cumsum(merged) - merged)[rows]

    def _tempered(self) -> Floats:
        """Per row, what a normal step near it takes on average: a mean of three rows, because sums need means."""
        sampled = self._sampled()
        seconds = np.where(self.baseline.normal & ~self.is_edge, sampled, self.baseline.level)
        seconds = np.where(self._slow_sample(), sampled, seconds)
        if len(seconds) < 3:
            return seconds
        padded = np.concatenate([seconds[:1], seconds, seconds[-1:]])
        smooth: Floats = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
        same = np.diff(self.run.steps.segment) == 0
        inside = np.concatenate([[False], same]) & np.concatenate([same, [False]])
        return np.where(inside & self.is_single, smooth, seconds)

    def add_stop(self, stop: Stop) -> None:
        """A stop whose step was not printed, at the price of others. A checkpoint at the log's end is not over yet."""
        if self.stamps is not None and is_after_last_row(self.run, stop):
            return  # the timestamps show how long it took
        level = float(self.baseline.level[min(stop.next_row, len(self.run) - 1)])
        basis = self.pricing.basis
        stamped = self.stamps.evaluations.get(stop.line) if self.stamps else None
        # Between the line before a process's first evaluation and its loop lies some start-up, too.
        is_exact = stamped is not None and (stamped.later or not self.pricing.has_later_evaluation)
        if stamped is not None and is_exact:
            self.books["evaluation"].add(stamped.seconds, "inferred", sd=stamped.uncertainty_s)
        elif stop.evaluated and stop.evaluation_inside and stop.evaluation_took_s is not None:
            self.books["evaluation"].add(stop.evaluation_took_s, "measured")
        elif stop.evaluated and stop.evaluation_inside:
            least, middle, most = self.pricing.evaluation_at(level)
            scatter = max(0.1, self.pricing.scatter) * middle
            self.books["evaluation"].add(middle, basis, sd=scatter)
            self.books["evaluation"].doubt("evaluation", middle - least, most - middle)
        if stop.saved and stop.save_inside and stop.save_took_s is not None:
            self.books["checkpoint"].add(stop.save_took_s, "measured")
        elif stop.saved and stop.save_inside and stop.next_row < len(self.run):
            low, save_s, high = self.pricing.save_at(level)
            self.books["checkpoint"].add(save_s, basis, sd=SAVE_SCATTER * save_s)
            self.books["checkpoint"].doubt("save", save_s - low, high - save_s)

    def add_trailing_steps(self) -> None:
        """The log ends with an evaluation: the steps up to it were done, though none of them is printed."""
        self._add_unticked()
        last = int(self.run.steps.step[-1])
        trailing = [stop.step for stop in self.stops if stop.row is None and stop.next_row == len(self.run)]
        num = max(trailing, default=0) - last - 1
        if num > 0:
            level = float(self.baseline.level[-1])
            sd = float(self.baseline.jitter[-1]) * num**0.5
            self.books["step"].add(num * level, "inferred", sd=sd, num=num)
            self.books["step"].doubt("trailing", 0.02 * num * level, 0.02 * num * level)

    def _add_unticked(self) -> None:
        """The steps since a coarse running clock has moved on for the last time: they were done, too."""
        steps = self.run.steps
        ticked = np.flatnonzero(steps.span > 0)
        if not self.run.clock.is_running or len(ticked) < _LEAST_GAPS or ticked[-1] == len(steps) - 1:
            return
        if steps.segment[ticked[-1]] != steps.segment[-1]:
            return
        num = int(steps.step[-1] - steps.step[ticked[-1]])
        if num > 0:
            self.books["step"].add(num * float(self.baseline.level[-1]), "inferred", num=num)


def every_kth(seconds: Floats) -> npt.NDArray[np.bool_]:
    """Every k-th row, where nearly all of those and hardly any other take longer than the others; else none.

    They are at steps that are multiples of the printing interval: no step between two prints is one of them.
    """
    for every in range(2, min(_MOST_DRAWN, len(seconds) // _LEAST_GAPS) + 1):
        for first in range(every):
            drawn: npt.NDArray[np.bool_] = np.arange(len(seconds)) % every == first
            if _agree(seconds > _DRAWN * float(median(seconds[~drawn])), drawn):
                return drawn
    return np.zeros(len(seconds), dtype=bool)


def _agree(slow: npt.NDArray[np.bool_], drawn: npt.NDArray[np.bool_]) -> bool:
    """Whether nearly all rows that are drawn at are slow, and few others are."""
    return float(slow[drawn].mean()) >= _MOSTLY_DRAWN and float(slow[~drawn].mean()) <= 1 - _MOSTLY_DRAWN


def _comes_with_printing(rows: npt.NDArray[np.int64]) -> bool:
    """Whether these are one printed row in a fixed number: what is done there, like drawing, is done nowhere else."""
    gaps = np.diff(rows)
    if len(gaps) < _LEAST_GAPS:
        return False
    usual = int(median(gaps))
    return usual > 1 and float((gaps == usual).mean()) >= _MOSTLY
