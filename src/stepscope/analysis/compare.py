"""Two runs or more side by side: what differs in their settings, in each phase, and whether that is more than noise.

Runs are made comparable by the step (or the token): seconds of each phase per step of the run, so that the phases'
differences add up to the whole difference. Step times are autocorrelated, so their means are compared by resampling
blocks, not single steps.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from stepscope.analysis.report import Report
from stepscope.columns.statistics import quantiles
from stepscope.core.settings import Value
from stepscope.core.units import NS
from stepscope.ledger.accounts import ORDER
from stepscope.ledger.phases import Phase
from stepscope.run.model import Floats

Align = Literal["step", "tokens"]
_RESAMPLES = 500
_LEAST_ROWS = 8
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

    report: Report
    settings: dict[str, tuple[Value | None, Value | None]]  # settings that differ: (first run, this run)
    unit_s: tuple[float, float]  # seconds per unit in the first run and in this one
    phases: tuple[PhaseDifference, ...]
    step_ratio: float | None  # typical step of this run over that of the first
    ratio_low: float | None  # the interval of `step_ratio` at the stated confidence
    ratio_high: float | None
    is_noise: bool | None  # whether the difference may be chance; None with too few steps


class Comparison(NamedTuple):
    """The first run and the others against it."""

    first: Report
    others: tuple[Compared, ...]
    align: Align
    confidence: float


def compare(reports: list[Report], *, align: Align = "step", confidence: float = 0.9) -> Comparison:
    """Compare the first run with each of the others. All of them have steps."""
    first, *others = reports
    if align == "tokens" and any(_tokens(report) is None for report in reports):
        align = "step"  # the tokens per step are not known for every run
    found = tuple(_against(first, other, align, confidence) for other in others)
    return Comparison(first=first, others=found, align=align, confidence=confidence)


def _against(first: Report, other: Report, align: Align, confidence: float) -> Compared:
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
        report=other,
        settings=_different(first, other),
        unit_s=(math.fsum(before.values()), math.fsum(after.values())),
        phases=tuple(sorted(phases, key=lambda one: -abs(one.difference_s))),
        step_ratio=ratio[0] if ratio else None,
        ratio_low=ratio[1] if ratio else None,
        ratio_high=ratio[2] if ratio else None,
        is_noise=ratio[1] <= 1 <= ratio[2] if ratio else None,
    )


def _per_unit(report: Report, align: Align) -> dict[Phase, float]:
    units = num_steps(report) * (_tokens(report) or 1.0) / 1000 if align == "tokens" else num_steps(report)
    return {total.phase: total.seconds / units for total in report.ledger.phases if units}


def num_steps(report: Report) -> float:
    """Steps that the log covers, printed or not, done twice or not."""
    steps, total = report.run.steps, 0
    for segment in report.run.segments:
        if segment.num_rows:
            last = segment.first_row + segment.num_rows - 1
            span = int(steps.span[segment.first_row]) or 1
            total += int(steps.step[last] - steps.step[segment.first_row]) + span
    return float(max(1, total))


def _tokens(report: Report) -> float | None:
    step = report.ledger.step
    return report.tokens_per_s * step.typical_s if report.tokens_per_s and step else None


def _different(first: Report, other: Report) -> dict[str, tuple[Value | None, Value | None]]:
    names = sorted(set(first.run.settings) | set(other.run.settings))
    found = {}
    for name in names:
        values = [report.run.settings[name].value if name in report.run.settings else None for report in (first, other)]
        if values[0] != values[1]:
            found[name] = (values[0], values[1])
    return found


def _ratio(first: Report, other: Report, align: Align, confidence: float) -> tuple[float, float, float] | None:
    """The ratio of the mean normal steps with its interval; None with too few steps."""
    before, after = (_normal(report, align) for report in (first, other))
    return None if min(len(before), len(after)) < _LEAST_ROWS else ratio_of_means(before, after, confidence)


def ratio_of_means(before: Floats, after: Floats, confidence: float) -> tuple[float, float, float]:
    """The mean of a series over that of another one, and the interval by block bootstrap that it lies in."""
    dice = np.random.default_rng(_SEED)
    one, other = (_resampled_means(sample, dice) for sample in (before, after))
    ratios = np.sort(other / one)
    tail = (1 - confidence) / 2
    low, high = quantiles(ratios, (tail, 1 - tail))
    return float(after.mean() / before.mean()), float(low), float(high)


def _normal(report: Report, align: Align) -> Floats:
    step = report.ledger.step
    if step is None or not len(step.rows):
        return np.zeros(0)
    seconds: Floats = report.run.steps.dur_ns[step.rows] / NS
    return seconds / (_tokens(report) or 1.0) if align == "tokens" else seconds


def _resampled_means(sample: Floats, dice: np.random.Generator) -> Floats:
    """Means of resamples made of blocks: neighbours are alike, and a block keeps them together."""
    block = max(1, round(len(sample) ** (1 / 2)))
    num = math.ceil(len(sample) / block)
    sums = np.concatenate([[0.0], np.cumsum(sample)])
    starts = dice.integers(0, len(sample) - block + 1, size=(_RESAMPLES, num))
    return np.asarray((sums[starts + block] - sums[starts]).sum(axis=1) / (num * block))
