"""A row seen against its neighbours: what a normal step would have taken there, and how well that is known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger.baseline import Baseline
from stepscope.run.model import Floats, Ints, Run

# A spread below this share is only the rounding of the clock and the system's timer.
_LEAST_SPREAD = 0.003
_ENOUGH_ROWS = 8
_LONGEST = 3.0
_BLOCK = 1 << 12
# How much longer than its neighbours the step after an evaluation or a checkpoint takes (low, middle, high): on
# seventeen timed CPU runs -0.11 to 0.36, most where much memory was freed and fetched again. A GPU keeps its memory.
_AFTER_STOP_CPU = (-0.10, 0.03, 0.25)
_AFTER_STOP_GPU = (-0.04, 0.0, 0.06)
_AFTER_STOP_ANY = (-0.08, 0.01, 0.20)


class AmongNeighbours(NamedTuple):
    """A row's seconds, what its neighbours would make of it, and the standard deviation of that.

    `one_s` is the neighbours' level of one step; a row may cover `span` of them. `down_s` and `up_s`: how far the
    level of all such rows may be off together.
    """

    total_s: float
    level_s: float
    jitter_s: float
    one_s: float
    span: int
    down_s: float = 0.0
    up_s: float = 0.0


class ManyAmongNeighbours(NamedTuple):
    """The same of many rows, as columns: as objects they take ten times the memory."""

    total_s: Floats
    level_s: Floats
    jitter_s: Floats
    one_s: Floats
    span: Ints

    def of(self, which: npt.NDArray[np.bool_]) -> ManyAmongNeighbours:
        """Some of them."""
        return ManyAmongNeighbours._make(column[which] for column in self)

    def each(self) -> Iterator[AmongNeighbours]:
        """One by one."""
        for at in range(0, len(self.span), _BLOCK):
            block = (column[at : at + _BLOCK].tolist() for column in self)
            yield from map(AmongNeighbours._make, zip(*block, repeat(0.0), repeat(0.0)))


class Neighbours:
    """Normal steps scatter around the local level; how far, and how far their mean is above their median."""

    def __init__(self, run: Run, baseline: Baseline) -> None:
        self._run, self._baseline = run, baseline
        normal = baseline.normal & (baseline.level > 0)
        # A stall is rare: the step inside a stop is not expected to contain one.
        ratios = np.minimum(run.steps.dur_ns[normal] / NS / baseline.level[normal], _LONGEST)
        self._mean, self._spread = 1.0, 0.0
        if len(ratios) >= _ENOUGH_ROWS:
            self._mean = float(np.mean(ratios))
            self._spread = float(np.std(ratios))
        else:
            local = baseline.jitter[baseline.level > 0] / baseline.level[baseline.level > 0]
            seen = float(np.std(ratios)) if len(ratios) > 1 else 0.0
            self._spread = max(seen, float(median(local)) if len(local) else 0.0) * (1 + 2 / max(1, len(ratios)))
        self._spread = max(self._spread, _LEAST_SPREAD)

    def row(self, index: int) -> AmongNeighbours:
        """A row compared with a normal one at the same place."""
        span, level = int(self._run.steps.span[index]), float(self._baseline.level[index])
        return AmongNeighbours(
            total_s=float(self._run.steps.dur_ns[index] * span / NS),
            level_s=level * self._mean * span,
            jitter_s=level * self._spread * span,
            one_s=level,
            span=span,
        )

    def rows(self, rows: Ints) -> ManyAmongNeighbours:
        """The same of many rows."""
        steps, level = self._run.steps, self._baseline.level[rows]
        span = steps.span[rows]
        return ManyAmongNeighbours(
            total_s=steps.dur_ns[rows] * span / NS,
            level_s=level * self._mean * span,
            jitter_s=level * self._spread * span,
            one_s=level,
            span=span,
        )

    def after_stop(self, index: int) -> AmongNeighbours:
        """A row whose step follows an evaluation or a checkpoint: memory given back has to be fetched again."""
        row = self.row(index)
        device = self._run.settings.text("device")
        least, middle, most = (
            _AFTER_STOP_CPU if device == "cpu" else _AFTER_STOP_ANY if device is None else _AFTER_STOP_GPU
        )
        return row._replace(
            level_s=row.level_s + middle * row.one_s,
            down_s=(middle - least) * row.one_s,
            up_s=(most - middle) * row.one_s,
        )
