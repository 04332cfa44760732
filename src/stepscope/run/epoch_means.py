"""What an epoch's unprinted steps took, where its lines print the mean of all its steps so far.

`Time 0.334 (0.478)`: the first figure is one step in ten, the one in brackets has them all. Loaders stall at every
n-th batch, and printing waits for the GPU: the printed steps need not be like the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.run.tables import Floats, Ints, StepTable


class EpochMean(NamedTuple):
    """The mean of an epoch's steps, from the one of its first row to the one of its last."""

    first_row: int
    row: int
    mean_s: float
    data_s: float | None  # of the waits for data
    tick_s: float  # the last digit of the mean

    def moved(self, rows: int) -> EpochMean:
        """The same where so many rows before it are left out."""
        return self._replace(first_row=self.first_row - rows, row=self.row - rows)


class ByMeans(NamedTuple):
    """The seconds of the unprinted steps before each row, and which of them the means have settled."""

    gap_s: Floats
    settled: np.ndarray
    doubt_s: float  # of all that is settled, by the last digits
    data_s: float  # waits for data among what is settled


def correct_unprinted(steps: StepTable, means: tuple[EpochMean, ...], gap_s: Floats) -> ByMeans:
    """Estimates of unprinted steps, made to agree with the means of their epochs.

    The steps after an epoch's last row were like those before it, as far as anybody knows.
    """
    found, settled = gap_s.copy(), np.zeros(len(gap_s), dtype=bool)
    doubt, data_s = 0.0, 0.0
    segment, seconds, number = steps.segment, steps.seconds, steps.step
    for own in means if steps.merged is None else ():
        rows, inner = slice(own.first_row, own.row + 1), slice(own.first_row + 1, own.row + 1)
        num = int(number[own.row] - number[own.first_row]) + 1
        estimated = float(gap_s[inner].sum())
        known = num * own.mean_s - float(seconds[rows].sum())
        doubt_s = num * own.tick_s / 2
        if estimated <= 0 or known < -doubt_s:
            continue
        known = max(0.0, known)
        found[inner] *= known / estimated
        settled[inner] = True
        doubt = float(np.hypot(doubt, doubt_s))
        if own.data_s is not None:
            waits = num * own.data_s - float(np.nansum(steps.data_s[rows] * steps.span[rows]))
            data_s += min(known, max(0.0, waits))
        after = own.row + 1
        if after < len(found) and segment[after] == segment[own.row]:
            found[after] *= known / estimated
    return ByMeans(found, settled, doubt, data_s)


def placed(means: tuple[EpochMean, ...], first: int, last: int) -> tuple[EpochMean, ...]:
    """Those that lie between two rows, counted from the first of them."""
    return tuple(own.moved(first) for own in means if own.first_row >= first and own.row < last)


def sound(means: list[EpochMean], steps: Ints, num_rows: int) -> tuple[EpochMean, ...]:
    """Those whose rows are still there and go up by steps."""
    return tuple(own for own in means if own.row < num_rows and int(steps[own.row]) > int(steps[own.first_row]))
