"""Two runs or more side by side: what differs in their settings, in each phase, and whether that is more than noise.

Runs are made comparable by the step (or the token): seconds of each phase per step of the run, so that the phases'
differences add up to the whole difference. Step times are autocorrelated, so their means are compared by resampling
blocks, not single steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from stepscope.analysis.report import Report
from stepscope.analysis.run_figures import RunFigures, run_figures
from stepscope.columns.statistics import quantiles
from stepscope.core.settings import Value
from stepscope.ledger.accounts import ORDER
from stepscope.ledger.phases import Phase
from stepscope.run.model import Floats

Align = Literal["step", "tokens"]
_RESAMPLES = 500
LEAST_ROWS = 8
_SEED = 7  # fixed, so that the answer is the same every time


class PhaseDifference(NamedTuple):
    """Seconds of a phase per unit (a step, or a thousand tokens) in the first run and in another, and its share."""

    phase: Phase
    before_s: float
    after_s: float
    share: float | None  # share of the whole difference; None where the runs do not differ

    @property
    def difference_s(self) -> float:
        """Seconds that the other run spends more."""
        return self.after_s - self.before_s


class Compared(NamedTuple):
    """Another run against the first."""

    run: RunFigures
    settings: dict[str, tuple[Value | None, Value | None]]  # settings that differ: (first run, this run)
    unit_s: tuple[float, float]  # seconds per unit in the first run and in this one
    phases: tuple[PhaseDifference, ...]
    step_ratio: float | None  # typical step of this run over that of the first
    ratio_low: float | None  # the interval of `step_ratio` at the stated confidence
    ratio_high: float | None
    is_noise: bool | None  # whether the difference may be chance; None with too few steps


class Comparison(NamedTuple):
    """The first run and the others against it."""

    first: RunFigures
    others: tuple[Compared, ...]
    align: Align
    confidence: float


def compare(reports: Sequence[Report | RunFigures], *, align: Align = "step", confidence: float = 0.9) -> Comparison:
    """Compare the first run with each of the others. All of them have steps."""
    first, *others = (run_figures(one) if isinstance(one, Report) else one for one in reports)
    if align == "tokens" and any(run.tokens is None for run in (first, *others)):
        align = "step"  # the tokens per step are not known for every run
    found = tuple(_against(first, other, align, confidence) for other in others)
    return Comparison(first=first, others=found, align=align, confidence=confidence)


def _against(first: RunFigures, other: RunFigures, align: Align, confidence: float) -> Compared:
    before, after = _per_unit(first, align), _per_unit(other, align)
    whole = math.fsum(after.values()) - math.fsum(before.values())
    phases = tuple(
        PhaseDifference(
            phase=phase,
            before_s=before.get(phase, 0.0),
            after_s=after.get(phase, 0.0),
            share=(after.get(phase, 0.0) - before.get(phase, 0.0)) / whole if whole else None,
        )
        for phase in ORDER
        if phase in before or phase in after
    )
    ratio = _ratio(first, other, align, confidence)
    return Compared(
        run=other,
        settings=_different(first, other),
        unit_s=(math.fsum(before.values()), math.fsum(after.values())),
        phases=tuple(sorted(phases, key=lambda one: -abs(one.difference_s))),
        step_ratio=ratio[0] if ratio else None,
        ratio_low=ratio[1] if ratio else None,
        ratio_high=ratio[2] if ratio else None,
        is_noise=ratio[1] <= 1 <= ratio[2] if ratio else None,
    )


def _per_unit(run: RunFigures, align: Align) -> dict[Phase, float]:
    units = units_of(run, align)
    return {phase: seconds / units for phase, seconds in run.phases.items() if units}


def units_of(run: RunFigures, align: Align) -> float:
    """How many units of work a run did: steps, or thousands of tokens."""
    return run.steps * (run.tokens or 1.0) / 1000 if align == "tokens" else run.steps


def _different(first: RunFigures, other: RunFigures) -> dict[str, tuple[Value | None, Value | None]]:
    names = sorted(set(first.settings) | set(other.settings))
    values = {name: (first.settings.get(name), other.settings.get(name)) for name in names}
    return {name: pair for name, pair in values.items() if pair[0] != pair[1]}


def _ratio(first: RunFigures, other: RunFigures, align: Align, confidence: float) -> tuple[float, float, float] | None:
    """The ratio of the mean normal steps with its interval; None with too few steps."""
    before, after = (_normal(run, align) for run in (first, other))
    return None if min(len(before), len(after)) < LEAST_ROWS else ratio_of_means(before, after, confidence)


def _normal(run: RunFigures, align: Align) -> Floats:
    return run.normal_s / (run.tokens or 1.0) if align == "tokens" else run.normal_s


def ratio_of_means(before: Floats, after: Floats, confidence: float) -> tuple[float, float, float]:
    """The mean of a series over that of another one, and the interval by block bootstrap that it lies in."""
    dice = np.random.default_rng(_SEED)
    one, other = (resampled_means(sample, dice) for sample in (before, after))
    low, high = interval_of(other / one, confidence)
    return float(after.mean() / before.mean()), low, high


def interval_of(drawn: Floats, confidence: float) -> tuple[float, float]:
    """What the middle of the drawn values lies between."""
    tail = (1 - confidence) / 2
    low, high = quantiles(np.sort(drawn), (tail, 1 - tail))
    return float(low), float(high)


def resampled_means(sample: Floats, dice: np.random.Generator) -> Floats:
    """Means of resamples made of blocks: neighbours are alike, and a block keeps them together."""
    block = max(1, round(len(sample) ** (1 / 2)))
    num = math.ceil(len(sample) / block)
    sums = np.concatenate([[0.0], np.cumsum(sample)])
    starts = dice.integers(0, len(sample) - block + 1, size=(_RESAMPLES, num))
    return np.asarray((sums[starts + block] - sums[starts]).sum(axis=1) / (num * block))
