"""What the level of a run does over its length: flat, one step, a window, a line, or a rise that levels off.

Each shape is fitted to block medians by least squares; the one that pays best for its parameters (BIC) is taken.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.run.model import Floats, Ints

Kind = Literal["flat", "step", "window", "line", "saturating"]
_BLOCKS = 40
# A change smaller than this is no shape anybody acts on, as for levels.
_LEAST_CHANGE = 0.03
_ROUNDED = 1e-9  # far more than running sums of a few numbers near 1 are off
_COST: dict[Kind, int] = {"flat": 1, "step": 3, "window": 4, "line": 3, "saturating": 3}


class Trend(NamedTuple):
    """`change` is from the lowest to the highest fitted level, as a share, negative when it falls."""

    kind: Kind
    change: float
    onset_step: int
    noise: float  # standard deviation of a block median around the fit, as a share


def find_trend(seconds: Floats, steps: Ints) -> Trend:
    """The shape of the normal rows' seconds, in their order."""
    parts = np.array_split(np.arange(len(seconds)), min(_BLOCKS, len(seconds) // 4))
    level = np.array([float(median(seconds[part])) for part in parts])
    first = np.array([int(steps[part[0]]) for part in parts])
    typical = float(median(level))
    if typical <= 0 or len(level) < 6:
        return Trend("flat", 0.0, int(steps[0]), 0.0)
    y = level / typical
    time = (np.arange(len(y)) + 0.5) / len(y)
    fits = _fits(y, time)
    num = len(y)
    # The floor keeps a fit that happens to be perfect from costing nothing.
    scores = {
        kind: num * np.log(max(error / num, 1e-6)) + 2 * _COST[kind] * np.log(num) / 1.5
        for kind, (error, _, _) in fits.items()
    }
    kind = min(scores, key=lambda name: scores[name])
    error, change, onset = fits[kind]
    if abs(change) < _LEAST_CHANGE:
        kind, change = "flat", 0.0
    noise = float(np.sqrt(error / num))
    return Trend(kind, float(change), int(first[min(onset, num - 1)]), noise)


def _fits(y: Floats, time: Floats) -> dict[Kind, tuple[float, float, int]]:
    """Per kind: squared error, change, and the block it sets in at."""
    fits: dict[Kind, tuple[float, float, int]] = {
        "flat": (float(((y - y.mean()) ** 2).sum()), 0.0, 0),
        "step": _step(y),
        "line": _best(y, [(int(at * len(y)), np.maximum(0.0, time - at)) for at in np.arange(0.0, 0.75, 0.05)]),
        "saturating": _best(y, [(0, 1 - np.exp(-time / tau)) for tau in (0.03, 0.06, 0.1, 0.15, 0.25)]),
    }
    window = _window(y)
    if window is not None:
        fits["window"] = window
    return fits


def _change(before: float, after: float) -> float:
    """By what share a level changed; rows that a coarse clock saw at once take no time at all."""
    return float(after) / max(float(before), 1e-9) - 1


def _error(parts: list[Floats]) -> float:
    return float(sum(((part - part.mean()) ** 2).sum() for part in parts if len(part)))


def _step(y: Floats) -> tuple[float, float, int]:
    cuts = range(2, len(y) - 1)
    at = min(cuts, key=lambda cut: _error([y[:cut], y[cut:]]))
    return _error([y[:at], y[at:]]), _change(y[:at].mean(), y[at:].mean()), at


def _window(y: Floats) -> tuple[float, float, int] | None:
    """A stretch at another level between two at the same one."""
    best: tuple[float, float, int] | None = None
    heads = [0.0, *(float(y[:at].mean()) for at in range(1, len(y)))]
    tails = [float(y[at:].mean()) for at in range(len(y))]
    sums, squares = [0.0, *np.cumsum(y).tolist()], [0.0, *np.cumsum(y**2).tolist()]
    for first in range(2, len(y) - 3):
        for last in range(first + 1, len(y) - 1):
            if abs(heads[first] - tails[last]) > 0.05 * tails[last]:
                continue
            if best is not None and _rough_error(sums, squares, first, last) > best[0] + _ROUNDED:
                continue  # nearly all, and this takes a tenth of the time
            outside = np.concatenate([y[:first], y[last:]])
            error = _error([outside, y[first:last]])
            if best is None or error < best[0]:
                best = (error, _change(outside.mean(), y[first:last].mean()), first)
    return best


def _rough_error(sums: list[float], squares: list[float], first: int, last: int) -> float:
    """The error of a window by running sums: the exact one but for rounding."""
    inside, of_inside = sums[last] - sums[first], squares[last] - squares[first]
    outside, num = sums[-1] - inside, last - first
    return of_inside - inside**2 / num + squares[-1] - of_inside - outside**2 / (len(sums) - 1 - num)


def _best(y: Floats, bases: list[tuple[int, Floats]]) -> tuple[float, float, int]:
    """The best of a family: a constant and a multiple of one given curve."""
    found: tuple[float, float, int] | None = None
    for onset, base in bases:
        centred = base - base.mean()
        slope = float((centred * y).sum() / max(float((centred**2).sum()), 1e-12))
        fit = y.mean() + slope * centred
        error = float(((y - fit) ** 2).sum())
        if found is None or error < found[0]:
            found = (error, _change(fit[0], fit[-1]), onset)
    assert found is not None
    return found
