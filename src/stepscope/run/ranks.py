"""Ranks that print their own steps: what each takes, and whether one of them really is slower than the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.run.model import Floats, Rank, Run

# Two equal GPUs may differ by up to this share.
_LEAST_EXCESS = 0.05
# The slowest rank must be slowest in this share of the steps that all ranks print (by chance: 1 / number of ranks).
_MOSTLY = 0.6
_LEAST_STEPS = 5


class Slowest(NamedTuple):
    """The slowest rank, what a step takes there and on the others (the median), and its host where that is known."""

    number: int
    typical_s: float
    others_s: float
    host: str = ""


def typical_s(rank: Rank) -> float | None:
    """The median of a rank's steps in seconds, its first one left out; None where it has no times."""
    times = rank.dur_ns[1:] if len(rank.dur_ns) > 1 else rank.dur_ns
    return float(median(times)) / NS if len(times) else None


def find_slowest(run: Run) -> Slowest | None:
    """The rank that is slower than the others in most steps, and by more than GPUs differ anyway."""
    ranks = [rank for rank in run.ranks if len(rank.step) >= _LEAST_STEPS]
    if len(ranks) < 2:
        return None
    times = _on_common_steps(ranks)
    if times.shape[1] < _LEAST_STEPS:
        return None
    typical = median(times, axis=1)
    slowest = int(np.argmax(typical))
    others = float(median(np.delete(typical, slowest)))
    is_slowest = (times[slowest] > np.delete(times, slowest, axis=0).max(axis=0)).mean()
    if others <= 0 or typical[slowest] < (1 + _LEAST_EXCESS) * others or is_slowest < _MOSTLY:
        return None
    return Slowest(ranks[slowest].number, float(typical[slowest]) / NS, others / NS, ranks[slowest].host)


def _on_common_steps(ranks: list[Rank]) -> Floats:
    """Per rank, the times of the steps that all of them print, the first of them left out."""
    common = ranks[0].step
    for rank in ranks[1:]:
        common = np.intersect1d(common, rank.step)
    rows = []
    for rank in ranks:
        _, where = np.unique(rank.step, return_index=True)
        unique = rank.step[where]
        rows.append(rank.dur_ns[where][np.isin(unique, common)][1:].astype(np.float64))
    return np.array(rows)
