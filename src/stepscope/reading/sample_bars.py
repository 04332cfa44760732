"""Bars that count samples, not batches, as Keras' did before version 2.3: `Train on 50000 samples`, `500/50000 [>…`.

How many samples a batch has is the least that a bar moved on by. Where no bar shows it, an epoch is one step.
"""

from __future__ import annotations

from stepscope.lines.figures import whole
from stepscope.reading.step_line import Groups

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
        of = whole(groups.get("batches") or groups.get("bar_batches"))
        if not self._samples or of != self._samples:
            return groups
        each = self._each = self._each or self._least or self._samples
        found: Groups = {name: str(-(-(whole(groups[name]) or 0) // each)) for name in _COUNTS if groups.get(name)}
        if groups.get("dur_ms") and not groups.get("per_steps"):
            found["dur_ms"] = repr(float(groups["dur_ms"] or 0) * each)  # the mean of a sample
        return groups | found
