"""A previous run of the same program as a profile: how its step cost changed on the way, scaled to this run's pace.

Where the cost of a step follows a schedule (a growing batch, a growing attention window), nothing in the first half of
a log shows the second; a complete run does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stepscope.core.settings import COUNTS
from stepscope.forecast.pace import Timeline
from stepscope.run.model import Floats, Run

_TRIALS = (0.3, 0.5, 0.7, 0.85)
_LEAST_ROWS = 4
# Errors below this are luck, not merit. The change of the previous run after this point counts as this many trials.
_LUCK = 0.005
_CHANGE_COUNTS = 3
# At most this many rows are mishaps, each this many times as long as any other row; shorter logs are not judged.
_MISHAPS, _MISHAP, _ROWS_TO_JUDGE = 3, 3.0, 20
_INCREDIBLE = math.log(2)
# Settings that may differ between two runs without changing the course of their step times.
_MAY_DIFFER = frozenset({"max_steps", "log_interval"})


class Profile(NamedTuple):
    """The forecast by a previous run: the seconds left, and how far off it was on the run so far."""

    seconds: float
    errors: tuple[float, ...]
    pace: float  # seconds of this run over those of the previous one
    change: float  # log of what the previous run still took from here over what its pace until here implied
    paths: tuple[str, ...] = ()


def same_program(run: Run, other: Run) -> bool:
    """Whether another run did the same work: same format, as many steps, and no setting that both state differs."""
    if other.format.name != run.format.name or not len(other) or not len(run):
        return False
    if not set(other.paths).isdisjoint(run.paths):
        return False
    total, theirs = run.settings.count("max_steps"), other.settings.count("max_steps")
    if total is None or int(other.steps.step[-1]) < total - 1 or len(other.segments) > 1:
        return False
    stated_by_both = theirs is not None and run.settings["max_steps"].origin != "flag"
    if stated_by_both and theirs != total:
        return False
    if int(other.steps.step[0]) > max(int(run.steps.step[0]), 0.02 * total):
        return False
    for name in COUNTS:
        mine, its = run.settings.get(name), other.settings.get(name)
        known = mine is not None and its is not None and {mine.origin, its.origin} <= {"log", "config"}
        if known and name not in _MAY_DIFFER and mine is not None and its is not None and mine.value != its.value:
            return False
    return True


def weight(profile: Profile, plain_errors: tuple[float, ...], *, follows_schedule: bool) -> float:
    """How much a profile counts against the run's own forecast: by how each did where the outcome is known.

    For the run's own method that includes the previous run, on which it would have been off by `change`. A schedule
    is the same on a slower machine; what else happens to a run on the way is not, so there another pace speaks
    against the profile like errors of half its size, and one whose steps became twice as slow or fast on the way had
    something happen to it.
    """
    if not follows_schedule and abs(profile.change) > _INCREDIBLE:
        return 0.0
    own = _merit((*plain_errors, *([profile.change] * _CHANGE_COUNTS)))
    strange = () if follows_schedule else (math.log(profile.pace) / 2,) * _CHANGE_COUNTS
    its = _merit((*profile.errors, *strange))
    return own**2 / (own**2 + its**2)


def _merit(errors: tuple[float, ...]) -> float:
    return (sum(error**2 for error in errors) + _LUCK**2) / (len(errors) + 1) + _LUCK**2


def follow(timeline: Timeline, previous: list[Timeline], max_steps: int) -> Profile | None:
    """The forecast by the previous runs; None when they have too little in common with this one to compare."""
    found = [profile for other in previous if (profile := _follow(timeline, other, max_steps)) is not None]
    if not found:
        return None
    # The one in the middle: one odd run among several does not count. Of two, the longer one
    # is likelier to have had a mishap.
    return sorted(found, key=lambda profile: profile.seconds)[(len(found) - 1) // 2]


def _follow(timeline: Timeline, other: Timeline, max_steps: int) -> Profile | None:
    steps, _ = timeline.clock
    if len(timeline) < _LEAST_ROWS or len(other) < _LEAST_ROWS:
        return None
    course = _without_mishaps(other.clock)
    begin, now = max(float(steps[timeline.row[0]]), float(course[0][0])), float(steps[-1])
    if now <= begin:
        return None
    pace = _pace(timeline.clock, course, begin, now)
    to_come = _between(course, now, float(max_steps))
    if pace is None or to_come <= 0:
        return None
    errors = []
    for share in _TRIALS:
        cut = begin + share * (now - begin)
        then = _pace(timeline.clock, course, begin, cut)
        came, said = _between(timeline.clock, cut, now), _between(course, cut, now)
        if then is not None and came > 0 and said > 0 and int(((steps > cut) & (steps <= now)).sum()) >= 2:
            errors.append(math.log(came / (then * said)))
    middle = (begin + now) / 2
    expected = _between(course, middle, now) / (now - middle) * (max_steps - now)
    change = math.log(to_come / expected) if expected > 0 else 0.0
    return Profile(seconds=pace * to_come, errors=tuple(errors), pace=pace, change=change)


def _without_mishaps(clock: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """A run's clock without one-off events: a suspended machine or a hung evaluation is no schedule.

    These are the few rows that took several times as long as any other row of the run.
    """
    steps, seconds = clock
    rows = np.diff(seconds, prepend=0.0)
    if len(rows) < _ROWS_TO_JUDGE:
        return clock
    usual = float(np.partition(rows, -_MISHAPS - 1)[-_MISHAPS - 1])
    return steps, np.cumsum(np.minimum(rows, _MISHAP * usual))


def _pace(own: tuple[Floats, Floats], other: tuple[Floats, Floats], begin: float, end: float) -> float | None:
    """Seconds of this run over those of the other on the later half of a stretch of steps."""
    middle = (begin + end) / 2
    mine, theirs = _between(own, middle, end), _between(other, middle, end)
    return mine / theirs if mine > 0 and theirs > 0 else None


def _between(clock: tuple[Floats, Floats], first: float, last: float) -> float:
    """Seconds from one step to another, straight lines between the printed ones."""
    steps, seconds = clock
    return float(np.interp(last, steps, seconds) - np.interp(first, steps, seconds))
