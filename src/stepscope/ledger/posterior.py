"""What one evaluation and one checkpoint cost, from readings in which both may be inside.

    seconds = E x (step level / reference) ^ gamma x [evaluated] + C x (step level / reference) ^ delta x [saved]

gamma is 1 where a slower step also makes the evaluation slower (a hot or shared processor) and 0 where it does
not (a slow loader, a sleep); delta says the same of the checkpoint. The posterior of (E, C) under each pair is computed
on a grid: priors from first principles, one observation per event (or group of events), heavy-tailed noise because
training machines are shared. Evaluations without a checkpoint separate the two by themselves; where there are none, the
priors are all there is, and the interval says so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.ledger.priors import LogNormal
from stepscope.run.model import Floats

_GRID = 96
# Neighbouring evaluations share their disturbances: a class of events counts as at most this many looks.
_MAX_GROUPS = 6
_LEAST_SCATTER = 0.03
_UNKNOWN_SCATTER = 0.10
# (gamma, delta, how likely before looking)
_LAWS = ((0.0, 0.0, 0.15), (0.5, 0.0, 0.25), (1.0, 0.0, 0.35), (1.0, 1.0, 0.25))
_TAIL = 4.0  # degrees of freedom of the noise
# How much single checkpoints differ from each other, as a share: 0.02 to 0.67 on seventeen timed runs.
SAVE_SCATTER = 0.35


class CostReading(NamedTuple):
    """Seconds that were an evaluation, a checkpoint or both. `at_most`: start-up is in them too, so they only bound."""

    seconds: float
    level_s: float
    jitter_s: float
    evaluated: bool
    saved: bool
    at_most: bool
    first: bool  # whether it is the first reading of a process


class Posterior(NamedTuple):
    """Quantiles (low, middle, high) of an evaluation at the reference level and of a checkpoint, in seconds."""

    evaluation_s: tuple[float, float, float]
    save_s: tuple[float, float, float]
    reference_s: float
    gamma: float
    delta: float
    scatter: float  # how much single evaluations differ from each other, as a share

    def factor(self, level_s: float) -> float:
        """What an evaluation costs at a step level, relative to the reference level."""
        return float((level_s / self.reference_s) ** self.gamma) if level_s > 0 else 1.0

    def save_at(self, level_s: float) -> tuple[float, float, float]:
        """Low, middle and high of a checkpoint at a step level."""
        factor = float((level_s / self.reference_s) ** self.delta) if level_s > 0 else 1.0
        low, middle, high = self.save_s
        return low * factor, middle * factor, high * factor


def infer_prices(
    readings: list[CostReading], *, evaluation: LogNormal | None, save: LogNormal, confidence: float
) -> Posterior | None:
    """The posterior of both prices; None when there is nothing to infer from. `evaluation` is in local steps."""
    usable = [reading for reading in readings if reading.level_s > 0]
    if not usable:
        return None
    reference = float(np.exp(np.mean(np.log([e.level_s for e in usable]))))
    biggest = max([e.seconds for e in usable] + [1e-3])
    prior = None if evaluation is None else LogNormal(evaluation.median * reference, evaluation.log_sd)
    lowest = biggest / 400 if prior is None else min(biggest / 400, prior.median * np.exp(-4 * prior.log_sd))
    least_save = min(biggest / 1000, save.median * np.exp(-3 * save.log_sd))
    groups = _grouped(usable)
    scatters = [_scatter(usable, reference, gamma) for gamma, _, _ in _LAWS]
    price_range = (max(lowest, 1e-6), biggest * 1.5)
    save_range = (max(least_save, 1e-6), biggest * 1.2)
    for _ in range(2):  # once coarse, once on the part of the grid that matters
        prices, saves = np.geomspace(*price_range, _GRID), np.geomspace(*save_range, _GRID)
        known = _prior(prices, prior)[:, None] + _prior(saves, save)[None, :]
        mass = _mass(groups, known, prices=prices, saves=saves, reference=reference, scatters=scatters)
        price_range = _support(prices, mass.sum(axis=(0, 2)))
        save_range = _support(saves, mass.sum(axis=(0, 1)))
    weights = mass.sum(axis=(1, 2)) / mass.sum()
    return Posterior(
        evaluation_s=_quantiles(prices, mass.sum(axis=(0, 2)), confidence),
        save_s=_quantiles(saves, mass.sum(axis=(0, 1)), confidence),
        reference_s=reference,
        gamma=float(np.dot(weights, [gamma for gamma, _, _ in _LAWS])),
        delta=float(np.dot(weights, [delta for _, delta, _ in _LAWS])),
        scatter=float(np.dot(weights, scatters)),
    )


def _mass(
    groups: list[CostReading], known: Floats, *, prices: Floats, saves: Floats, reference: float, scatters: list[float]
) -> Floats:
    """The unnormalised posterior on the grid (law, E, C)."""
    scores = []
    for (gamma, delta, weight), scatter in zip(_LAWS, scatters, strict=True):
        score = known + np.log(weight)
        for reading in groups:
            relative = reading.level_s / reference
            expected = np.zeros((len(prices), len(saves)))
            if reading.evaluated:
                expected += prices[:, None] * relative**gamma
            if reading.saved:
                expected += saves[None, :] * relative**delta
            score = score + _log_likelihood(reading, expected, scatter if reading.evaluated else SAVE_SCATTER)
        scores.append(score)
    mass: Floats = np.exp(np.array(scores) - np.max(scores))
    return mass


def _support(grid: Floats, mass: Floats) -> tuple[float, float]:
    """The part of a grid that holds nearly all of the mass, with a margin of one point."""
    inside = np.flatnonzero(mass > 1e-5 * mass.max())
    return float(grid[max(inside[0] - 1, 0)]), float(grid[min(inside[-1] + 1, len(grid) - 1)])


def _prior(grid: Floats, known: LogNormal | None) -> Floats:
    """Log density per grid point; the grid is even in the logarithm, so a flat one means "any size"."""
    if known is None:
        return np.zeros_like(grid)
    z: Floats = np.log(grid / known.median) / known.log_sd
    return -0.5 * z * z


def _log_likelihood(reading: CostReading, expected: Floats, scatter: float) -> Floats:
    # The spread is the observed one and the same for every (E, C): steady readings say nothing about
    # which of the two is the steadier.
    spread = float(np.hypot(reading.jitter_s, scatter * abs(reading.seconds))) or 1e-9
    z = (reading.seconds - expected) / spread
    if reading.at_most:
        z, spread = np.minimum(z, 0.0), 1.0  # start-up took the rest: only too much is impossible
    score: Floats = -np.log(spread) - 0.5 * (_TAIL + 1) * np.log1p(z * z / _TAIL)
    return score


def _scatter(readings: list[CostReading], reference: float, gamma: float) -> float:
    """How far single evaluations are from each other, in units of their own cost."""
    logs: list[float] = []
    for saved in (False, True):
        ratios = [
            reading.seconds * (reference / reading.level_s) ** gamma
            for reading in readings
            if reading.evaluated and reading.saved == saved and not reading.at_most and reading.seconds > 0
        ]
        if len(ratios) >= 3:
            values = np.log(ratios)
            logs.extend(np.abs(values - median(values)))
    if not logs:
        return _UNKNOWN_SCATTER
    seen = 1.4826 * float(median(logs))
    # A handful of events says little about their spread: lean on what is usual until there are more.
    trust = len(logs) / (len(logs) + 4)
    return max(_LEAST_SCATTER, trust * seen + (1 - trust) * _UNKNOWN_SCATTER)


def _grouped(readings: list[CostReading]) -> list[CostReading]:
    """A few observations that represent many: medians of neighbours, so that the grid's cost stays bounded."""
    kinds: dict[tuple[bool, bool, bool], list[CostReading]] = {}
    for reading in readings:
        kinds.setdefault((reading.evaluated, reading.saved, reading.at_most), []).append(reading)
    found: list[CostReading] = []
    for same in kinds.values():
        for part in np.array_split(np.arange(len(same)), min(_MAX_GROUPS, len(same))):
            group = [same[index] for index in part]
            seconds, level, jitter = median([(r.seconds, r.level_s, r.jitter_s) for r in group], axis=0)
            found.append(group[0]._replace(seconds=float(seconds), level_s=float(level), jitter_s=float(jitter)))
    return found


def _quantiles(grid: Floats, mass: Floats, confidence: float) -> tuple[float, float, float]:
    cumulative = np.cumsum(mass) / mass.sum()
    tail = (1 - confidence) / 2
    low, middle, high = np.interp([tail, 0.5, 1 - tail], cumulative, np.log(grid))
    return float(np.exp(low)), float(np.exp(middle)), float(np.exp(high))
