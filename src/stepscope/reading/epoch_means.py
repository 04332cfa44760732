"""Collects the means that an epoch's lines print beside each figure: the last of an epoch has all of its steps."""

from __future__ import annotations

from collections.abc import Mapping

from stepscope.reading.step_line import number
from stepscope.run.epoch_means import EpochMean, sound
from stepscope.run.tables import Ints

MEAN, DATA_MEAN = "mean_s", "data_mean_s"


class EpochMeans:
    """The newest mean of each epoch so far."""

    def __init__(self) -> None:
        self._found: list[EpochMean] = []
        self._epoch: str | None = None
        # Whether the first row of the epoch is its first step, so that it is known what the mean holds.
        self._is_open = False
        self._step = 0

    def note(self, groups: Mapping[str, str | None], row: int, step: int) -> None:
        """Take what the line of a row says."""
        mean = number(groups.get(MEAN))
        if mean is None:
            return
        if groups.get("epoch") != self._epoch or step <= self._step:
            self._epoch = groups.get("epoch")
            # The mean of one step is that step.
            self._is_open = number(groups.get("dur_s")) == mean
            if self._is_open:
                self._found.append(EpochMean(row, row, mean, None, 0.0))
        self._step = step
        if not self._is_open:
            return
        text = groups.get(MEAN) or ""
        tick_s = 10.0 ** -len(text.partition(".")[2]) if "e" not in text else 0.0
        self._found[-1] = self._found[-1]._replace(
            row=row, mean_s=mean, data_s=number(groups.get(DATA_MEAN)), tick_s=tick_s
        )

    def of(self, steps: Ints) -> tuple[EpochMean, ...]:
        """The means of the epochs whose rows are there."""
        return sound(self._found, steps, len(steps))
