"""The steps before a process's first printed row: normal steps, not start-up.

A trainer that prints every thousandth step has done a thousand when its first line comes. Only what that stretch took
beyond as many normal steps, and beyond their noise, is warm-up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger.baseline import Baseline
from stepscope.run.model import Ints, Run

# What a stretch takes beyond its steps is start-up only from this many standard deviations of normal rows on, which is
# never taken for less than this share.
_SIGMAS = 3.0
_LEAST_SPREAD = 0.003


class FirstWindow(NamedTuple):
    """Steps before the first row of a process that its own figure does not cover, and what each should take."""

    num: int
    level_s: float
    noise_s: float  # how far their sum may be off
    figure_s: float | None  # what each took by the row's own figure, where that is a mean over all of them

    def split(self, seconds: float) -> tuple[float, float]:
        """A stretch of time before the row as steps and start-up."""
        steps_s = min(seconds, self.num * self.level_s)
        rest_s = seconds - steps_s
        return (seconds, 0.0) if rest_s <= self.noise_s else (steps_s, rest_s)


_NO_STEPS = FirstWindow(0, 0.0, 0.0, None)


def first_windows(run: Run, baseline: Baseline) -> Iterator[FirstWindow]:
    """What came before the first row of each segment. The log's beginning may cut it: then fewer steps were seen."""
    noise, spacing = noise_share(run, baseline), usual_spacing(run)
    first = np.array([segment.first_row for segment in run.segments], dtype=np.int64)
    # A process has done no more steps when it prints its first row than it prints rows apart.
    begun = np.clip(_since_first(run, first), 0, spacing)
    span = run.steps.span[first]
    nums = np.maximum(0, begun - span).tolist()
    figures = (run.steps.dur_ns[first] / NS).tolist()
    is_mean = ((span > 0) & run.clock.is_per_window).tolist()
    for num, level, figure_s, has_mean in zip(nums, baseline.level[first].tolist(), figures, is_mean, strict=True):
        yield FirstWindow(num, level, noise * level * num, figure_s if has_mean else None) if num else _NO_STEPS


def noise_share(run: Run, baseline: Baseline) -> float:
    """By which share of itself a normal row may be off without anything having happened."""
    normal = baseline.normal & (baseline.level > 0)
    ratios = run.steps.dur_ns[normal] / NS / baseline.level[normal]
    spread = float(np.std(ratios)) * (1 + 2 / len(ratios)) if len(ratios) > 1 else baseline.scale
    return _SIGMAS * max(spread, _LEAST_SPREAD)


def is_run_start(run: Run) -> bool:
    """Whether the first row is the first that the trainer printed at all, by its number."""
    return bool(_since_first(run, np.zeros(1, dtype=np.int64))[0] <= usual_spacing(run))


def _since_first(run: Run, rows: Ints) -> Ints:
    since: Ints = run.steps.step[rows].astype(np.int64) - run.format.layout.first_step + 1
    return since


def usual_spacing(run: Run) -> int:
    """How many steps two rows are apart."""
    steps = run.steps
    gaps = np.diff(steps.step)[np.diff(steps.segment) == 0] if len(run) > 1 else np.zeros(0)
    gaps = gaps[gaps > 0]
    return int(median(gaps)) if len(gaps) else 1
