"""What a comparison needs of a run: seconds by phase, its normal iterations, and how far chance may move them.

It is taken from a report, or read back from a baseline that was saved.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stepscope.analysis.report import Report
from stepscope.core.settings import Value
from stepscope.core.units import NS
from stepscope.ledger.phases import Phase
from stepscope.run.model import Floats

# Of phases that come when they come, the number is chance as well as the seconds of each.
_BY_CHANCE = frozenset({"data", "gc", "logging", "communication", "stall"})
_LEAST_STOPS = 2
# Longer runs are kept as means of neighbours: what is resampled are blocks anyway.
MOST_NORMAL = 2000


class RunFigures(NamedTuple):
    """The figures of a run.

    tokens
        Tokens of a step, where known
    phases
        Seconds of each phase
    doubt_s
        The standard error of these seconds, as the run's own stops differ; phases that have none are left out
    normal_s
        Seconds of the normal steps, in their order
    confidence
        How sure it is that the log was understood
    """

    paths: tuple[str, ...]
    format: str
    settings: dict[str, Value]
    steps: float
    wall_s: float
    typical_s: float | None
    evaluation_each_s: float | None
    checkpoint_each_s: float | None
    tokens: float | None
    phases: dict[Phase, float]
    doubt_s: dict[Phase, float]
    normal_s: Floats
    confidence: float


def run_figures(report: Report) -> RunFigures:
    """The figures of a report."""
    run, ledger = report.run, report.ledger
    step, evaluation, save = ledger.step, ledger.evaluation_price, ledger.checkpoint_price
    normal = run.steps.dur_ns[step.rows] / NS if step is not None and len(step.rows) else np.zeros(0)
    return RunFigures(
        paths=tuple(run.paths),
        format=run.format.name,
        settings={name: setting.value for name, setting in run.settings.items()},
        steps=num_steps(report),
        wall_s=ledger.wall_s,
        typical_s=step.typical_s if step else None,
        evaluation_each_s=evaluation.seconds if evaluation else None,
        checkpoint_each_s=save.seconds if save else None,
        tokens=report.tokens_per_s * step.typical_s if report.tokens_per_s and step else None,
        phases={total.phase: total.seconds for total in ledger.phases},
        doubt_s=_doubts(report),
        normal_s=_in_means(normal),
        confidence=report.reading.confidence,
    )


def num_steps(report: Report) -> float:
    """Steps that the log covers, printed or not, done twice or not."""
    steps, total = report.run.steps, 0
    for segment in report.run.segments:
        if segment.num_rows:
            last = segment.first_row + segment.num_rows - 1
            span = int(steps.span[segment.first_row]) or 1
            total += int(steps.step[last] - steps.step[segment.first_row]) + span
    return float(max(1, total))


def _doubts(report: Report) -> dict[Phase, float]:
    """How far chance may move the seconds of each phase that comes in stops."""
    seconds: dict[Phase, list[float]] = {}
    for slow in report.ledger.slow:
        for part in slow.parts:
            seconds.setdefault(part.phase, []).append(part.seconds)
    found: dict[Phase, float] = {}
    for total in report.ledger.phases:
        own = seconds.get(total.phase, [])
        if total.phase == "step" or not own:
            continue
        if total.phase in _BY_CHANCE:
            error = math.sqrt(math.fsum(one * one for one in own))
        elif len(own) >= _LEAST_STOPS:
            error = math.sqrt(len(own)) * float(np.std(own, ddof=1))
        else:
            error = (total.high_s - total.low_s) / 2
        # Stops between printed rows are priced like those that are seen.
        found[total.phase] = error * max(1.0, total.seconds / max(math.fsum(own), 1e-12)) if error > 0 else 0.0
    return {phase: error for phase, error in found.items() if math.isfinite(error)}


def _in_means(normal: Floats) -> Floats:
    """The seconds themselves, or means of as many neighbours as make them few."""
    size = math.ceil(len(normal) / MOST_NORMAL)
    if size <= 1:
        return normal
    kept = len(normal) // size * size
    return np.asarray(normal[:kept].reshape(-1, size).mean(axis=1))
