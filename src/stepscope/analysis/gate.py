"""Is a run slower than another by more than a limit, and by more than noise? The question of a CI job.

Judged is the time that goes on being spent for as long as a run lasts: steps, evaluations, checkpoints, waits. What
comes once (warm-up) or from outside (gaps, unlogged time) says nothing about a longer run. A normal step that is slower
by itself counts too, so that cheaper evaluations cannot hide it.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, cast

import numpy as np

from stepscope.analysis.compare import LEAST_ROWS, Align, interval_of, resampled_means
from stepscope.analysis.run_figures import RunFigures
from stepscope.core.message import Message, Share, say
from stepscope.ledger.phases import Phase
from stepscope.run.model import Floats

Judgement = Literal["passed", "slower", "cannot judge"]
_STOPS: tuple[Phase, ...] = ("evaluation", "checkpoint", "data", "gc", "logging", "communication", "stall")
_INTERVALS = {"evaluation": "eval_interval", "checkpoint": "checkpoint_interval"}
_LEAST_SURE = 0.5  # below, every report says that the log may be misread
_SEED = 11


class Verdict(NamedTuple):
    """What was judged of a run, against the limit: the change of its steady time and what that lies between."""

    limit: float
    verdict: Judgement
    change: float | None
    low: float | None
    high: float | None
    reason: Message | None  # why nothing could be judged


def judge(
    first: RunFigures, other: RunFigures, limit: float, *, align: Align = "step", confidence: float = 0.9
) -> Verdict:
    """Whether the second run is slower than the first by more than `limit`, a share, and by more than noise."""
    reason = _cannot(first, other)
    if reason is not None:
        return Verdict(limit, "cannot judge", None, None, None, reason)
    dice = np.random.default_rng(_SEED)
    steps = [resampled_means(run.normal_s, dice) / _work(run, align) for run in (first, other)]
    means = [float(run.normal_s.mean()) / _work(run, align) for run in (first, other)]
    whole = _change(steps[0], steps[1], means, confidence)
    stops = [_stops(run, align, dice, len(steps[0])) for run in (first, other)]
    drawn = [step + stop for step, (stop, _) in zip(steps, stops, strict=True)]
    known = [mean + stop for mean, (_, stop) in zip(means, stops, strict=True)]
    judged = [_change(drawn[0], drawn[1], known, confidence), whole]
    for change, low, high in judged:
        if change > limit and low > 0:
            return Verdict(limit, "slower", change, low, high, None)
    for change, low, high in judged:
        if change > limit:
            return Verdict(limit, "cannot judge", change, low, high, say("gate-noise", change=Share(change)))
    return Verdict(limit, "passed", *judged[0], None)


def _cannot(first: RunFigures, other: RunFigures) -> Message | None:
    for run in (first, other):
        if run.confidence < _LEAST_SURE:
            return say("gate-unsure", path=_path(run))
        if len(run.normal_s) < LEAST_ROWS:
            return say("gate-too-few", path=_path(run), count=len(run.normal_s), least=LEAST_ROWS)
        if not run.normal_s.mean() > 0:
            return say("gate-no-time", path=_path(run))
    return None


def _path(run: RunFigures) -> str:
    return run.paths[0] if run.paths else "?"


def _work(run: RunFigures, align: Align) -> float:
    return run.tokens or 1.0 if align == "tokens" else 1.0


def _change(before: Floats, after: Floats, means: list[float], confidence: float) -> tuple[float, float, float]:
    low, high = interval_of(after / before, confidence)
    return means[1] / means[0] - 1, low - 1, high - 1


def _stops(run: RunFigures, align: Align, dice: np.random.Generator, num: int) -> tuple[Floats, float]:
    """Seconds of stops for each step (or token), as often as chance is to be tried; and as they are."""
    drawn, known = np.zeros(num), 0.0
    for phase in _STOPS:
        seconds = run.phases.get(phase, 0.0)
        if not seconds > 0:
            continue
        each = _each(run, phase, seconds) / _work(run, align)
        known += each
        error = min(run.doubt_s.get(phase, 0.0) / seconds, 1.0)
        drawn += np.maximum(0.0, each * (1 + error * dice.standard_normal(num)))
    return cast("Floats", drawn), known


def _each(run: RunFigures, phase: Phase, seconds: float) -> float:
    """Seconds of a phase for each step: by its interval where that is known, as a short run has one stop too many."""
    every = run.settings.get(_INTERVALS.get(phase, ""))
    price = run.evaluation_each_s if phase == "evaluation" else run.checkpoint_each_s
    is_known = phase in _INTERVALS and isinstance(every, int) and every > 0 and price is not None
    found = price / every if is_known and price is not None and isinstance(every, int) else seconds / run.steps
    return found if math.isfinite(found) else seconds / run.steps
