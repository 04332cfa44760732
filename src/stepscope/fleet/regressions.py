"""Since when the same configuration takes longer: by commit where it is known, else by the day a run began.

The runs of a configuration are put in order and cut in two where that explains most. A cut counts where chance, over
all places and all configurations, does not explain it. The block bootstrap that compares two runs says how much slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from stepscope.analysis.compare import ratio_of_means
from stepscope.columns.statistics import median
from stepscope.fleet.answer import Amount, Estimate, Regression, RunShare
from stepscope.fleet.moments import moment
from stepscope.fleet.query import Fleet
from stepscope.fleet.tables import Row
from stepscope.run.model import Floats, Ints

# What each iteration costs; a stall, a gap or a warm-up is no property of the code that ran.
_PHASES = ("step", "evaluation", "checkpoint", "data", "communication", "gc", "logging")
_LEAST_RUNS = 8
_LEAST_SIDE = 4
# A smaller change is none that anybody acts on, as within a run.
_LEAST_CHANGE = 0.03
# The chance that a healthy fleet has a regression at all.
_CHANCE = 0.01
# A run that covers less than this share of what is usual pays more for its first evaluation.
_LEAST_LENGTH = 0.5
# Runs further off than this many usual deviations are drawn in: one slow run is no new level.
_FAR = 4.0
_MOST_CHANGES = 3
_MOST_CUTS = 64
_MOST_RUNS = 10

_RUNS = f"""
WITH own AS (
    SELECT read_id, {", ".join(f"sum(seconds) FILTER (WHERE phase = '{name}') AS {name}" for name in _PHASES)}
    FROM phase GROUP BY read_id
), first AS (SELECT "commit", min(started_at) AS at FROM run GROUP BY "commit")
SELECT format, config_hash, devices, gpu, config, uri, read_id, run."commit" AS "commit", epoch(started_at) AS at,
       epoch(first.at) AS commit_at, num_steps, price, weight, {", ".join(f"coalesce({n}, 0) AS {n}" for n in _PHASES)}
FROM run JOIN own USING (read_id) LEFT JOIN first ON first."commit" = run."commit"
WHERE is_timed AND config_hash IS NOT NULL AND started_at IS NOT NULL AND num_steps > 0
      AND NOT list_has_any(coalesce(hosts, []), ?::VARCHAR[])
      AND run.format || config_hash IN (
          SELECT format || config_hash FROM run GROUP BY ALL HAVING count(*) >= {_LEAST_RUNS})
ORDER BY format, config_hash, devices, gpu, started_at, uri
"""


class _Series(NamedTuple):
    """Runs of one configuration in order, the seconds that an iteration of each takes, and where cuts may be."""

    rows: list[Row]
    seconds: Floats
    levels: Floats
    is_by_commit: bool

    def cuts(self, first: int, last: int) -> list[int]:
        """The places between two runs where a new level may begin."""
        places = range(first + _LEAST_SIDE, last - _LEAST_SIDE + 1)
        if not self.is_by_commit:
            return list(places)
        return [at for at in places if self.rows[at]["commit"] != self.rows[at - 1]["commit"]]


class _Change(NamedTuple):
    """A cut of the runs `first` to `last`, and the first and the last place where it may be."""

    first: int
    at: int
    last: int
    low: int
    high: int


def find_regressions(fleet: Fleet, lemons: list[str], confidence: float) -> tuple[Regression, ...]:
    """The configurations that became slower, the costliest first. Runs on lemons say nothing of the code."""
    series = list(_all_series(fleet.rows(_RUNS, [lemons])))
    found = []
    for one in series:
        chance = _CHANCE / len(series)
        for change in _changes(one, 0, len(one.rows), chance, confidence):
            made = _regression(fleet, one, change, confidence)
            if made is not None:
                found.append(made)
    return tuple(sorted(found, key=lambda one: (-one.extra.weighted_s, one.config)))


def _all_series(rows: list[Row]) -> Iterator[_Series]:
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["format"], row["config_hash"], row["devices"], row["gpu"]), []).append(row)
    for own in groups.values():
        usual = float(median([row["num_steps"] for row in own]))
        kept = [row for row in own if row["num_steps"] >= _LEAST_LENGTH * usual]
        if len(kept) < _LEAST_RUNS:
            continue
        is_by_commit = all(row["commit"] is not None for row in kept)
        if is_by_commit:
            kept.sort(key=lambda row: (row["commit_at"], row["commit"], row["at"]))
        seconds = np.array([sum(row[name] for name in _PHASES) / row["num_steps"] for row in kept])
        if (seconds > 0).all():
            yield _Series(kept, seconds, np.log(seconds), is_by_commit)


def _changes(series: _Series, first: int, last: int, chance: float, confidence: float) -> list[_Change]:
    """The changes between two runs of a series: the clearest, then those on either side of it."""
    found: list[_Change] = []
    waiting = [(first, last)]
    while waiting and len(found) < _MOST_CHANGES:
        own = waiting.pop(0)
        change = _change(series, *own, chance, confidence)
        if change is not None:
            found.append(change)
            waiting += [(change.first, change.at), (change.at, change.last)]
    # What comes after a change ends where the next one begins.
    edges = sorted({first, last, *(change.at for change in found)})
    return [
        change._replace(first=edges[edges.index(change.at) - 1], last=edges[edges.index(change.at) + 1])
        for change in found
    ]


def _change(series: _Series, first: int, last: int, chance: float, confidence: float) -> _Change | None:
    cuts, num = series.cuts(first, last), last - first
    if num < _LEAST_RUNS or not cuts:
        return None
    levels = _drawn_in(series.levels[first:last], [cut - first for cut in cuts])
    errors = _errors(levels, np.array(cuts) - first)
    best = int(np.argmin(errors))
    at, error = cuts[best] - first, float(errors[best])
    apart = float(levels[at:].mean() - levels[:at].mean())
    spread = max(error / (num - 2), 1e-12) ** 0.5 * (1 / at + 1 / (num - at)) ** 0.5
    if abs(np.expm1(apart)) < _LEAST_CHANGE or _tail(abs(apart) / spread, num - 2) * len(cuts) > chance:
        return None
    # Hansen's interval of a threshold: all places whose errors are hardly larger.
    allowed = -2 * np.log(1 - confidence**0.5)
    near = [cut for cut, one in zip(cuts, errors, strict=True) if num * (one - error) <= allowed * max(error, 1e-12)]
    return _Change(first, cuts[best], last, min(near), max(near))


def _drawn_in(levels: Floats, cuts: list[int]) -> Floats:
    """The levels, those far off the level of their side drawn in to it."""
    # About where is enough: of many places, some.
    few = cuts[:: -(-len(cuts) // _MOST_CUTS)]
    best = min(few, key=lambda cut: _absolute(levels[:cut]) + _absolute(levels[cut:]))
    parts = []
    for part in (levels[:best], levels[best:]):
        middle = float(median(part))
        reach = _FAR * max(1.4826 * float(median(np.abs(part - middle))), 1e-3)
        parts.append(np.clip(part, middle - reach, middle + reach))
    return np.concatenate(parts)


def _absolute(part: Floats) -> float:
    return float(np.abs(part - median(part)).sum())


def _errors(levels: Floats, cuts: Ints) -> Floats:
    """What two levels leave unexplained, for each place of the cut."""
    centred = levels - levels.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(own)]) for own in (centred, centred**2))
    num = len(levels)
    before = squares[cuts] - sums[cuts] ** 2 / cuts
    after = squares[num] - squares[cuts] - (sums[num] - sums[cuts]) ** 2 / (num - cuts)
    return np.asarray(np.maximum(before + after, 0.0))


def _tail(apart: float, freedom: int) -> float:
    """The chance that Student's t is this far from 0, on either side."""
    # cos(angle)^(freedom - 1) is its density, with angle = atan(t / sqrt(freedom)).
    angles = np.linspace(0.0, np.pi / 2, 20_001)
    density = np.cos(angles) ** (freedom - 1)
    angle = float(np.arctan(apart / freedom**0.5))
    return float(density[angles >= angle].sum() / density.sum())


def _regression(fleet: Fleet, series: _Series, change: _Change, confidence: float) -> Regression | None:
    before, after = series.rows[change.first : change.at], series.rows[change.at : change.last]
    levels = series.seconds[change.first : change.at], series.seconds[change.at : change.last]
    ratio = ratio_of_means(*levels, confidence)
    if ratio[1] <= 1:
        return None  # faster, or perhaps not slower
    old_s, new_s = (float(level.mean()) for level in levels)
    by_phase = {name: _mean(after, name) - _mean(before, name) for name in _PHASES}
    phase = max(by_phase, key=lambda name: by_phase[name])
    shares = [_extra(fleet, row, old_s) for row in after]
    costliest = sorted(shares, key=lambda one: (-one.amount.weighted_s, one.uri))[:_MOST_RUNS]
    at = moment(min(row["at"] for row in after))
    assert at is not None
    return Regression(
        config=after[0]["config"],
        is_by_commit=series.is_by_commit,
        since=_name(series, change.at),
        since_low=_name(series, change.low),
        since_high=_name(series, change.high),
        since_at=at,
        ratio=Estimate(*ratio),
        per_step_s=(old_s, new_s),
        phase=phase,
        phase_share=min(1.0, by_phase[phase] / (new_s - old_s)),
        num_before=len(before),
        num_after=len(after),
        extra=_sum(shares),
        runs=tuple(costliest),
    )


def _mean(rows: list[Row], phase: str) -> float:
    return float(np.mean([row[phase] / row["num_steps"] for row in rows]))


def _extra(fleet: Fleet, row: Row, old_s: float) -> RunShare:
    """What a run took more than it would have at the old level."""
    run_s = max(0.0, sum(row[name] for name in _PHASES) - old_s * row["num_steps"])
    device_s = run_s * (row["devices"] or 0.0) if fleet.has_devices else None
    price = row["price"]
    return RunShare(
        row["uri"], Amount(run_s, device_s, device_s * price / 3600 if device_s and price else None), row["read_id"]
    )


def _sum(shares: list[RunShare]) -> Amount:
    money = [one.amount.money for one in shares if one.amount.money is not None]
    devices = [one.amount.device_s for one in shares if one.amount.device_s is not None]
    run_s = sum(one.amount.run_s for one in shares)
    return Amount(run_s, sum(devices) if devices else None, sum(money) if money else None)


def _name(series: _Series, at: int) -> str:
    """A run's commit, or the day that it began."""
    row = series.rows[at]
    began = moment(row["at"])
    assert began is not None
    return str(row["commit"]) if series.is_by_commit else began.date().isoformat()
