"""What was not printed: the steps between two printed ones, and stops whose step has no line."""

from __future__ import annotations

import numpy as np

from stepscope.ledger.work import Work
from stepscope.run import Floats
from stepscope.stops import Stop


class Unprinted:
    """Books what no printed time holds, at the price it has elsewhere."""

    def __init__(self, work: Work) -> None:
        self.run, self.books, self.pricing = work.run, work.books, work.pricing
        self.baseline, self.timed, self.stops = work.baseline, work.timed, work.stops
        self.one = work.one
        self.has_silent = False  # whether steps lie between the printed ones

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
        total = float((missing * (tempered[:-1] + tempered[1:]) / 2).sum())
        normal = self.one[self.baseline.normal]
        noise = float(np.std(np.diff(normal)) / 2**0.5) if len(normal) > 2 else float(self.baseline.jitter.mean())
        # A printed row stands for the silent steps on either side of it: its error counts once for all of them.
        sd = noise * float(np.sqrt((missing.astype(float) ** 2 + missing).sum()))
        sd = float(np.hypot(sd, self.baseline.doubt * total))
        self.books["step"].add(total, "inferred", sd=sd, down=0.005 * total, up=0.005 * total, num=num)
        return sd

    def _tempered(self) -> Floats:
        """Per row, what a normal step near it takes on average: a mean of three rows, because sums need means."""
        # A step that took up to three times its level stands for unprinted ones like it; a stall stands for itself.
        slow = self.baseline.slow & (self.one <= 3 * self.baseline.level)
        slow[list(self.timed)] = False
        for segment in self.run.segments:
            if segment.fresh and segment.num_rows:
                slow[segment.first_row] = False
        seconds = np.where(self.baseline.normal, self.one, self.baseline.level)
        seconds = np.where(slow, self.one, seconds)
        if len(seconds) < 3:
            return seconds
        padded = np.concatenate([seconds[:1], seconds, seconds[-1:]])
        smooth: Floats = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
        same = np.diff(self.run.steps.segment) == 0
        inside = np.concatenate([[False], same]) & np.concatenate([same, [False]])
        return np.where(inside, smooth, seconds)

    def add_stop(self, stop: Stop) -> None:
        """A stop whose step was not printed: the price it has elsewhere. A save that ends the log is not over yet."""
        level = float(self.baseline.level[min(stop.next_row, len(self.run) - 1)])
        basis = self.pricing.basis
        if stop.evaluated and stop.evaluation_inside:
            least, middle, most = self.pricing.evaluation_at(level)
            scatter = max(0.1, self.pricing.scatter) * middle
            down, up = max(0.0, middle - least), max(0.0, most - middle)
            self.books["evaluation"].add(middle, basis, sd=scatter, down=down, up=up)
        if stop.saved and stop.save_inside and stop.next_row < len(self.run):
            low, save_s, high = self.pricing.save_at(level)
            self.books["checkpoint"].add(save_s, basis, down=save_s - low, up=high - save_s)

    def add_trailing_steps(self) -> None:
        """The log ends with an evaluation: the steps up to it were done, though none of them is printed."""
        last = int(self.run.steps.step[-1])
        trailing = [stop.step for stop in self.stops if stop.row is None and stop.next_row == len(self.run)]
        num = max(trailing, default=0) - last - 1
        if num > 0:
            level = float(self.baseline.level[-1])
            sd = float(self.baseline.jitter[-1]) * num**0.5
            self.books["step"].add(
                num * level, "inferred", sd=sd, down=0.02 * num * level, up=0.02 * num * level, num=num
            )
