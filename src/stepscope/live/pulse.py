"""What a run is doing now, by its last line, the silence since then, and the next event of its schedule.

Between two printed lines come the unprinted steps, then the evaluation and the checkpoint if they are due, then the
printed step. The length of the silence shows which of them is going on, and how long it usually takes.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from stepscope.analysis.report import Report
from stepscope.forecast.finish import Forecast
from stepscope.live.silence import Silences, is_evaluation_due, measure
from stepscope.run.model import Run

# "closing": the steps are done, and the process goes on.
Doing = Literal["waiting", "warmup", "training", "evaluation", "checkpoint", "stalled", "closing", "finished", "ended"]

# A run has stalled when it is silent for this many times the expected seconds, and for at least the seconds below.
# Evaluations vary by a tenth, checkpoints on a busy disk by a factor of three. A step of 170 ms has stalled after a
# minute; an evaluation of 25 s has not after 20 s.
_STALL_FACTOR = 5.0
_STALL_LEAST_S = 45.0
# A pause that is in no schedule may take twice as long when it comes again.
_AGAIN_FACTOR = 2.0
# The limit for the first pause of a run: an evaluation seldom takes longer than half the training before it.
_FIRST_SHARE = 0.5
# The first evaluation or checkpoint, and a start with its compile and autotune, may take this long.
_UNKNOWN_LIMIT_S = 1800.0
# A step may take half as long again, and an evaluation a tenth longer, before the next stage is assumed.
_SLACK, _EVALUATION_SLACK = 1.5, 1.1
# With fewer printed steps than this, the time between them is unknown.
_ENOUGH_ROWS = 3


class Pulse(NamedTuple):
    """The present activity, its seconds so far, its usual seconds, and the silence that counts as a stall."""

    doing: Doing
    since_s: float
    usual_s: float | None
    limit_s: float | None


def feel(report: Report | None, quiet_s: float, silences: Silences | None = None) -> Pulse:
    """The pulse of a run whose last line came `quiet_s` ago; `report` is None while nothing was understood yet.

    Pass the `silences` of the report to measure them only once.
    """
    if report is None:
        return Pulse("waiting", quiet_s, None, None)
    if report.is_finished:
        return Pulse("finished", quiet_s, None, None)
    if report.has_ended:
        return Pulse("ended", quiet_s, None, None)
    level_s = _level(report)
    if silences is None and level_s is not None:
        silences = measure(report)
    if level_s is None or silences is None:
        doing: Doing = "stalled" if quiet_s > _UNKNOWN_LIMIT_S else "warmup"
        return Pulse(doing, quiet_s, None, _UNKNOWN_LIMIT_S)
    return _between_lines(report, level_s, silences, quiet_s)


def _between_lines(report: Report, level_s: float, silences: Silences, quiet_s: float) -> Pulse:
    row_s = max(level_s, silences.row_s)
    stages = _stages(report, max(level_s, row_s - level_s), silences)
    expected_s = row_s + sum(seconds or 0.0 for doing, seconds in stages if doing != "training")
    limit_s = max(_STALL_LEAST_S, _STALL_FACTOR * expected_s, _AGAIN_FACTOR * silences.unplanned_s)
    if any(doing == "evaluation" for doing, _ in stages):
        limit_s = max(limit_s, _AGAIN_FACTOR * silences.planned_s)
    if not silences.has_paused:
        limit_s = max(limit_s, min(_UNKNOWN_LIMIT_S, _FIRST_SHARE * silences.elapsed_s))
    if silences.num_rows < _ENOUGH_ROWS or any(seconds is None for _, seconds in stages):
        limit_s = max(limit_s, _UNKNOWN_LIMIT_S)
    if quiet_s > limit_s:
        return Pulse("stalled", quiet_s, expected_s, limit_s)
    begun = 0.0
    for doing, seconds in stages:
        upto = begun + (seconds or 0.0) * (_EVALUATION_SLACK if doing == "evaluation" else 1.0)
        if seconds is None or quiet_s <= upto or doing == stages[-1][0]:
            return Pulse(doing, quiet_s - begun, None if doing == "training" else seconds, limit_s)
        begun = upto
    return Pulse("training", quiet_s, row_s, limit_s)


def _stages(report: Report, silent_s: float, silences: Silences) -> list[tuple[Doing, float | None]]:
    """The activities before the next printed step, in order, each with its usual seconds; None where unknown."""
    run, ledger = report.run, report.ledger
    evaluation_s = ledger.evaluation_price.seconds if ledger.evaluation_price else None
    save_s = ledger.checkpoint_price.seconds if ledger.checkpoint_price else None
    stages: list[tuple[Doing, float | None]] = []
    if not _is_pending(run, "evaluation"):
        stages.append(("training", silent_s * _SLACK))
        if _is_next_evaluation_due(run):
            stages.append(("evaluation", evaluation_s or silences.planned_s or None))
            if save_s is not None and "checkpoint" in run.events.kind:
                stages.append(("checkpoint", save_s))
    elif not _has_ended_before(run, "evaluation"):
        stages.append(("evaluation", evaluation_s))  # some trainers print a line when it begins
    if _is_pending(run, "checkpoint"):
        stages.append(("checkpoint", save_s if save_s is not None or _has_ended_before(run, "checkpoint") else None))
    return stages


def _level(report: Report) -> float | None:
    if isinstance(report.forecast, Forecast):
        return report.forecast.level_s
    return report.ledger.step.typical_s if report.ledger.step else None


def _is_pending(run: Run, kind: str) -> bool:
    """Whether an event of this kind was printed after the last step."""
    return any(
        name == kind and row == len(run) for name, row in zip(run.events.kind[-8:], run.events.row[-8:], strict=True)
    )


def _has_ended_before(run: Run, kind: str) -> bool:
    """Whether an earlier event of this kind was followed by steps."""
    return any(
        name == kind and row < len(run) for name, row in zip(run.events.kind, run.events.row.tolist(), strict=True)
    )


def _is_next_evaluation_due(run: Run) -> bool:
    """Whether the settings put an evaluation between the last printed step and the next."""
    steps = run.steps.step
    every = run.settings.count("log_interval") or (int(steps[-1] - steps[-2]) if len(steps) > 1 else 1)
    last = steps[-1:]
    return bool(is_evaluation_due(run, last, last + max(1, every))[0])
