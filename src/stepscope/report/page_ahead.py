"""What is ahead, as the page's script needs it: the fan of the forecast with its backtests, and the what-if sliders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stepscope.advice._base import batch_loss_sd
from stepscope.analysis.report import Report
from stepscope.forecast.finish import Forecast
from stepscope.forecast.pace import lay_out

_MOST_POINTS = 400


def fan(report: Report) -> dict[str, Any] | None:
    """Steps over time so far, what is foretold from here, and what was foretold earlier; None without either."""
    end = report.forecast
    ahead = isinstance(end, Forecast) and not end.is_finished
    if report.ledger.step is None or not (ahead or report.backtests):
        return None
    own = report.run.training(-1)
    if own is not report.run:
        return None  # the ledger's seconds are those of several trainings
    steps, seconds = lay_out(own, report.ledger).clock
    kept = np.unique(np.linspace(0, len(steps) - 1, min(_MOST_POINTS, len(steps))).astype(np.int64))
    found: dict[str, Any] = {
        "seconds": [round(value, 3) for value in seconds[kept].tolist()],
        "step": steps[kept].tolist(),
        "forecast": None,
        "backtests": [
            [one.elapsed_s, one.step, one.target_step, one.remaining_s, one.low_s, one.high_s]
            for one in report.backtests
        ],
    }
    if isinstance(end, Forecast) and ahead:
        found["forecast"] = [end.schedule.max_steps, end.remaining_s, end.low_s, end.high_s]
    return found


def what_if_base(report: Report) -> dict[str, Any] | None:
    """What is left, class by class, for the sliders; None when nothing is, or nobody knows how much."""
    end = report.forecast
    if not isinstance(end, Forecast) or end.is_finished:
        return None
    left, settings, schedule = end.left, report.run.settings, end.schedule
    interval = settings.count("eval_interval")
    num = schedule.num_evaluations or 0
    priced = bool(interval and num and left["evaluation"].seconds is not None)
    done = schedule.max_steps // interval - num if interval and priced else 0
    known = sum(one.seconds or 0.0 for one in left.values())
    classes = {name: left[name].seconds or 0.0 for name in ("step", "evaluation", "checkpoint")}
    follows = report.run.format.habits.saves_only_after_evaluation is True
    saves = settings.count("checkpoint_interval") if not follows and classes["checkpoint"] else None
    return {
        "last_step": schedule.max_steps - schedule.num_steps,
        "done_step": max(int(report.run.steps.step[-1]), done * (interval or 0)),
        "max_steps": schedule.max_steps,
        "steps": schedule.num_steps,
        "step_s": classes["step"],
        "evaluations": num if priced else 0,
        "evaluation_s": classes["evaluation"],
        "checkpoint_s": classes["checkpoint"],
        "other_s": known - sum(classes.values()) + (end.remaining_s - known),
        "saves_follow": follows and priced,
        "eval_interval": interval if priced else None,
        "eval_iters": settings.count("eval_iters") if priced else None,
        "checkpoint_interval": saves,
        "remaining_s": end.remaining_s,
        "low_s": end.low_s,
        "high_s": end.high_s,
        "loss_sd": batch_loss_sd(report.run) if priced else None,
        "moment": report.moment.isoformat() if report.moment is not None and not report.has_ended else None,
    }


def slider_ranges(base: dict[str, Any]) -> list[tuple[str, int, int, int]]:
    """The sliders: name, smallest (and step), largest, now. The present value is one that the slider can stand on."""
    found = []
    for name in ("eval_interval", "checkpoint_interval"):
        if base[name]:
            now = int(base[name])
            found.append((name, math.gcd(now, max(1, now // 10)), now * 10, now))
    if base["eval_iters"]:
        now = int(base["eval_iters"])
        found.append(("eval_iters", math.gcd(now, max(1, now // 20)), now * 2, now))
    total = int(base["max_steps"])
    found.append(("max_steps", math.gcd(total, max(1, total // 100)), total * 2, total))
    return found
