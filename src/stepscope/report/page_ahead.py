"""The future of the run, for the page's script: the forecast fan with its backtests, and the what-if sliders."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stepscope.advice._base import batch_loss_sd
from stepscope.analysis.report import Report
from stepscope.columns.statistics import distinct
from stepscope.forecast.finish import Forecast
from stepscope.forecast.pace import lay_out

_MOST_POINTS = 400


def fan(report: Report) -> dict[str, Any] | None:
    """Steps over time so far, the present forecast and earlier ones; None where there is no forecast at all."""
    end = report.forecast
    ahead = isinstance(end, Forecast) and not end.is_finished
    if report.ledger.step is None or not (ahead or report.backtests):
        return None
    own = report.run.training(-1)
    if own is not report.run:
        return None  # the ledger adds up the seconds of several trainings
    steps, seconds = lay_out(own, report.ledger).clock
    kept = distinct(np.linspace(0, len(steps) - 1, min(_MOST_POINTS, len(steps))).astype(np.int64))
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
    """The work left, class by class, for the sliders; None when nothing is left or the amount is unknown."""
    end = report.forecast
    if not isinstance(end, Forecast) or end.is_finished:
        return None
    schedule = end.schedule
    known_s = sum(left.seconds or 0.0 for left in end.left.values())
    classes = {name: end.left[name].seconds or 0.0 for name in ("step", "evaluation", "checkpoint")}
    evaluations = _evaluations_left(report, end)
    last_printed = int(report.run.steps.step[-1])
    follows = report.run.format.habits.saves_only_after_evaluation is True
    saves_apart = bool(classes["checkpoint"]) and not follows
    return {
        "last_step": schedule.max_steps - schedule.num_steps,
        "done_step": max(last_printed, evaluations.last_step) if evaluations else max(last_printed, 0),
        "max_steps": schedule.max_steps,
        "steps": schedule.num_steps,
        "step_s": classes["step"],
        "evaluations": evaluations.num if evaluations else 0,
        "evaluation_s": classes["evaluation"],
        "checkpoint_s": classes["checkpoint"],
        "other_s": known_s - sum(classes.values()) + (end.remaining_s - known_s),
        "saves_follow": follows and evaluations is not None,
        "eval_interval": evaluations.interval if evaluations else None,
        "eval_iters": report.run.settings.count("eval_iters") if evaluations else None,
        "checkpoint_interval": report.run.settings.count("checkpoint_interval") if saves_apart else None,
        "remaining_s": end.remaining_s,
        "low_s": end.low_s,
        "high_s": end.high_s,
        "loss_sd": batch_loss_sd(report.run) if evaluations else None,
        "moment": report.moment.isoformat() if report.moment is not None and not report.has_ended else None,
    }


class _EvaluationsLeft(NamedTuple):
    """How many evaluations are to come, how many steps apart, and the step of the last one done."""

    num: int
    interval: int
    last_step: int


def _evaluations_left(report: Report, end: Forecast) -> _EvaluationsLeft | None:
    """The evaluations to come; None where there are none, or where their interval or their price is unknown."""
    interval = report.run.settings.count("eval_interval")
    num = end.schedule.num_evaluations
    if not interval or not num or end.left["evaluation"].seconds is None:
        return None
    return _EvaluationsLeft(num, interval, (end.schedule.max_steps // interval - num) * interval)


def slider_ranges(base: dict[str, Any]) -> list[tuple[str, int, int, int]]:
    """The sliders: name, smallest value, largest, present. They are on a logarithmic scale."""
    found = []
    for name, lower, upper in (("eval_interval", 10, 10), ("checkpoint_interval", 10, 10), ("eval_iters", 20, 4)):
        if base[name]:
            now = int(base[name])
            found.append((name, max(1, now // lower), now * upper, now))
    total = int(base["max_steps"])
    found.append(("max_steps", max(1, min(int(base["last_step"]), total), total // 10), total * 4, total))
    return found
