"""Learn how far off forecasts are, from complete logs: makes `src/stepscope/forecast/_learned.py`.

    python tools/learn_forecast.py FOLDER… [--dump samples.jsonl]

Every complete log below the folders is cut at seven places and forecast from there, alone and after a previous run of
its folder. Only programs on the learning side of the hash split of `bench/replay.py` count; the other half is for
scoring and never read into the table. What comes out are numbers alone: weights of what makes up the scale, and
quantiles of scaled errors, stretched until they hold nine in ten of programs left out of the learning.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from moments import Replayed, find_replayed  # noqa: E402
from stepscope.forecast.finish import NoForecast, look_ahead  # noqa: E402
from stepscope.forecast.intervals import LEVELS, PARTS, QUANTILE_TABLES, SHARES, Signs, nearness, quantile_table, scale  # noqa: E402
from stepscope.run.model import Floats  # noqa: E402

TARGET = ROOT / "src" / "stepscope" / "forecast" / "_learned.py"
# Repeats of one program tell less than runs of others: n of them count like n to this power.
_REPEATS = 0.3
# Errors smaller than this are alike.
_FLOOR = 0.002
# What a forecast outside its interval costs, in logs of the interval's width. Logs of errors spread by about 1.2 around
# their scale: there the width that costs least holds nine in ten.
_MISS = 7.0
# So far around the edge, in logs, a forecast is partly outside: else there would be no slope to descend.
_EDGE = 0.3
# Where weights begin and what holds them back a little: errors that shrink as a run goes on, parts at about their size.
# The least size is this at the end of a run, and before it grows as the cube root of how much less was seen. That
# power is held back more: narrow intervals on the whole could be had at the expense of early forecasts.
_START = (0.01, 1 / 3, 0.01, 1 / 3, 0.2, *([0.7] * (len(PARTS) - 2)), 0.2)
_PULL = np.array([0.001, 0.3, 0.001, 0.3, *([0.001] * len(PARTS))])
# No part makes a forecast worse than this many times itself: more would be another part's doing.
_MOST = 4.0
_TURNS = 500
# Quantiles of their own rest on at least this many programs.
_LEAST_PROGRAMS = 8
_ONE_SIDED = 2.0
# What a 90 % interval should hold.
_COVERED = 0.9


class Sample(NamedTuple):
    """One forecast of a complete run, and how far off it was: log(actual / forecast)."""

    signs: Signs
    error: float
    cut: float
    group: str
    path: str


def samples_of(replayed: Replayed) -> list[Sample]:
    """The forecasts of one run: alone, and after a previous run where its folder has one."""
    found = []
    for moment in replayed.moments:
        if moment.run is None or moment.ledger is None:
            continue
        for previous in ((), moment.previous) if moment.previous else ((),):
            outlook = look_ahead(moment.run, moment.ledger, previous)
            if isinstance(outlook, NoForecast) or outlook.seconds <= 0 or (previous and not outlook.like):
                continue
            error = float(np.log(moment.left_s / outlook.seconds))
            # Folders are called owner+repository: forks of one repository are one program.
            group = replayed.program.rpartition("+")[2]
            found.append(Sample(outlook.signs, error, moment.cut or 0.0, group, replayed.path))
    return found


def mass_of(samples: list[Sample]) -> Floats:
    """How much each sample counts."""
    repeats = Counter((s.group, s.signs.kind, s.cut) for s in samples)
    return np.array([repeats[s.group, s.signs.kind, s.cut] ** (_REPEATS - 1) for s in samples])


def _follows(sample: Sample) -> bool:
    """Whether a forecast rests on a previous run."""
    return sample.signs.kind == "profile"


def fit_scale(samples: list[Sample]) -> list[float]:
    """The least size at each share and the weights of the parts under which intervals are narrow and hold what comes.

    The least size is a power of the share: one number for each share would follow the few runs that surprise there.
    A forecast outside its interval costs the same however far outside: a machine that was suspended over night tells
    nothing about runs that look like that one. Descent on the logs of the weights, which keeps them positive, so that
    a part that grows never makes an interval narrower.
    """
    # All were asked at one of the shares, give or take a printed step.
    nearest = [int(np.argmax(nearness(s.signs.share_done))) + len(SHARES) * _follows(s) for s in samples]
    squares = np.hstack([np.eye(2 * len(SHARES))[nearest], np.array([s.signs.parts() for s in samples])]) ** 2
    size = np.log(np.abs([s.error for s in samples]) + _FLOOR)
    mass = mass_of(samples)
    mass = mass / mass.sum()
    shape = _shape()
    start = np.array([math.log(_START[0]), -_START[1], math.log(_START[2]), -_START[3], *np.log(_START[4:])])
    logs, moment, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for turn in range(1, _TURNS + 1):
        terms = squares * np.exp(2 * (shape @ logs))
        whole = terms.sum(axis=1) + 1e-8
        outside = 1 / (1 + np.exp(-np.clip((size - np.log(whole) / 2) / _EDGE, -50, 50)))
        slope = mass * (1 / _MISS - outside * (1 - outside) / _EDGE)
        gradient = shape.T @ (slope[:, None] * (terms / whole[:, None])).sum(axis=0) + _PULL * (logs - start)
        moment = 0.9 * moment + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        speed = 0.04 * (1 - 0.8 * turn / _TURNS)
        logs -= speed * moment / (1 - 0.9**turn) / (np.sqrt(second / (1 - 0.99**turn)) + 1e-9)
        logs[4:] = np.minimum(logs[4:], np.log(_MOST))
    return [round(float(value), 4) for value in np.exp(shape @ logs)]


def _shape() -> Floats:
    """How the logs of all weights come from what is fitted: two straight lines over the log of the share, and parts."""
    line = np.stack([np.ones(len(SHARES)), np.log(SHARES)], axis=1)
    shape = np.zeros((2 * len(SHARES) + len(PARTS), 4 + len(PARTS)))
    shape[: len(SHARES), :2] = line
    shape[len(SHARES) : 2 * len(SHARES), 2:4] = line
    shape[2 * len(SHARES) :, 4:] = np.eye(len(PARTS))
    return shape


def fit_quantiles(samples: list[Sample], weights: list[float]) -> dict[str, list[float]]:
    """Quantiles of errors in scales, for each kind of forecast that has other tails."""
    found = {}
    for name in QUANTILE_TABLES:
        own = [s for s in samples if quantile_table(s.signs) == name]
        own = own if len({s.group for s in own}) >= _LEAST_PROGRAMS else samples
        values = [s.error / scale(s.signs, weights) for s in own]
        found[name] = [round(value, 3) for value in _evened(_quantiles(values, mass_of(own)))]
    return found


def _evened(quantiles: list[float]) -> list[float]:
    """Neither side more than so many times as sure as the other: which way programs go that nobody saw is not known."""
    pairs = list(zip(quantiles, reversed(quantiles), strict=True))
    half = len(quantiles) // 2
    low = [min(own, -other / _ONE_SIDED) for own, other in pairs[:half]]
    high = [max(own, -other / _ONE_SIDED) for own, other in pairs[half + 1 :]]
    return [*low, quantiles[half], *high]


def _quantiles(values: list[float], mass: Floats) -> list[float]:
    order = np.argsort(values)
    ordered, weights = np.array(values)[order], mass[order]
    position = (np.cumsum(weights) - weights / 2) / weights.sum()
    return [float(value) for value in np.interp(LEVELS, position, ordered)]


class Tried(NamedTuple):
    """A forecast with its interval by what other programs tell, both ends as logs of ratios to the forecast."""

    sample: Sample
    begin: float
    end: float

    @property
    def stretch(self) -> float:
        """How many times as wide the interval has to be to hold what came."""
        edge = self.end if self.sample.error > 0 else self.begin
        return abs(self.sample.error / edge) if edge else np.inf


def leave_out(samples: list[Sample]) -> list[Tried]:
    """Every forecast with its 90 % interval, each program by what the others tell."""
    low, high = LEVELS.index(0.05), LEVELS.index(0.95)
    tried = []
    for group in sorted({s.group for s in samples}):
        rest = [s for s in samples if s.group != group]
        weights = fit_scale(rest)
        quantiles = fit_quantiles(rest, weights)
        for sample in (s for s in samples if s.group == group):
            size, own = scale(sample.signs, weights), quantiles[quantile_table(sample.signs)]
            tried.append(Tried(sample, min(0.0, own[low] * size), max(0.0, own[high] * size)))
    return tried


def stretch_of(tried: list[Tried]) -> float:
    """How many times as wide intervals must be to hold nine in ten forecasts of programs that were never seen."""
    order = np.argsort([one.stretch for one in tried])
    mass = mass_of([one.sample for one in tried])[order]
    at = int(np.searchsorted(np.cumsum(mass), _COVERED * mass.sum()))
    return round(float(tried[order[at]].stretch), 3)


def check(tried: list[Tried], stretch: float) -> list[str]:
    """Coverage and median width of the 90 % interval by cut."""
    lines = []
    for cut in sorted({one.sample.cut for one in tried}):
        own = [one for one in tried if one.sample.cut == cut]
        covered = np.mean([one.stretch <= stretch for one in own])
        widths = [(np.exp(stretch * one.end) - np.exp(stretch * one.begin)) / np.exp(one.sample.error) for one in own]
        lines.append(
            f"{cut:.0%}: {len(own)} forecasts, {100 * covered:.0f} % covered, "
            f"median width {100 * np.median(widths):.0f} %"
        )
    return lines


def write(samples: list[Sample], stretch: float, command: str) -> str:
    """The table as the source of a module."""
    weights = fit_scale(samples)
    quantiles = fit_quantiles(samples, weights)
    runs = Counter(s.signs.family for s in {s.path: s for s in samples}.values())
    lines = ['"""How far off forecasts were on complete runs. Made by tools/learn_forecast.py; do not edit."""', ""]
    lines += [
        f"# {command}",
        f"# {sum(runs.values())} runs of {len({s.group for s in samples})} programs and {len(runs)} trainers, "
        f"{len(samples)} forecasts:",
    ]
    told = [f"{family} {num}" for family, num in runs.most_common()]
    lines += [f"# {', '.join(told[i : i + 8])}" for i in range(0, len(told), 8)]
    lines += ["", "# The least scale at each of the SHARES of intervals.py, the same after a previous run, and how"]
    lines += ["# much each of the PARTS counts."]
    lines += ["WEIGHTS = (", *(f"    {weight}," for weight in weights), ")"]
    lines += [
        "# Quantiles of errors in scales, at the LEVELS of intervals.py, times a factor that programs left out of"
    ]
    lines += [f"# the learning asked for: {stretch}.", "QUANTILES = {"]
    for name, values in quantiles.items():
        lines.append(f'    "{name}": {tuple(round(stretch * value, 3) for value in values)},')
    return "\n".join([*lines, "}", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep what was read and sorted here")
    parser.add_argument("--dump", type=Path, metavar="FILE", help="every sample as JSON lines")
    args = parser.parse_args()
    samples: list[Sample] = []
    for replayed in find_replayed(args.folders, cache=args.cache, kept_apart=False, rivals=False):
        samples += samples_of(replayed)
        print(f"{len(samples)} forecasts, {replayed.path}", file=sys.stderr, flush=True)
    if not samples:
        print("no complete log on the learning side of the split", file=sys.stderr)
        return 1
    if args.dump:
        args.dump.write_text("".join(json.dumps(s._asdict()) + "\n" for s in samples), encoding="utf-8")
    tried = leave_out(samples)
    stretch = stretch_of(tried)
    print(f"with whole programs left out, and intervals {stretch} times as wide as they were there:")
    print("\n".join(check(tried, stretch)))
    TARGET.write_text(write(samples, stretch, "python tools/learn_forecast.py FOLDER…"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
