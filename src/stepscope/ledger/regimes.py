"""Stretches of a run at different step levels, found exactly by dynamic programming on block means.

Blocks make it independent of the run's length: 2 ms for ten rows or ten million.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from stepscope.columns.statistics import median, quantiles
from stepscope.ledger.baseline import Baseline, is_coarse, typical
from stepscope.ledger.phases import Regime
from stepscope.run.model import Floats, Ints, Run

_MAX_BLOCKS = 150
_LEAST_ROWS = 24
_LEAST_BLOCKS = 3
_PENALTY = 12.0
# Levels closer than this are one level: nobody acts on 3 %.
_SAME_LEVEL = 0.03


def find_regimes(run: Run, baseline: Baseline) -> tuple[Regime, ...]:
    """The run's levels in order; a single one when it is steady or too short."""
    rows = np.flatnonzero(baseline.normal)
    seconds, span = run.steps.dur_ns[rows] / 1e9, run.steps.span[rows]
    coarse = is_coarse(run, baseline.normal)
    cuts = [0, len(rows)]
    if len(rows) >= _LEAST_ROWS:
        cuts = _merge(seconds, span, _segment(seconds, coarse=coarse), coarse=coarse)
    steps = run.steps.step
    return tuple(
        Regime(
            first_step=int(steps[rows[first]]),
            last_step=int(steps[rows[last - 1]]),
            first_row=int(rows[first]),
            last_row=int(rows[last - 1]),
            typical_s=typical(seconds[first:last], span[first:last], coarse=coarse),
        )
        for first, last in pairwise(cuts)
    )


def _segment(seconds: Floats, *, coarse: bool) -> list[int]:
    """Row indices at which the level changes, with 0 and the end."""
    edges = np.linspace(0, len(seconds), min(_MAX_BLOCKS, len(seconds) // 3) + 1).astype(int)
    low, high = quantiles(seconds, (0.01, 0.99))
    clipped = np.clip(seconds, low, high)
    means = np.log(np.maximum(np.add.reduceat(clipped, edges[:-1]) / np.diff(edges), 1e-12))
    differences = np.abs(np.diff(means))
    sigma = max(1.4826 * float(median(differences)) / np.sqrt(2), 0.002)
    if coarse:
        sigma = max(sigma, float(np.std(np.diff(means))) / np.sqrt(2))  # most differences are one tick or none
    count = len(means)
    total = np.concatenate([[0.0], np.cumsum(means)])
    squares = np.concatenate([[0.0], np.cumsum(means**2)])
    penalty = _PENALTY * np.log(max(count, 2))
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    came_from = np.zeros(count + 1, dtype=int)
    for end in range(_LEAST_BLOCKS, count + 1):
        start = np.arange(0, end - _LEAST_BLOCKS + 1)
        size = end - start
        cost = (squares[end] - squares[start] - (total[end] - total[start]) ** 2 / size) / sigma**2
        candidate = best[start] + cost + penalty
        pick = int(np.argmin(candidate))
        best[end], came_from[end] = candidate[pick], start[pick]
    cuts = [count]
    while cuts[-1] > 0:
        cuts.append(int(came_from[cuts[-1]]))
    return [int(edges[cut]) for cut in reversed(cuts)]


def _merge(seconds: Floats, span: Ints, cuts: list[int], *, coarse: bool) -> list[int]:
    """The cuts without those between neighbours at nearly the same level."""
    merged = list(cuts)
    while len(merged) > 2:
        levels = [typical(seconds[a:b], span[a:b], coarse=coarse) for a, b in pairwise(merged)]
        steps = [abs(float(np.log(max(after, 1e-9) / max(before, 1e-9)))) for before, after in pairwise(levels)]
        weakest = int(np.argmin(steps))
        if steps[weakest] >= _SAME_LEVEL:
            break
        del merged[weakest + 1]
    return merged
