"""The median. `numpy.median` imports `numpy.ma` when first called: 13 ms of a start-up that needs none of it."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt


@overload
def median(values: npt.ArrayLike, axis: None = None) -> float: ...
@overload
def median(values: npt.ArrayLike, axis: int) -> npt.NDArray[Any]: ...


def median(values: npt.ArrayLike, axis: int | None = None) -> float | npt.NDArray[Any]:
    """The median of all values, or along an axis; NaN where a value is NaN or there is none. As `numpy.median`."""
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
