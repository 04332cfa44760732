"""What the page's script draws: points of the strip and the curve, and the numbers behind the sliders.

A million steps stay smooth and the file bounded: of each stretch of steps the fastest and the slowest are kept, so
that no spike is lost, and every slow step that is named.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from stepscope.advice._base import batch_loss_sd
from stepscope.forecast.finish import Forecast
from stepscope.i18n import Language
from stepscope.message import Seconds
from stepscope.report import words
from stepscope.report.build import Report
from stepscope.units import NS

_MOST_POINTS = 4000
_MOST_SLOW = 300
_MOST_LOSSES = 1500
_PHASES = ("step", "evaluation", "checkpoint", "warmup", "data", "gc", "communication", "logging", "stall", "gap")


def data(report: Report, language: Language) -> dict[str, Any]:
    """All that the script needs, as plain data."""
    rows = _kept_rows(report)
    place = {int(row): index for index, row in enumerate(rows)}
    steps = report.run.steps
    return {
        "strip": {
            "step": steps.step[rows].tolist(),
            "seconds": [round(value, 6) if value > 0 else None for value in (steps.dur_ns[rows] / NS).tolist()],
            "phases": list(_PHASES),
        },
        "slow": [
            {
                "index": place[slow.row],
                "cause": slow.cause,
                "text": _slow_text(report, slow.row, language),
            }
            for slow in report.ledger.slow[:_MOST_SLOW]
            if slow.row in place
        ],
        "loss": _losses(report),
        "whatif": what_if_base(report),
        "words": {
            "iteration": language.text("slow-column-step"),
            "took": language.text("slow-column-took"),
            "loss": language.text("live-loss"),
            "validation": language.text("phase-evaluation"),
            "left": language.text("section-finish"),
            "evaluations": language.text("section-evaluations"),
        },
    }


def _slow_text(report: Report, row: int, language: Language) -> str:
    slow = next(found for found in report.ledger.slow if found.row == row)
    parts = " + ".join(words.part_text(part, language) for part in slow.parts)
    head = f"{language.number(slow.step)}: {language.duration(Seconds(slow.seconds).value)}"
    return f"{head} = {parts}. {words.evidence_text(report, slow, language)}"


def _kept_rows(report: Report) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The rows to draw, in the order of their steps: the last time a step was done, the extremes of each stretch."""
    steps = report.run.steps
    num = len(steps)
    if not num:
        return np.zeros(0, dtype=np.int64)
    order = np.argsort(steps.step, kind="stable")
    last = np.append(np.diff(steps.step[order]) > 0, True)
    rows = order[last]
    named = np.array([slow.row for slow in report.ledger.slow[:_MOST_SLOW]], dtype=np.int64)
    if len(rows) <= _MOST_POINTS:
        return np.asarray(rows, dtype=np.int64)
    seconds = steps.dur_ns[rows]
    edges = np.linspace(0, len(rows), _MOST_POINTS // 2 + 1).astype(np.int64)
    kept = {int(rows[a + part]) for a, b in itertools.pairwise(edges) for part in _extremes(seconds[a:b])}
    kept |= set(np.intersect1d(named, rows).tolist())
    found = np.array(sorted(kept), dtype=np.int64)
    return np.asarray(found[np.argsort(steps.step[found], kind="stable")], dtype=np.int64)


def _extremes(values: np.ndarray) -> tuple[int, ...]:
    return (int(values.argmin()), int(values.argmax())) if len(values) else ()


def has_losses(report: Report) -> bool:
    """Whether there is a curve to draw."""
    return bool(np.isfinite(report.run.steps.loss).sum() >= 2)


def _losses(report: Report) -> dict[str, list[float | None]]:
    steps = report.run.steps
    known = np.flatnonzero(np.isfinite(steps.loss))
    if len(known) < 2:
        return {"step": [], "train": [], "validation": []}
    if len(known) > _MOST_LOSSES:
        known = known[np.linspace(0, len(known) - 1, _MOST_LOSSES).astype(np.int64)]
    train = {int(step): float(loss) for step, loss in zip(steps.step[known], steps.loss[known], strict=True)}
    events = report.run.events
    validation = {
        int(step): float(loss)
        for step, loss in zip(events.step, events.val_loss, strict=True)
        if step >= 0 and math.isfinite(loss)
    }
    places = sorted(set(train) | set(validation))
    return {
        "step": [float(place) for place in places],
        "train": [train.get(place) for place in places],
        "validation": [validation.get(place) for place in places],
    }


def what_if_base(report: Report) -> dict[str, Any] | None:
    """What is left, class by class, for the sliders; None when nothing is, or nobody knows how much."""
    end = report.forecast
    if not isinstance(end, Forecast) or end.is_finished or not end.schedule.num_evaluations:
        return None
    left, settings = end.left, report.run.settings
    interval = settings.count("eval_interval")
    if not interval or left["evaluation"].seconds is None:
        return None
    done = end.schedule.max_steps // interval - end.schedule.num_evaluations
    known = sum(one.seconds or 0.0 for one in left.values())
    classes = {name: left[name].seconds or 0.0 for name in ("step", "evaluation", "checkpoint")}
    return {
        "last_step": end.schedule.max_steps - end.schedule.num_steps,
        "done_step": max(int(report.run.steps.step[-1]), done * interval),
        "max_steps": end.schedule.max_steps,
        "steps": end.schedule.num_steps,
        "step_s": classes["step"],
        "evaluations": end.schedule.num_evaluations,
        "evaluation_s": classes["evaluation"],
        "checkpoint_s": classes["checkpoint"],
        "other_s": known - sum(classes.values()) + (end.remaining_s - known),
        "saves_follow": report.run.format.saves_only_after_evaluation,
        "eval_interval": interval,
        "eval_iters": settings.count("eval_iters"),
        "remaining_s": end.remaining_s,
        "loss_sd": batch_loss_sd(report.run),
        "moment": report.moment.isoformat() if report.moment is not None else None,
    }


def slider_ranges(base: dict[str, Any]) -> list[tuple[str, int, int, int]]:
    """The sliders: name, smallest (and step), largest, now."""
    found = []
    interval = int(base["eval_interval"])
    low = max(1, interval // 10)
    while interval % low:
        low -= 1  # the present value must be one that the slider can stand on
    found.append(("eval_interval", low, interval * 10, interval))
    if base["eval_iters"]:
        iters = int(base["eval_iters"])
        step = max(1, math.gcd(iters, max(1, iters // 20)))
        found.append(("eval_iters", step, iters * 2, iters))
    total = int(base["max_steps"])
    step = max(1, math.gcd(total, max(1, total // 100)))
    found.append(("max_steps", step, total * 2, total))
    return found
