"""Ledger, schedule and previous runs → the time left, and how sure that is.

Each class of work is counted and priced by itself: steps at the level to come (`level`), evaluations and checkpoints at
their own price (`events`). A previous run of the same program is asked where there is one (`profile`). How far off all
that may be comes from this run's own past and from complete runs (`intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.message import Message, Seconds, say
from stepscope.core.units import NS
from stepscope.forecast.events import StopsLeft, WorkLeft, price_stops
from stepscope.forecast.intervals import Kind, Signs, Spread, spread_of
from stepscope.forecast.level import StepCost, estimate
from stepscope.forecast.pace import Timeline, lay_out
from stepscope.forecast.profile import Profile, follow, weight
from stepscope.forecast.rough import Rough, rough_rest
from stepscope.forecast.schedule import Schedule, plan
from stepscope.forecast.trials import look_back
from stepscope.ledger.attribute import attribute
from stepscope.ledger.phases import Ledger, NormalStep
from stepscope.run.ending import find_ending, is_loop_of_fits
from stepscope.run.model import Run
from stepscope.run.rounding import rounding_of

__all__ = ["Forecast", "NoForecast", "WorkLeft", "forecast"]

# Fewer normal steps than this carry no level.
_LEAST_ROWS = 3
# A run of more years than this has a total that was misread or mistyped: it gets no date.
_MOST_S = 30 * 365.25 * 86_400
_DAY_S = 86_400.0
# A last row of so many steps, each so many times as slow as before, is the new speed; how long it stays is anybody's
# guess (standard deviation of logs).
_CLIFF_STEPS, _CLIFF, _CLIFF_DOUBT = 50, 5.0, 0.7
# Steps to look ahead where the log does not say how many the run has.
_AHEAD = 1000


class Forecast(NamedTuple):
    """The time from the last line to the end of the last step."""

    schedule: Schedule
    level_s: float
    remaining_s: float
    low_s: float
    high_s: float
    confidence: float
    left: dict[str, WorkLeft]
    assumptions: tuple[Message, ...]
    spread: Spread
    lost_s: float  # expected cost of restarts, included in `high_s` only
    like: tuple[str, ...] = ()  # logs of previous runs that were followed

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left."""
        return self.schedule.num_steps == 0

    def probability(self, within_s: float) -> float:
        """How likely the run is done within `within_s` seconds."""
        if self.is_finished:
            return 1.0
        if within_s <= 0 or self.remaining_s <= 0:
            return 0.0
        return self.spread.below(math.log(within_s / self.remaining_s))


class Ahead(NamedTuple):
    """What the next steps take where the run's total is unknown, their evaluations and checkpoints included."""

    num_steps: int
    seconds: float
    num_evaluations: int


class NoForecast(NamedTuple):
    """Why there is no forecast, and the rate if there is one; from which step on there will be, and how soon."""

    reason: Message
    level_s: float | None
    last_step: int | None
    ask_step: int | None = None
    ask_s: float | None = None
    ahead: Ahead | None = None
    rough: Rough | None = None  # what is left by figures that are no forecast


class Outlook(NamedTuple):
    """A forecast before anything learned from other runs: its middle, and the signs of how sure it is."""

    schedule: Schedule
    level: StepCost
    stops: StopsLeft
    seconds: float
    signs: Signs
    like: tuple[str, ...]


def forecast(
    run: Run, ledger: Ledger, *, confidence: float = 0.9, previous: Sequence[Run] = ()
) -> Forecast | NoForecast:
    """When `run` will be done, or what is missing to say so. `previous` are complete runs of the same program."""
    found = look_ahead(run, ledger, previous)
    if isinstance(found, NoForecast):
        return found if find_ending(run) is not None else found._replace(rough=rough_rest(run, ledger, found.level_s))
    schedule = found.schedule
    remaining, spread = found.seconds, spread_of(found.signs)
    if remaining > _MOST_S:
        reason = say("reason-implausible-total", total=schedule.max_steps, left=Seconds(remaining))
        return NoForecast(reason=reason, level_s=found.level.seconds, last_step=int(run.steps.step[-1]))
    edge = (1 - min(max(confidence, 0.01), 0.999)) / 2
    low, high = (remaining * math.exp(spread.at(p)) for p in (edge, 1 - edge))
    lost_s = _lost(run, ledger, found, edge)
    return Forecast(
        schedule=schedule,
        level_s=found.level.seconds,
        remaining_s=remaining,
        low_s=min(low, remaining),
        high_s=max(high, remaining) + lost_s,
        confidence=confidence,
        left=_shares(found, remaining),
        assumptions=_assumptions(run, found),
        spread=spread,
        lost_s=lost_s,
        like=found.like,
    )


def look_ahead(run: Run, ledger: Ledger, previous: Sequence[Run] = ()) -> Outlook | NoForecast:
    """The middle of a forecast and the signs of its quality; what is learned from other runs is not in it."""
    last_step = int(run.steps.step[-1]) if len(run) else None
    if last_step is not None and ledger.step is None and not (run.steps.span > 0).any():
        return NoForecast(reason=say("reason-no-times"), level_s=None, last_step=last_step)
    ending, max_steps = find_ending(run), run.settings.count("max_steps")
    timeline = lay_out(run, ledger)
    if ending is not None and (ledger.step is None or last_step is None or max_steps is None):
        level_s = None if ledger.step is None else _recent_level(ledger.step, timeline)
        return NoForecast(reason=ending.reason, level_s=level_s, last_step=last_step)
    if ledger.step is None or last_step is None:
        return _too_early(run, say("reason-no-steps"), 0, None)
    if is_loop_of_fits(run):
        reason = say("reason-loop-of-fits", count=run.num_trainings)
        return NoForecast(reason=reason, level_s=ledger.step.typical_s, last_step=last_step)
    if max_steps is None:
        level_s = _recent_level(ledger.step, timeline)
        ahead = _ahead(run, ledger, timeline, level_s, last_step)
        return NoForecast(reason=say("reason-no-total"), level_s=level_s, last_step=last_step, ahead=ahead)
    schedule = plan(run, max_steps)
    if ending is not None and ending.value == "finished":
        schedule = schedule.closed(last_step if ending.step is None else ending.step)
    num_rows = ledger.step.num_rows
    if 0 < num_rows < _LEAST_ROWS and len(timeline) < _LEAST_ROWS and schedule.num_steps:
        return _too_early(run, say("reason-too-few", count=num_rows), num_rows, ledger.step.typical_s)
    level = _level(run, ledger, timeline, schedule)
    stops = price_stops(run, ledger, timeline, schedule, level.seconds)
    tried = look_back(timeline, level, generates=run.format.habits.evaluation.generates_text is True)
    seconds = schedule.num_steps * level.seconds + stops.seconds
    seconds += schedule.num_trainings * (ledger.seconds("gap") + ledger.seconds("warmup")) / max(1, run.num_trainings)
    seconds += tried.whole_share * (schedule.num_steps * tried.whole_s - seconds)
    signs = Signs(
        share_done=1 - schedule.num_steps / max(1, schedule.max_steps * (run.num_trainings + schedule.num_trainings)),
        errors=tried.errors,
        drift=level.drift,
        noise=level.noise,
        dispute=level.dispute,
        stops=stops.error_s / seconds if seconds > 0 else 0.0,
        is_blind=_is_blind(run, timeline, stops),
        kind=_kind(run, schedule, timeline),
        family=run.format.name,
        elapsed_s=_since_start(run, timeline),
        rounding=_rounding(run, timeline, untimed=stops.untimed_s / seconds if seconds > 0 else 0.0),
    )
    outlook = Outlook(schedule, level, stops, seconds, signs, like=())
    profile = _profile(run, timeline, previous, max_steps) if seconds > 0 else None
    return outlook if profile is None else _blended(run, outlook, profile)


def _blended(run: Run, own: Outlook, profile: Profile) -> Outlook:
    """The outlook blended with what previous runs took; where they count for most, their signs replace its own."""
    follows_schedule = run.format.habits.step_cost_follows_schedule is True
    share = weight(profile, own.signs.errors, follows_schedule=follows_schedule)
    seconds = math.exp(share * math.log(profile.seconds) + (1 - share) * math.log(own.seconds))
    signs = own.signs._replace(stops=own.stops.error_s / seconds if seconds > 0 else 0.0)
    if share <= 0.5:
        return own._replace(seconds=seconds, signs=signs)
    apart = math.log(profile.seconds / own.seconds)
    if signs.is_blind:
        apart = min(0.0, apart)  # a previous run that took longer knows of stops that this run has yet to reach
    signs = signs._replace(errors=profile.errors, drift=0.0, dispute=0.0, is_blind=False, kind="profile", apart=apart)
    return own._replace(seconds=seconds, signs=signs, like=profile.paths)


def _recent_level(normal: NormalStep, timeline: Timeline) -> float:
    """Seconds of a normal step at the end of the log."""
    return estimate(timeline, normal.regimes, 0).seconds if len(timeline) else normal.typical_s


def _level(run: Run, ledger: Ledger, timeline: Timeline, schedule: Schedule) -> StepCost:
    assert ledger.step is not None
    if not len(timeline):
        # No normal step is printed: the level was inferred from other rows, with unknown precision.
        doubt = 0.3 if ledger.wall_high_s > 1.2 * ledger.wall_s else 0.05
        return StepCost(ledger.step.typical_s, (doubt, -doubt), 0.0, doubt, doubt, False)
    passes = not run.format.habits.step_cost_follows_schedule
    level = estimate(timeline, ledger.step.regimes, schedule.num_steps, passes=passes)
    cliff_s = _cliff_s(run, schedule.num_steps)
    return level if cliff_s is None else level._replace(seconds=cliff_s, dispute=max(level.dispute, _CLIFF_DOUBT))


def _cliff_s(run: Run, steps_left: int) -> float | None:
    """Seconds of a step in the last row, where it covers many and the trainer's own time left goes by them, too.

    One slow step may be a stall; a hundred in a row are the speed that the run has now.
    """
    steps, own_s = run.steps, run.asides.left_s
    rows = np.flatnonzero(steps.span > 0)
    if not own_s or len(rows) < _LEAST_ROWS or any(stop.row == rows[-1] for stop in run.stops):
        return None
    now = float(steps.dur_ns[rows[-1]]) / NS
    usual = float(median(steps.dur_ns[rows[:-1]])) / NS
    is_new = int(steps.span[rows[-1]]) >= _CLIFF_STEPS and now > _CLIFF * usual > 0
    return now if is_new and own_s > steps_left * (now * usual) ** 0.5 else None


def _rounding(run: Run, timeline: Timeline, *, untimed: float) -> tuple[float, float]:
    """How far the time left may be off because of what no figure of the log shows, as shares of it.

    Every row's own time is rounded; and evaluations to come may take time that nothing has shown yet.
    """
    if not len(timeline) or timeline.on_wall:
        return 0.0, 0.0
    found, row_s = rounding_of(run, timeline.row), float(timeline.seconds.mean())
    less, more = (found.less_s / row_s, found.more_s / row_s) if row_s > 0 else (0.0, 0.0)
    return less + run.figure_doubt, more + run.figure_doubt + math.log1p(untimed)


def _since_start(run: Run, timeline: Timeline) -> float:
    """Seconds since the process began that wrote the last line."""
    seconds = timeline.clock[1]
    begun = max((own.first_row for own in run.segments if own.fresh and own.num_rows), default=0)
    if not len(seconds):
        return 0.0
    return float(seconds[-1] - (seconds[begun - 1] if begun else 0.0))


def _kind(run: Run, schedule: Schedule, timeline: Timeline) -> Kind:
    """What cannot be known from the log alone: how the cost of a step will change, or when it evaluates."""
    if run.format.habits.step_cost_follows_schedule:
        return "scheduled"
    inside = run.clock.runs_during("evaluation")
    unknown = schedule.num_evaluations is None and not timeline.holds_stops
    return "unscheduled" if unknown and inside and run.format.habits.evaluates_at_first_step else "own"


def _is_blind(run: Run, timeline: Timeline, stops: StopsLeft) -> bool:
    """Whether evaluations or checkpoints may come that the log has not shown yet, on the forecast's clock."""
    inside = run.clock.runs_during("evaluation") or run.clock.runs_during("checkpoint")
    lines = [line for line in run.format.lines if line.kind in {"evaluation", "checkpoint"}]
    counts = any(inside or timeline.on_wall or line.tells_duration for line in lines)
    return counts and not timeline.stops and not timeline.holds_stops and stops.error_s <= 0


def _profile(run: Run, timeline: Timeline, previous: Sequence[Run], max_steps: int) -> Profile | None:
    if not previous or run.settings.count("max_steps") is None:
        return None
    found = follow(timeline, [lay_out(other, attribute(other)) for other in previous], max_steps)
    return found._replace(paths=tuple(path for other in previous for path in other.paths)) if found else None


def _ahead(run: Run, ledger: Ledger, timeline: Timeline, level_s: float, last_step: int) -> Ahead:
    """The next thousand steps at the present level, with the stops that come between them."""
    schedule = plan(run, last_step + _AHEAD)
    stops = price_stops(run, ledger, timeline, schedule, level_s)
    is_priced = stops.evaluation.seconds is not None and schedule.num_evaluations
    return Ahead(_AHEAD, _AHEAD * level_s + stops.seconds, schedule.num_evaluations or 0 if is_priced else 0)


def _too_early(run: Run, reason: Message, num_rows: int, level_s: float | None) -> NoForecast:
    """Start-up is not over: say from which step on there will be an answer."""
    last_step = int(run.steps.step[-1]) if len(run) else None
    if last_step is None:
        return NoForecast(reason=reason, level_s=level_s, last_step=None)
    every = run.settings.count("log_interval") or 1
    steps = every * (_LEAST_ROWS - num_rows)
    return NoForecast(
        reason=reason,
        level_s=level_s,
        last_step=last_step,
        ask_step=last_step + steps,
        ask_s=None if level_s is None else steps * level_s,
    )


def _shares(found: Outlook, remaining: float) -> dict[str, WorkLeft]:
    """What is left by class; what corrects the whole corrects each class alike, so that they add up."""
    own = found.schedule.num_steps * found.level.seconds + found.stops.seconds
    factor = remaining / own if own > 0 else 1.0

    def corrected(left: WorkLeft) -> WorkLeft:
        return left if left.seconds is None else left._replace(seconds=left.seconds * factor)

    steps_s = found.schedule.num_steps * found.level.seconds - found.stops.in_steps_s
    steps = WorkLeft(num=found.schedule.num_steps, seconds=steps_s)
    return {
        "step": corrected(steps),
        "evaluation": corrected(found.stops.evaluation),
        "checkpoint": corrected(found.stops.checkpoint),
    }


def _assumptions(run: Run, found: Outlook) -> tuple[Message, ...]:
    said = list(found.stops.assumptions)
    if found.like:
        said.insert(0, say("assume-like", path=found.like[0], count=len(found.like)))
    elif found.schedule.num_steps:
        said.insert(0, say("assume-level", duration=Seconds(found.level.seconds)))
    if found.level.is_transient and not found.like:
        said.append(say("assume-passes"))
    if found.schedule.num_trainings:
        steps = found.schedule.max_steps
        said.append(say("assume-further-trainings", count=found.schedule.num_trainings, steps=steps))
    every = run.settings.get("eval_interval")
    if every is not None and every.origin == "default" and found.schedule.num_evaluations:
        said.append(say("assume-default-interval", count=run.settings.count("eval_interval") or 0))
    if run.settings["max_steps"].origin == "default":
        said.append(say("assume-default-total", count=found.schedule.max_steps))
    return tuple(said)


def _lost(run: Run, ledger: Ledger, found: Outlook, edge: float) -> float:
    """What restarts are expected to cost: start-up, and half of the steps between two checkpoints repeated.

    Restarts are taken to be as frequent as so far, and one in two days for a run that has had none. Where a restart is
    less likely than the share that the interval leaves out above (`edge`), it is left out as well.
    """
    restarts = max(0, len(run.segments) - 1)
    rate = (restarts + 0.5) / (ledger.wall_s + _DAY_S)
    saves = run.settings.count("checkpoint_interval") or run.settings.count("eval_interval") or 0
    redone = found.level.seconds * min(saves, found.schedule.max_steps) / 2
    chance = 1 - math.exp(-rate * found.seconds)
    if chance <= edge:
        return 0.0
    each_s = ledger.seconds("warmup") / max(1, len(run.segments)) + redone
    return (1 - edge / chance) * rate * found.seconds * each_s
