"""Bars and lines that count samples, not batches: Keras' before version 2.3 (`Train on 50000 samples`), OpenCLIP's.

How many samples a batch has is the least that a bar moved on by, or what the rate of a line makes of a batch's time.
Where nothing shows it, an epoch is one step.
"""

from __future__ import annotations

import math

from stepscope.lines.figures import whole
from stepscope.reading.step_line import Groups, number

_MOST_BATCHES = 1_000_000
_UNLIKE = 1.4  # the rate is that of one batch, the time a mean
_COUNTS = ("batch", "batches", "per_steps", "bar_batch", "bar_batches")


class SampleBars:
    """Makes batches of samples, in the lines of a bar that counts those."""

    def __init__(self) -> None:
        self._samples: int | None = None  # of an epoch
        self._least: int | None = None
        self._last = 0
        self._each: int | None = None  # samples of a batch, once a line was read with it

    def see(self, groups: Groups) -> None:
        """A line that may say how many samples an epoch has, or how far its bar is."""
        self._samples = whole(groups.get("epoch_samples")) or self._samples
        done = whole(groups.get("bar_batch"))
        if not self._samples or done is None or whole(groups.get("bar_batches")) != self._samples:
            return
        moved, self._last = done - self._last if done > self._last else done, done
        if moved > 0:
            self._least = min(moved, self._least or moved)

    def take(self, groups: Groups) -> Groups:
        """The line with batches in the place of samples."""
        if groups.get("of_samples"):
            return groups | self._of_line(groups)
        of = whole(groups.get("batches") or groups.get("bar_batches"))
        if not self._samples or of != self._samples:
            return groups
        each = self._each = self._each or self._least or self._samples
        found: Groups = {name: str(-(-(whole(groups[name]) or 0) // each)) for name in _COUNTS if groups.get(name)}
        if groups.get("dur_ms") and not groups.get("per_steps"):
            found["dur_ms"] = repr(float(groups["dur_ms"] or 0) * each)  # the mean of a sample
        return groups | found

    def _of_line(self, groups: Groups) -> Groups:
        done, of = whole(groups.get("done_samples")), whole(groups.get("of_samples"))
        own = (number(groups.get("batch_samples_per_s")) or 0.0) * (number(groups.get("dur_s")) or 0.0)
        if not done or not of or not 0 < own < math.inf:
            return {}
        self._each = self._each or _batch_size(done, own)
        return {"batch": str(round(done / self._each)), "batches": str(max(1, of // self._each))}


def _batch_size(done: int, like: float) -> int:
    """The samples of a batch: about as many as rate and time make of it, and a whole part of those that are done."""
    about = min(done / like, _MOST_BATCHES)
    near = range(max(1, math.floor(about / _UNLIKE)), math.ceil(about * _UNLIKE) + 1)
    parts = [num for num in near if done % num == 0]
    return max(1, done // min(parts or [max(1, round(about))], key=lambda num: abs(math.log(num / about))))
