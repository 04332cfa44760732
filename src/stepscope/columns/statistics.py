"""Median, quantiles and distinct values, as NumPy has them.

NumPy's own look whether an array is masked, and so import `numpy.ma` when first called: 13 ms of a start-up that needs
none of it. On the small arrays we have they also take several times as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

_FURTHEST, _HALVINGS = 10.0, 60

Method = Literal["linear", "lower", "higher"]


@overload
def median(values: npt.ArrayLike, axis: None = None) -> float: ...
@overload
def median(values: npt.ArrayLike, axis: int) -> npt.NDArray[Any]: ...


def median(values: npt.ArrayLike, axis: int | None = None) -> float | npt.NDArray[Any]:
    """The median of all values, or along an axis; NaN where a value is NaN or there is none."""
    array = np.asarray(values)
    num = array.size if axis is None else array.shape[axis]
    if not num:
        return np.nan if axis is None else np.full(np.delete(array.shape, axis), np.nan)
    middle = num // 2
    # NaN sorts last, so the largest value shows whether there is one.
    low = middle if num % 2 else middle - 1
    part = np.partition(array, [low, middle, num - 1], axis=axis)
    if axis is None:
        found = (float(part[low]) + float(part[middle])) / 2 if low != middle else float(part[middle])
        return np.nan if part[-1] != part[-1] else found
    two = np.take(part, [low, middle] if low != middle else [middle], axis=axis).mean(axis=axis)
    return np.where(np.isnan(np.take(part, -1, axis=axis)), np.nan, two)


def quantiles(values: npt.ArrayLike, shares: Sequence[float], *, method: Method = "linear") -> list[float]:
    """The quantiles of some values at these shares of 1; NaN where a value is NaN or there is none.

    method
        Between two values: the point between them, the lower or the higher one.
    """
    ordered = np.sort(np.asarray(values), axis=None)
    if not len(ordered) or ordered[-1] != ordered[-1]:
        return [math.nan] * len(shares)
    found = []
    for share in shares:
        place = share * (len(ordered) - 1)
        low = math.floor(place) if method != "higher" else math.ceil(place)
        one = float(ordered[low])
        between = place - low
        if method == "linear" and between:
            other = float(ordered[low + 1])
            # As NumPy does it, from the nearer end: exact to the last bit.
            rise = other - one
            one = other - rise * (1 - between) if between >= 0.5 else one + rise * between
        found.append(one)
    return found


def quantile(values: npt.ArrayLike, share: float, *, method: Method = "linear") -> float:
    """The quantile of some values at a share of 1: see `quantiles`."""
    return quantiles(values, (share,), method=method)[0]


def distinct(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """The distinct values, in order. NaN is not expected."""
    ordered = np.sort(np.asarray(values), axis=None)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def normal_quantile(share: float) -> float:
    """How many standard deviations above the mean this share of a normal distribution ends.

    `statistics.NormalDist` says the same, and imports `random` and `fractions` for it.
    """
    low, high = -_FURTHEST, _FURTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if 0.5 * math.erfc(-middle / math.sqrt(2)) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2
