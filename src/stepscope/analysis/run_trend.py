"""The trend of a run, in words: of the seconds of its steps or, where only rates are printed, of those."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from stepscope.analysis.trend import Trend, find_trend
from stepscope.columns.statistics import median
from stepscope.core.message import Argument, Decimal, Message, Seconds, Share, Span, say
from stepscope.core.units import NS
from stepscope.ledger.baseline import is_coarse
from stepscope.ledger.levels import Stretch, slower_stretches
from stepscope.ledger.phases import Ledger
from stepscope.run.ending import is_loop_of_fits
from stepscope.run.model import Floats, Ints, Run

# A slow step of such a cause says nothing about the speed of the others.
_APART = frozenset({"evaluation", "checkpoint", "warmup"})
# From this factor on, a change is better said as "times".
_TIMES = 2.0
_EVERY_LEAST = 2
_CALM_ROWS = 3  # normal ones, after which the start is over
# Rows of a coarse clock are looked at together until this many of its ticks have passed.
_TICKS = 40
_SOME_TICKS = 20  # enough to tell rounding from scatter
_MANY_BLOCKS, _LEAST_BLOCKS = 8, 4
_CHANGES = frozenset({"two speeds", "jump", "drift"})
_WORTH_A_WORD = 0.01  # of the time, that a slower stretch cost
_MOSTLY = 0.9
# A level of the ledger may begin this many rows, or this share of them, from where the trend has the change.
_NEAR_ROWS, _NEAR = 3, 0.05
_TICKS_OFF = 1.5  # two times that differ by less may be one


# What is said of seconds, and of rates.
_KEYS = {
    "one": ("trend-one", "rate-one"),
    "one time": ("trend-one-time", "rate-one-time"),
    "steady": ("trend-steady", "rate-steady"),
    "scatter": ("trend-scatter", "rate-scatter"),
    "two speeds": ("trend-two-speeds", "rate-two-speeds"),
    "drift": ("trend-along", "rate-along"),
    "drift times": ("trend-along-times", "rate-along-times"),
    "jump": ("trend-since", "rate-since"),
    "jump times": ("trend-since-times", "rate-since-times"),
}


class RunTrend(NamedTuple):
    """A trend, what it is the trend of, and the sentence about it. `unit` is "s" or what a rate counts."""

    trend: Trend
    unit: str
    message: Message
    every: int | None = None  # the steps at the rarer of two speeds come once in this many


def trend_of(run: Run, ledger: Ledger) -> RunTrend | None:
    """What the speed of `run` does; None where no line tells any speed."""
    steps = run.steps
    if len(run) and (steps.span > 0).any():
        rows = _own_rows(run, ledger)
        trend = _seconds_trend(run, rows)
        by_rates = _by_rates(run) if trend is not None and trend.kind == "one" else None
        if by_rates is not None and by_rates.trend.kind != "one":
            return by_rates  # one time is no trend, but each of its rows may print a rate
        return None if trend is None else _by_levels(trend, run, ledger, rows)
    return _by_rates(run)


def _by_rates(run: Run) -> RunTrend | None:
    """The trend of the rates on the rows; None where they print none."""
    rate = run.asides.rate
    if rate is None or run.asides.rate_unit is None or len(rate) != len(run):
        return None
    trend = find_trend(rate, run.steps.step, is_high_slow=False)
    return None if trend is None else _worded(trend, run.asides.rate_unit, run)


def _by_levels(trend: Trend, run: Run, ledger: Ledger, rows: Ints) -> RunTrend:
    """The trend in the figures of the ledger's levels: findings and the alarm of a slowdown go by those, too."""
    slow = _slower(run, ledger, rows)
    if trend.kind == "one" or ledger.step is None or _is_mixed(trend, slow):
        return _worded(trend, "s", run)
    regimes, most = ledger.step.regimes, max(slow, key=lambda one: one.seconds, default=None)
    at_end = next((one for one in slow if one.last_row == regimes[-1].last_row), None)
    if at_end is not None and at_end.first_row > rows[0]:
        return _worded(_jump(trend, at_end.normal_s, at_end.level_s, at_end.first_step), "s", run)
    if most is None or at_end is not None:
        is_jump = trend.kind == "jump"
        return _worded(trend._replace(since=_level_begins(trend, ledger, rows, run)) if is_jump else trend, "s", run)
    if most.first_row <= rows[0]:
        after = next(one for one in regimes if one.last_row > most.last_row)
        return _worded(_jump(trend, most.level_s, most.normal_s, max(after.first_step, most.last_step + 1)), "s", run)
    between = {"first": most.first_step, "last": most.last_step}
    if trend.kind == "steady":
        steady = _worded(trend, "s", run)
        return steady._replace(message=say("trend-steady-but", **steady.message.args, **between))
    levels = {"level": Seconds(most.level_s), "normal": Seconds(most.normal_s)}
    over = trend._replace(kind="scatter", change=0.0, since=None, other=())
    return RunTrend(over, "s", say("trend-between", **between, **levels))


def _slower(run: Run, ledger: Ledger, rows: Ints) -> list[Stretch]:
    """The slower stretches of the last training that cost enough to be findings."""
    worth_s = _WORTH_A_WORD * ledger.wall_s
    return [
        one for one in slower_stretches(run, ledger) if one.seconds >= worth_s and len(rows) and one.last_row >= rows[0]
    ]


def _is_mixed(trend: Trend, slow: list[Stretch]) -> bool:
    """Whether there are two speeds, and the rarer one is not just that of some stretches."""
    if trend.kind != "two speeds":
        return False
    steps = np.array(trend.other)
    inside = np.zeros(len(steps), dtype=bool)
    for one in slow:
        inside |= (steps >= one.first_step) & (steps <= one.last_step)
    return bool(inside.mean() < _MOSTLY)


def _jump(trend: Trend, before_s: float, after_s: float, since: int) -> Trend:
    change = after_s / before_s - 1
    return trend._replace(kind="jump", change=change, first=before_s, last=after_s, since=since, other=())


def _level_begins(trend: Trend, ledger: Ledger, rows: Ints, run: Run) -> int | None:
    """Since when the last level holds: where the ledger's level changes that way nearby, else as the trend has it."""
    regimes = ledger.step.regimes if ledger.step is not None else ()
    steps = run.steps.step[rows]
    place = rows[int(np.argmax(steps == trend.since))]
    near = max(_NEAR_ROWS, _NEAR * len(rows))
    changes = [
        after
        for before, after in pairwise(regimes)
        if (after.typical_s > before.typical_s) == (trend.change > 0) and abs(after.first_row - place) <= near
    ]
    nearest = min(changes, key=lambda one: abs(one.first_row - place), default=None)
    return trend.since if nearest is None else nearest.first_step


def _seconds_trend(run: Run, rows: Ints) -> Trend | None:
    """The trend of the seconds a step of these rows; by a coarse clock, of several rows together.

    A bar counts whole seconds, so steps of 1.3 s show as 1 s or 2 s, which are no two speeds.
    """
    steps = run.steps
    is_own = np.zeros(len(run), dtype=bool)
    is_own[rows] = True
    is_in_ticks = is_coarse(run, is_own)
    ticks = int((steps.dur_ns[rows] * steps.span[rows]).sum()) // run.tick_ns if is_in_ticks else 0
    trend = find_trend(steps.dur_ns[rows] / NS, steps.step[rows])
    if ticks >= _MANY_BLOCKS * _TICKS:
        together = find_trend(*_blocks(run, rows, _TICKS))
        is_both = trend and together and trend.kind == together.kind == "jump" and trend.change * together.change > 0
        # Single rows say more exactly since when; their levels are the ticks of the clock.
        return together._replace(since=trend.since) if is_both and trend and together else together
    if trend is not None and trend.kind == "scatter" and ticks >= _LEAST_BLOCKS * _SOME_TICKS:
        together = find_trend(*_blocks(run, rows, max(_SOME_TICKS, ticks // _MANY_BLOCKS)))
        return together if together is not None and together.kind == "steady" else trend
    if trend is None or trend.kind not in _CHANGES or not is_in_ticks:
        return trend
    apart = abs(trend.last - trend.first) * float(median(steps.span[rows]))
    if apart * NS > _TICKS_OFF * run.tick_ns:
        return trend
    if ticks < _LEAST_BLOCKS:
        return trend._replace(kind="scatter", change=0.0)
    return find_trend(*_blocks(run, rows, ticks // _LEAST_BLOCKS))


def _blocks(run: Run, rows: Ints, ticks: int) -> tuple[Floats, Ints]:
    """The seconds a step and the first steps of stretches of rows, each of `ticks` of the clock; a rest is left out."""
    span, spent = run.steps.span[rows], run.steps.dur_ns[rows] * run.steps.span[rows]
    firsts = np.flatnonzero(np.diff((np.cumsum(spent) - 1) // (ticks * run.tick_ns), prepend=-1))
    seconds = np.add.reduceat(spent, firsts) / np.add.reduceat(span, firsts) / NS
    whole = slice(None, -1) if len(firsts) > 1 else slice(None)
    return seconds[whole], run.steps.step[rows][firsts][whole]


def _own_rows(run: Run, ledger: Ledger) -> Ints:
    """The rows of the last training whose time is that of training steps, the slow ones among them."""
    is_own = run.steps.span > 0
    if is_loop_of_fits(run):
        return np.flatnonzero(is_own)
    own = [segment for segment in run.segments if segment.training == run.num_trainings - 1]
    is_own[: own[0].first_row if own else 0] = False
    if ledger.step is not None and len(ledger.step.rows):
        is_step = np.zeros(len(run), dtype=bool)
        is_step[ledger.step.rows[ledger.step.rows < len(run)]] = True
        firsts = {segment.first_row for segment in run.segments if segment.fresh}
        begun = int(ledger.step.rows.min()) + _CALM_ROWS  # what compiles again later on may do so every time
        slow = [
            slow.row
            for slow in ledger.slow
            if (slow.cause not in _APART or (slow.cause == "warmup" and slow.row >= begun)) and slow.row not in firsts
        ]
        is_step[[row for row in slow if row < len(run)]] = True
        is_own &= is_step
    return np.flatnonzero(is_own)


def _worded(trend: Trend, unit: str, run: Run) -> RunTrend:
    """The trend with its sentence. A rate that falls is a step that gets longer."""
    is_rate = unit != "s"
    pace = "slower" if (trend.change < 0) == is_rate and trend.change else "faster"
    name: str = trend.kind
    args: dict[str, Argument]
    if trend.kind == "one":
        name = "one" if len(run) == 1 else "one time"
        args = {"level": _level(trend.first, is_rate)} if is_rate else {}
    elif trend.kind == "steady":
        args = {"share": Share(max(trend.within, 0.001))}
        args |= {"level": _level(trend.first, is_rate)} if is_rate else {}
    elif trend.kind == "scatter":
        args = {"low": _level(trend.low, is_rate), "high": _level(trend.high, is_rate)}
    elif trend.kind == "two speeds":
        args = _two_speeds(trend, is_rate) | {"pace": pace}
    else:
        name, args = _changed(trend, is_rate)
        args |= {"pace": pace}
    message = say(_KEYS[name][is_rate], **args, **({"unit": unit} if is_rate else {}))
    return RunTrend(trend, unit, message, _every(trend.other) if trend.kind == "two speeds" else None)


def _level(value: float, is_rate: bool) -> Argument:
    return Decimal(value, _digits(value)) if is_rate else Seconds(value)


def _factor(trend: Trend) -> Decimal:
    factor = max(trend.last / trend.first, trend.first / trend.last)
    return Decimal(factor, 0 if factor >= 10 else 1)


def _two_speeds(trend: Trend, is_rate: bool) -> dict[str, Argument]:
    counts: dict[str, Argument] = {"count": len(trend.other), "total": trend.num, "factor": _factor(trend)}
    if not is_rate:
        return {"own": Span(trend.other_low, trend.other_high), "others": Span(trend.low, trend.high), **counts}
    return {
        "low": _level(trend.low, is_rate),
        "high": _level(trend.high, is_rate),
        "other_low": _level(trend.other_low, is_rate),
        "other_high": _level(trend.other_high, is_rate),
        **counts,
    }


def _changed(trend: Trend, is_rate: bool) -> tuple[str, dict[str, Argument]]:
    """What is said of a level that changed, at once or all along, and its values."""
    args: dict[str, Argument] = {"before": _level(trend.first, is_rate), "after": _level(trend.last, is_rate)}
    if trend.since is not None:
        args["step"] = trend.since
    if _factor(trend).value >= _TIMES:
        return f"{trend.kind} times", args | {"factor": _factor(trend)}
    return trend.kind, args | {"share": Share(abs(trend.change))}


def _every(steps: tuple[int, ...]) -> int | None:
    """How far apart the steps of the rarer speed are, where that is always the same."""
    if len(steps) < _EVERY_LEAST:
        return None
    apart = {after - before for before, after in pairwise(steps)}
    return apart.pop() if len(apart) == 1 else None


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 10 else 2
