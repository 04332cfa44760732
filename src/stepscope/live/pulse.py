"""What a run is doing at this moment: from its last line, how long it has been quiet, and what comes next by its plan.

Between two printed lines lie the silent steps, then the evaluation and the save if they are due, then the printed step.
Whoever waits for a line knows from that which of them must be going on, and how long it usually takes.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from stepscope.forecast.finish import Forecast
from stepscope.report.build import Report
from stepscope.run import Run

Doing = Literal["waiting", "warmup", "training", "evaluation", "checkpoint", "stalled", "finished", "ended"]

# Quiet for this many times what should have passed, and never less than so many seconds: something is wrong.
# Evaluations vary by a tenth, saves on a busy disk by a factor of three; a step of 170 ms is stalled after a minute,
# an evaluation of 25 s not after 20.
_STALL_FACTOR = 5.0
_STALL_LEAST_S = 30.0
# Compiling a large model takes minutes, autotuning more.
_WARMUP_LIMIT_S = 1800.0
# The step that is going on may take half as long again before another explanation is looked for.
_SLACK = 1.5


class Pulse(NamedTuple):
    """What goes on, for how long already, how long it usually takes, and from when on it counts as stalled."""

    doing: Doing
    since_s: float
    usual_s: float | None
    limit_s: float | None


def feel(report: Report | None, quiet_s: float) -> Pulse:
    """The pulse of a run whose last line came `quiet_s` ago; `report` is None while nothing was understood yet."""
    if report is None:
        return Pulse("waiting", quiet_s, None, None)
    if _has_finished(report):
        return Pulse("finished", quiet_s, None, None)
    if report.has_ended:
        return Pulse("ended", quiet_s, None, None)
    level_s = _level(report)
    if not len(report.run) or level_s is None:
        doing: Doing = "stalled" if quiet_s > _WARMUP_LIMIT_S else "warmup"
        return Pulse(doing, quiet_s, None, _WARMUP_LIMIT_S)
    return _between_lines(report, level_s, quiet_s)


def _between_lines(report: Report, level_s: float, quiet_s: float) -> Pulse:
    run, ledger = report.run, report.ledger
    every = run.settings.count("log_interval") or 1
    last = int(run.steps.step[-1])
    evaluation_s = ledger.evaluation_price.seconds if ledger.evaluation_price else None
    save_s = ledger.checkpoint_price.seconds if ledger.checkpoint_price else None
    evaluated = _has_event(run, "evaluation")
    stages: list[tuple[Doing, float]] = []
    if not evaluated:
        stages.append(("training", max(1, every - 1) * level_s * _SLACK))
        if _is_due(run, last, every):
            # Nothing says yet what one takes: as long as warm-up may, it is taken for one.
            stages.append(("evaluation", evaluation_s if evaluation_s is not None else _WARMUP_LIMIT_S))
    if _has_event(run, "checkpoint"):
        stages.append(("checkpoint", save_s if save_s is not None else 0.0))
    due_s = sum(seconds for doing, seconds in stages if doing != "training")
    expected_s = every * level_s + due_s + (save_s or 0.0 if due_s else 0.0)
    limit_s = max(_STALL_LEAST_S, _STALL_FACTOR * expected_s)
    if quiet_s > limit_s:
        return Pulse("stalled", quiet_s, expected_s, limit_s)
    begun = 0.0
    for doing, seconds in stages:
        if quiet_s <= begun + seconds or (doing, seconds) == stages[-1]:
            return Pulse(doing, quiet_s - begun, None if doing == "training" else seconds, limit_s)
        begun += seconds
    return Pulse("training", quiet_s, every * level_s, limit_s)


def _level(report: Report) -> float | None:
    if isinstance(report.forecast, Forecast):
        return report.forecast.level_s
    return report.ledger.step.typical_s if report.ledger.step else None


def _has_finished(report: Report) -> bool:
    return isinstance(report.forecast, Forecast) and report.forecast.is_finished


def _has_event(run: Run, kind: str) -> bool:
    """Whether such an event was printed after the last step."""
    return any(
        name == kind and row == len(run) for name, row in zip(run.events.kind[-8:], run.events.row[-8:], strict=True)
    )


def _is_due(run: Run, last: int, every: int) -> bool:
    """Whether an evaluation lies between the last printed step and the next."""
    interval = run.settings.count("eval_interval")
    if interval is None or not ("evaluation" in run.clock.includes or run.clock.covers == "stamp"):
        return False
    return (last + every) // interval > last // interval
