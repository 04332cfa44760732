"""What is left where a forecast cannot be made: by the trainer's own figure, or by the one or two steps there are.

People paste a single bar and ask how long it will take. That is no forecast, and it is labelled as what it is.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from stepscope.ledger.phases import Ledger
from stepscope.run.model import Run

By = Literal["own", "bar", "few", "two"]
# A figure from one or two steps, or of unknown making, may be off by this factor.
_WIDE = 2.0
# The first step of a process holds its start-up: the others may be this many times as fast.
_START_UP = 5.0


# The trainer's own figure is taken where it is no further than this from what the few steps say: it has seen more. That
# of a bar has seen no more than its clock, from which the mean so far comes.
_ALIKE, _ALIKE_BAR = 3.0, _WIDE
_FIRST_STEPS = 10
_LEAST_ROWS, _MOSTLY = 3, 0.9


class Rough(NamedTuple):
    """Seconds left with a wide interval; `by` says whose figure it is.

    own
        The trainer's own time left
    bar
        The rest of a progress bar, which may be an epoch's
    few
        The steps left at the speed of the few that are printed, with the evaluations that come with them
    two
        Between the rest at the mean speed of a bar and at its latest rate, which are far apart: the speed has changed,
        or its latest steps held something else

    `bar_s` is the rest of the bar where that is less than what is left.
    """

    seconds: float
    low_s: float
    high_s: float
    by: By
    bar_s: float | None = None


def rough_rest(run: Run, ledger: Ledger, level_s: float | None) -> Rough | None:
    """What is left, roughly; None where the lines do not even allow that."""
    if not len(run):
        return None
    asides, total, last = run.asides, run.settings.count("max_steps"), int(run.steps.step[-1])
    is_stated = total is not None and run.settings["max_steps"].origin != "default"
    is_first = is_first_alone(run)
    if level_s and (own_s := _after_first(run, ledger)) is not None:
        level_s = min(level_s, own_s)
    low = 1 / _START_UP if is_first else 1 / _WIDE
    if is_stated and total is not None and level_s and total > last:
        seconds = (total - last) * (level_s + _stops_s(run, ledger))
        is_bar = asides.bar_left == total - last
        alike = _ALIKE_BAR if asides.is_left_of_bar and not is_first else _ALIKE
        if is_bar and asides.left_s and 1 / alike < asides.left_s / seconds < alike:
            return Rough(asides.left_s, asides.left_s * low, asides.left_s * _WIDE, "own")
        if is_bar and asides.left_s and asides.is_left_of_bar and not is_first:
            least, most = sorted((seconds, asides.left_s))
            return Rough((least * most) ** 0.5, least, most, "two")
        bar_s = None if is_bar or not asides.bar_left else asides.left_s or asides.bar_left * level_s
        return Rough(seconds, seconds * low, seconds * _WIDE, "few", bar_s)
    if asides.bar_left and level_s:
        seconds = asides.bar_left * level_s
        return Rough(seconds, seconds * low, seconds * _WIDE, "bar")
    if not asides.left_s or (is_stated and total is not None and total <= last):
        return None
    return Rough(asides.left_s, asides.left_s * low, asides.left_s * _WIDE, "bar" if asides.is_left_of_bar else "own")


def is_first_alone(run: Run) -> bool:
    """Whether the only row is that of the first steps of a run, which include its start."""
    return len(run) == 1 and run.segments[-1].fresh and int(run.steps.step[-1]) <= _FIRST_STEPS


def _after_first(run: Run, ledger: Ledger) -> float | None:
    """The normal step where what took longer lies in the first row: that has been, and does not come again."""
    if ledger.step is None or len(run) < _LEAST_ROWS or not ledger.slow:
        return None
    excess = {slow.row: sum(part.seconds for part in slow.parts if part.phase != "step") for slow in ledger.slow}
    return ledger.step.typical_s if excess.get(0, 0.0) > _MOSTLY * sum(excess.values()) else None


def _stops_s(run: Run, ledger: Ledger) -> float:
    """What evaluations and checkpoints add to a step, where it is known how far apart they are."""
    found = 0.0
    for phase, interval in (("evaluation", "eval_interval"), ("checkpoint", "checkpoint_interval")):
        total = next((own for own in ledger.phases if own.phase == phase), None)
        if total is None or total.seconds <= 0:
            continue
        every = run.settings.count(interval) or run.settings.count("steps_per_epoch")
        covered = int(run.steps.span.sum())
        if every or total.num > 1:
            found += total.seconds / max(covered, every or 0)
    return found
