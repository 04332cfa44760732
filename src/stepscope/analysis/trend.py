"""Whether a run gets slower: the commonest question about a log, and one that always has an answer.

A series is steady, drifts, changes its level once, swings between two speeds, or scatters. Levels are compared as
ratios (logarithms), so that the same rules serve seconds a step and rates a second.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from stepscope.columns.statistics import median, quantiles
from stepscope.run.model import Floats, Ints

Kind = Literal["one", "steady", "drift", "jump", "two speeds", "scatter"]
# More rows than this are looked at in blocks, by their medians.
_BLOCKS = 60
# A smaller change is none that anybody acts on, as for levels.
_LEAST_CHANGE = 0.03
# How many standard errors apart two levels are, given that the place of the change was chosen among all places.
_SURE = 4.0
# Two speeds: the gap between them against the spread within them, and the fewest rows and share of each.
_GAP = 1.35
_WIDER = 1.4
_LEAST_EACH = 2
_LEAST_SHARE = 0.1
# Rows in turn: how many turns there are at least, how far apart the two kinds are, how unlikely it is by chance.
_LEAST_TURNS, _MOST_IN_TURN, _LEAST_RATIO, _BY_CHANCE = 4, 12, 1.15, 1_000
_FIRST_ROWS = 200  # nearly always show that rows do not come in turn
# Values this many times the median or more are far off, if they are few.
_FAR = 1.4
_MOSTLY = 0.8
# A new level holds where the last tenth of the blocks, and two at least, is nearer to it than to the old one.
_END, _LEAST_OF_END, _STAYS = 10, 2, 0.5
# Quantiles of fewer values than this are no values of theirs.
_SOME = 20
# Up to this many rows the first and the last speak for themselves.
_FEW = 12
# Two or three rows show a change only where each is further on than the one before, and by this much in all.
_CHANGE_OF_FEW = 0.1
# So many rows, each further on than the one before and so far in all, change whatever the shape of the curve.
_ONE_WAY, _FAR_ON = 5, 0.2


class Trend(NamedTuple):
    """What a series does over its length.

    change
        From the first level to the last, as a share of the first; 0 where it is steady
    first, last
        The levels at either end; of two speeds the more frequent one (or the faster) and the other
    since
        The step from which on the last level holds; None where nothing changes at once
    within
        Half of the range that nine in ten rows lie in, as a share of their median
    other
        The rows at the rarer one of two speeds
    """

    kind: Kind
    change: float
    first: float
    last: float
    since: int | None
    within: float
    low: float
    high: float
    num: int
    other: tuple[int, ...] = ()
    other_low: float = 0.0
    other_high: float = 0.0


def find_trend(values: Floats, steps: Ints, *, is_high_slow: bool = True) -> Trend | None:
    """What positive `values` do, printed at `steps`, in order; None when there is none.

    `is_high_slow`: whether larger values are slower (seconds), not faster (rates).
    """
    own = np.isfinite(values) & (values > 0)
    values, steps = values[own], steps[own]
    if not len(values):
        return None
    middle = float(median(values))
    low, high = (float(edge) for edge in quantiles(_core(values, middle), (0.05, 0.95)))
    plain = Trend("one", 0.0, middle, middle, None, (high - low) / 2 / middle, low, high, len(values))
    if len(values) == 1:
        return plain
    parts = np.array_split(np.arange(len(values)), min(_BLOCKS, len(values)))
    level = np.log(np.array([float(median(values[part])) for part in parts]))
    first_steps = np.array([int(steps[part[0]]) for part in parts])
    return (
        _jump(plain, level, first_steps)
        or _two_speeds(plain, values, steps, is_high_slow=is_high_slow)
        or _in_turn(plain, values, steps, is_high_slow=is_high_slow)
        or _drift(plain, level, values, first_steps)
        or (plain._replace(kind="steady") if plain.within <= 0.1 else _scattered(plain, values))
    )


def _scattered(plain: Trend, values: Floats) -> Trend:
    """Values without order: of a few the least and the largest, of many what nine in ten lie between."""
    if len(values) > _SOME:
        return plain._replace(kind="scatter")
    return plain._replace(kind="scatter", low=float(values.min()), high=float(values.max()))


def _core(values: Floats, middle: float) -> Floats:
    """The values without a few that are far off: single slow steps are no lack of steadiness."""
    near = values[np.abs(np.log(values / middle)) < np.log(_FAR)]
    return near if len(near) >= _MOSTLY * len(values) else values


def _cut(level: Floats) -> tuple[int, float]:
    """Where the series is best cut in two, and what the two parts leave unexplained."""
    cuts = range(1, len(level))
    errors = [_error(level[:cut]) + _error(level[cut:]) for cut in cuts]
    best = int(np.argmin(errors))
    return best + 1, errors[best]


def _error(part: Floats) -> float:
    return float(((part - part.mean()) ** 2).sum())


def _line(level: Floats) -> tuple[float, float]:
    """The slope over the whole length, and what a straight line leaves unexplained."""
    time = np.linspace(-0.5, 0.5, len(level))
    slope = float((time * level).sum() / max(float((time**2).sum()), 1e-12))
    return slope, float(((level - level.mean() - slope * time) ** 2).sum())


def _jump(plain: Trend, level: Floats, steps: Ints) -> Trend | None:
    """One change of level that a line explains worse."""
    if len(level) < 4:
        return None
    at, error = _cut(level)
    slope, along = _line(level)
    before, after = float(median(level[:at])), float(median(level[at:]))
    change = float(np.expm1(after - before))
    spread = (error / max(1, len(level) - 2)) ** 0.5
    apart = abs(after - before) / max(spread * (1 / at + 1 / (len(level) - at)) ** 0.5, 1e-9)
    if abs(change) < _LEAST_CHANGE or apart < _SURE or error > 0.9 * along:
        return None
    if min(at, len(level) - at) == 1 and abs(after - before) < 8 * max(spread, 0.02):
        return None  # a single row is a new level only where it is far off
    if at == len(level) - 1 and _is_again(level):
        return None  # the last row is one of several such rows
    if at == 1 and after < before and len(level) == plain.num:
        return None  # one slow row at the start was no level
    end = float(median(level[max(at, len(level) - max(_LEAST_OF_END, len(level) // _END)) :]))
    if (end - before) / (after - before) < _STAYS:
        return None  # a level that was left again is none that the run has now
    del slope
    return plain._replace(
        kind="jump", change=change, first=float(np.exp(before)), last=float(np.exp(after)), since=int(steps[at])
    )


def _is_again(level: Floats) -> bool:
    """Whether a row before the last one was already most of the way from the others to the last."""
    usual = float(median(level[:-1]))
    way = (level[:-1] - usual) / (level[-1] - usual)
    return bool((way > _STAYS).any())


def _two_speeds(plain: Trend, values: Floats, steps: Ints, *, is_high_slow: bool) -> Trend | None:
    """Rows of two kinds with nothing in between, mixed."""
    num = len(values)
    if num < 6:
        return None
    order = np.argsort(values)
    logs = np.log(values[order])
    gaps = np.diff(logs)
    at = int(np.argmax(gaps)) + 1
    lower, upper = logs[:at], logs[at:]
    inner = max(float(median(np.abs(lower - median(lower)))), float(median(np.abs(upper - median(upper)))))
    few = min(at, num - at)
    is_clear = gaps[at - 1] >= np.log(_GAP) and gaps[at - 1] > _WIDER * inner
    if few < max(_LEAST_EACH, _LEAST_SHARE * num) or not is_clear:
        return None
    return _of_two(plain, values, steps, (order[:at], order[at:]), is_high_slow=is_high_slow)


def _in_turn(plain: Trend, values: Floats, steps: Ints, *, is_high_slow: bool) -> Trend | None:
    """Rows of two kinds that are not far apart but come in turn: every second, or every n-th, is another."""
    num = len(values)
    for every in range(2, min(_MOST_IN_TURN, num // _LEAST_TURNS) + 1):
        for offset in range(every):
            len_own = len(range(offset, num, every))
            if len_own < _LEAST_TURNS or _log_ways(num, len_own) < math.log(_BY_CHANCE * every):
                continue
            if not any(_are_apart(values[:_FIRST_ROWS], every, offset)):
                continue
            is_upper, is_lower = _are_apart(values, every, offset)
            is_own = np.arange(num) % every == offset
            ratio = float(median(values[is_own])) / float(median(values[~is_own]))
            if (is_upper or is_lower) and abs(np.log(ratio)) >= np.log(_LEAST_RATIO):
                own, others = np.flatnonzero(is_own), np.flatnonzero(~is_own)
                parts = (others, own) if is_upper else (own, others)
                return _of_two(plain, values, steps, parts, is_high_slow=is_high_slow)
    return None


def _are_apart(values: Floats, every: int, offset: int) -> tuple[bool, bool]:
    """Whether every n-th value is above all others, and whether it is below all of them."""
    is_own = np.arange(len(values)) % every == offset
    own, others = values[is_own], values[~is_own]
    return bool(own.min() > others.max()), bool(own.max() < others.min())


def _log_ways(num: int, chosen: int) -> float:
    """The logarithm of how many ways there are to choose: the number itself has a million digits for as many rows."""
    return math.lgamma(num + 1) - math.lgamma(chosen + 1) - math.lgamma(num - chosen + 1)


def _of_two(plain: Trend, values: Floats, steps: Ints, parts: tuple[Ints, Ints], *, is_high_slow: bool) -> Trend:
    """The trend of rows of two kinds, those of the lower values and those of the higher."""
    lower, upper = parts
    rare_is_upper = len(upper) < len(lower) or (len(upper) == len(lower) and is_high_slow)
    rare, usual = (upper, lower) if rare_is_upper else (lower, upper)
    first, last = float(median(values[usual])), float(median(values[rare]))
    return plain._replace(
        kind="two speeds",
        change=last / first - 1,
        first=first,
        last=last,
        low=float(values[usual].min()),
        high=float(values[usual].max()),
        other=tuple(int(step) for step in np.sort(steps[rare])),
        other_low=float(values[rare].min()),
        other_high=float(values[rare].max()),
    )


def _drift(plain: Trend, level: Floats, values: Floats, steps: Ints) -> Trend | None:
    """A change all along."""
    del steps
    num = len(level)
    if num < 4:
        is_one_way = bool((np.diff(level) > 0).all() or (np.diff(level) < 0).all())
        first, last = float(values[0]), float(values[-1])
        if not is_one_way or abs(np.log(last / first)) < np.log1p(_CHANGE_OF_FEW):
            return None
        return plain._replace(kind="drift", change=last / first - 1, first=first, last=last)
    moves = np.diff(values)
    if num >= _ONE_WAY and ((moves > 0).all() or (moves < 0).all()) and abs(np.log(values[-1] / values[0])) > _FAR_ON:
        first, last = float(values[0]), float(values[-1])
        return plain._replace(kind="drift", change=last / first - 1, first=first, last=last)
    slope, error = _line(level)
    spread = (error / max(1, num - 2)) ** 0.5
    apart = abs(slope) / max(spread * (12 / num) ** 0.5, 1e-9)
    if abs(np.expm1(slope)) < _LEAST_CHANGE or apart < _SURE:
        return None
    ends = max(1, len(values) // 10)
    first, last = (
        (float(values[0]), float(values[-1]))
        if len(values) <= _FEW
        else (float(median(values[:ends])), float(median(values[-ends:])))
    )
    if (last / first - 1) * slope <= 0:
        return None
    return plain._replace(kind="drift", change=last / first - 1, first=first, last=last)
