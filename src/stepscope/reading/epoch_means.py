"""Collects the means that an epoch's lines print beside each figure: the last of an epoch has all of its steps."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from stepscope.columns.decimals import take, unpack
from stepscope.core.units import NS
from stepscope.lines.figures import whole
from stepscope.reading.row_batch import RowBatch
from stepscope.reading.step_line import number
from stepscope.run.epoch_means import EpochMean, sound
from stepscope.run.tables import Ints

MEAN, DATA_MEAN = "mean_s", "data_mean_s"


def tick_of(text: str) -> float:
    """The last digit of a printed number."""
    return 10.0 ** -len(text.partition(".")[2]) if "e" not in text else 0.0


class EpochMeans:
    """The newest mean of each epoch so far."""

    def __init__(self) -> None:
        self._found: list[EpochMean] = []
        self._epoch = -1
        # Whether the first row of the epoch is its first step, so that it is known what the mean holds.
        self._is_open = False
        self._step = 0

    def note(self, groups: Mapping[str, str | None], row: int, step: int) -> None:
        """Take what the line of a row says."""
        mean = number(groups.get(MEAN))
        if mean is None:
            return
        epoch = whole(groups.get("epoch"))
        epoch = -1 if epoch is None else epoch
        if epoch != self._epoch or step <= self._step:
            self._begin(epoch, row, is_first=number(groups.get("dur_s")) == mean)
        self._step = step
        self._take(row, mean, number(groups.get(DATA_MEAN)), tick_of(groups.get(MEAN) or ""))

    def note_many(self, rows: RowBatch, first: int, last: int, row: int) -> None:
        """Take what the lines of the rows from `first` up to `last` say, which are the run's from `row` on."""
        if rows.mean is None or rows.mean_tick is None or rows.figure is None:
            return
        at = first + np.flatnonzero(~np.isnan(rows.mean[first:last]))
        if not len(at):
            return
        step, mean = rows.step[at], rows.mean[at]
        epoch = np.full(len(at), -1) if rows.epoch is None else rows.epoch[at]
        begins = (np.diff(epoch, prepend=self._epoch) != 0) | (np.diff(step, prepend=self._step) <= 0)
        is_first = unpack(take(rows.figure, at)) == np.rint(mean * NS)
        # The last line before another epoch has all that those above it had.
        ends = np.append(np.flatnonzero(begins[1:]), len(at) - 1)
        for begin, end in zip(np.concatenate([[0], ends[:-1] + 1]).tolist(), ends.tolist(), strict=True):
            if begins[begin]:
                self._begin(int(epoch[begin]), row + int(at[begin]) - first, is_first=bool(is_first[begin]))
            wait = math.nan if rows.mean_wait is None else float(rows.mean_wait[at[end]])
            data_s = None if math.isnan(wait) else wait
            self._take(row + int(at[end]) - first, float(mean[end]), data_s, float(rows.mean_tick[at[end]]))
        self._step = int(step[-1])

    def _begin(self, epoch: int, row: int, *, is_first: bool) -> None:
        """An epoch begins with a row; the mean of one step is that step."""
        self._epoch, self._is_open = epoch, is_first
        if is_first:
            self._found.append(EpochMean(row, row, 0.0, None, 0.0))

    def _take(self, row: int, mean_s: float, data_s: float | None, tick_s: float) -> None:
        if self._is_open:
            self._found[-1] = self._found[-1]._replace(row=row, mean_s=mean_s, data_s=data_s, tick_s=tick_s)

    def of(self, steps: Ints) -> tuple[EpochMean, ...]:
        """The means of the epochs whose rows are there."""
        return sound(self._found, steps, len(steps))
