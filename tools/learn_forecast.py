"""Learn how far off forecasts are, from complete logs: makes `src/stepscope/forecast/_learned.py`.

    python tools/learn_forecast.py FOLDER… [--dump samples.jsonl]

Every complete log below the folders is cut at seven places and forecast from there, alone and after a previous run of
its folder. Only programs on the learning side of the hash split of `bench/replay.py` count; the other half is for
scoring and never read into the table. What comes out are numbers alone: weights of what makes up the scale, and
quantiles of scaled errors by trainer and share of steps done.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from replay import CUTS, Case, find_cases, group, is_kept_apart  # noqa: E402
from stepscope.cadence import with_settings  # noqa: E402
from stepscope.errors import StepscopeError  # noqa: E402
from stepscope.forecast.finish import NoForecast, look_ahead  # noqa: E402
from stepscope.forecast.intervals import BUCKETS, LEVELS, PARTS, Signs, bucket, scale  # noqa: E402
from stepscope.forecast.previous import find_previous  # noqa: E402
from stepscope.ledger.attribute import attribute  # noqa: E402

TARGET = ROOT / "src" / "stepscope" / "forecast" / "_learned.py"
KINDS = ("own", "unscheduled", "scheduled", "profile")
# A trainer's own runs count so much more than a stranger's, once there are enough to tell of one in twenty; fewer count
# in proportion. A trainer gets rows of its own from so many runs on.
OWN_FAMILY, ENOUGH_RUNS = 4.0, 20
LEAST_RUNS = 3
# Forecasts that are known to leave something out are corrected by what it was elsewhere.
BIASED = ("unscheduled",)
# A correction learned from n runs counts n / (n + this).
SHRINK = 3.0
# What no sample speaks about stays where it is.
_PULL = 1e-4
_FORESEEABLE = 0.25


class Sample(NamedTuple):
    """One forecast of a complete run, and how far off it was: log(actual / foretold)."""

    signs: Signs
    error: float
    group: str
    path: str


def samples_of(case: Case) -> list[Sample]:
    """The forecasts of one run: alone, and after a previous run where its folder has one."""
    found = []
    for cut in CUTS:
        row = case.row_at(cut)
        left = case.left(row) if row >= 0 else 0.0
        if left <= 0:
            continue
        try:
            run = with_settings(case.prefix(row), flags={"max_steps": case.total} if case.stated else {})
        except StepscopeError:
            continue
        ledger = attribute(run)
        for previous in ([], find_previous(run)):
            outlook = look_ahead(run, ledger, previous)
            if isinstance(outlook, NoForecast) or outlook.seconds <= 0 or (previous and not outlook.like):
                continue
            error = float(np.log(left / outlook.seconds))
            found.append(Sample(outlook.signs, error, group(case), str(case.path)))
            if not previous and not find_previous(run):
                break
    return found


def learn(samples: list[Sample]) -> tuple[dict[str, list[float]], dict[str, list[list[float]]]]:
    """The weights of the scale by kind, and per family, kind and stretch: the correction and the quantiles."""
    scales: dict[str, list[float]] = {}
    table: dict[str, list[list[float]]] = {}
    pooled = _fit_scale(samples)
    for kind in KINDS:
        own = [sample for sample in samples if sample.signs.kind == kind]
        scales[kind] = _fit_scale(own) if len({s.path for s in own}) >= 12 else pooled
        families = Counter(sample.signs.family for sample in {s.path: s for s in own}.values())
        for family in ["*", *sorted(name for name, num in families.items() if num >= LEAST_RUNS)]:
            rows = [_row(own, index, family, scales[kind]) for index in range(len(BUCKETS))]
            table[f"{family}/{kind}"] = rows
    return scales, table


def _row(everything: list[Sample], stretch: int, family: str, weights: list[float]) -> list[float]:
    """Correction and quantiles of one stretch; empty where too few runs tell.

    Errors in scales are alike in neighbouring stretches: three are taken together, which steadies the tails.
    """
    samples = [s for s in everything if abs(bucket(s.signs.share_done) - stretch) <= 1]
    here = [s for s in samples if bucket(s.signs.share_done) == stretch]
    own = [s for s in here if s.signs.family == family]
    if len(own if family != "*" else here) < LEAST_RUNS or len(here) < 5:
        return []
    bias = 0.0
    # Only what a log leaves out has a direction; the errors of the rest are as often up as down.
    if own and own[0].signs.kind in BIASED:
        bias = float(np.median([s.error for s in own])) * len(own) / (len(own) + SHRINK)
    trust = max(1.0, OWN_FAMILY * min(1.0, len(own) / ENOUGH_RUNS))
    values, mass = [], []
    for sample in samples:
        is_own = sample.signs.family == family
        offset = bias if is_own else 0.0
        values.append((sample.error - offset) / scale(sample.signs, weights))
        mass.append(trust if is_own else 1.0)
    return [round(bias, 4), *(round(q, 3) for q in _quantiles(values, mass))]


def _quantiles(values: list[float], mass: list[float]) -> list[float]:
    """Weighted quantiles, a little further out than the sample's own: it has not seen the worst."""
    order = np.argsort(values)
    ordered, weights = np.array(values)[order], np.array(mass)[order]
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    position = (np.cumsum(weights) - weights / 2) / weights.sum()
    levels = [0.5 + (p - 0.5) * (1 + 1 / effective) for p in LEVELS]
    found = np.interp(levels, position, ordered)
    # Beyond the sample's ends the tail goes on as a normal one would.
    for index, level in enumerate(levels):
        if level < position[0] or level > position[-1]:
            found[index] = ordered[0 if level < 0.5 else -1] * (1.15 if index in {0, len(levels) - 1} else 1.05)
    return [float(value) for value in np.maximum.accumulate(found)]


def _fit_scale(samples: list[Sample]) -> list[float]:
    """The least size by stretch and the weights of the parts under which the errors are likeliest (Laplace's law).

    Descent on the logs of the weights: they stay positive, and there are a dozen.
    """
    if not samples:
        return [0.03] * (len(BUCKETS) + len(PARTS))
    stretch = np.eye(len(BUCKETS))[[bucket(s.signs.share_done) for s in samples]]
    squares = np.hstack([stretch, np.array([s.signs.parts() for s in samples]) ** 2])
    # What nobody could have known (a schedule, a new tenant) is for the quantiles, not for the scale of the rest.
    errors = np.array([min(abs(s.error), _FORESEEABLE) for s in samples])
    say = np.full(len(samples), 1 / len(samples))
    logs = np.log([0.02] * len(BUCKETS) + [0.5] * (len(PARTS) - 1) + [0.05])
    speed, moment, second = 0.03, np.zeros_like(logs), np.zeros_like(logs)
    for turn in range(1, 1501):
        terms = squares * np.exp(2 * logs)
        size = np.sqrt(terms.sum(axis=1) + 1e-8)
        slope = say * (1 / size - errors / size**2) / size
        gradient = (slope[:, None] * terms).sum(axis=0) + _PULL * (logs - np.log(0.3))
        moment = 0.9 * moment + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        logs -= speed * moment / (1 - 0.9**turn) / (np.sqrt(second / (1 - 0.99**turn)) + 1e-9)
    return [round(float(value), 4) for value in np.exp(logs)]


def write(samples: list[Sample], command: str) -> str:
    """The table as the source of a module."""
    scales, table = learn(samples)
    runs = Counter(s.signs.family for s in {s.path: s for s in samples}.values())
    lines = ['"""How far off forecasts were on complete runs. Made by tools/learn_forecast.py; do not edit."""', ""]
    lines += [
        f"# {command}",
        f"# {sum(runs.values())} runs of {len(runs)} trainers, {len(samples)} forecasts:",
    ]
    told = [f"{family} {num}" for family, num in runs.most_common()]
    lines += [f"# {', '.join(told[i : i + 8])}" for i in range(0, len(told), 8)]
    lines += ["", "# Weights of the scale's features, by kind of forecast.", "SCALE: dict[str, tuple[float, ...]] = {"]
    lines += [f'    "{kind}": {tuple(weights)},' for kind, weights in scales.items()]
    lines += [
        "}",
        "# Per stretch of a run: the correction, then quantiles of errors in scales. Empty where too few runs tell.",
    ]
    lines += ["TABLE: dict[str, tuple[tuple[float, ...], ...]] = {"]
    for key, rows in table.items():
        lines += [f'    "{key}": (', *(f"        {tuple(row)}," for row in rows), "    ),"]
    return "\n".join([*lines, "}", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--dump", type=Path, metavar="FILE", help="every sample as JSON lines")
    args = parser.parse_args()
    samples: list[Sample] = []
    for case in find_cases(args.folders):
        if not is_kept_apart(case):
            samples += samples_of(case)
            print(f"{len(samples)} forecasts, {case.path}", file=sys.stderr, flush=True)
    if not samples:
        print("no complete log on the learning side of the split", file=sys.stderr)
        return 1
    if args.dump:
        args.dump.write_text("".join(json.dumps(s._asdict()) + "\n" for s in samples), encoding="utf-8")
    TARGET.write_text(write(samples, "python tools/learn_forecast.py FOLDER…"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
