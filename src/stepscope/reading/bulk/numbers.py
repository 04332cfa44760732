"""Printed numbers to whole ones, for all lines of one shape at once, eight digits in three multiplications.

A line is taken as words of eight bytes in which digits stand as 0 to 9 and everything else as zero (`shape` sees to
that). A *window* is eight neighbouring bytes: neighbouring digits are joined in pairs, pairs in fours, fours in eight,
each in one multiplication of the whole word. Whole numbers below 10**15 divided by a power of ten are what `float`
makes of the text, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAX_DIGITS = 15  # whole numbers of that many digits are exact in a double
_MAX_POWER = 22  # and so are powers of ten up to this one
_POWERS = np.array([10.0**power for power in range(_MAX_POWER + 1)])
_PAIR, _FOUR = np.uint16((10 << 8) + 1), np.uint32((100 << 16) + 1)


class Window(NamedTuple):
    """Eight bytes of a line from `start` on; `mask` keeps those that belong to the number (None: all do)."""

    start: int
    mask: int | None
    join: int  # what the first four digits count more than the last four
    factor: int


class Number(NamedTuple):
    """A number at fixed places of a line: whole windows added up, a number of decimals, a sign, perhaps an exponent."""

    windows: tuple[Window, ...]
    decimals: int
    sign: int
    exponent: tuple[Window, int] | None = None


def find_windows(places: Sequence[int], point: int | None, free: frozenset[int]) -> tuple[tuple[Window, ...], int]:
    """The windows for digits at these bytes of a line, and how many decimals their sum has.

    `point` is the byte of the decimal point. `free` are the bytes of the line that hold any digit.
    """
    whole = [place for place in places if point is None or place < point]
    behind = [place for place in places if point is not None and place > point]
    if point is not None and 0 < len(whole) <= 3 and 0 < len(behind) <= 4 and places[-1] - places[0] == len(places):
        # Up to three digits, the point, up to four: one window, whose point counts as a digit 0 and is joined away.
        return (_window(point - 3, [*whole, *behind], free, join=1000, factor=1),), 4
    windows = []
    digits_after = len(places)
    for run in _runs(places):
        digits_after -= len(run)
        windows.append(_window(run[-1] - 7, run, free, join=10_000, factor=10**digits_after))
    return tuple(windows), len(behind)


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Neighbouring places together, at most eight of them."""
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1 and len(runs[-1]) < 8:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _window(start: int, own: Sequence[int], free: frozenset[int], *, join: int, factor: int) -> Window:
    inside = range(start, start + 8)
    is_alone = all(place in own for place in inside if place in free)
    mask = None if is_alone else sum(0xFF << 8 * (place - start) for place in own)
    return Window(start, mask, join, factor)


class Scratch:
    """Arrays that are used again for every block of lines: fresh memory costs a page fault per 4 kB."""

    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[np.uint64]] = {}

    def words(self, name: str, num: int) -> Words:
        """An array of `num` words with any content, the same memory each time for one name."""
        array = self._arrays.get(name)
        if array is None or len(array) < num:
            array = self._arrays[name] = np.empty(max(num, 1024) * 5 // 4, dtype=np.uint64)
        return array[:num]


def whole_numbers(number: Number, words: Words, scratch: Scratch, out: Ints) -> Ints:
    """The number of each line, times ten to the power of its decimals, written to `out`; its sign is left out."""
    first, *others = number.windows
    _window_values(first, words, scratch, out.view(np.uint64))
    if first.factor != 1:
        np.multiply(out, first.factor, out=out)
    for window in others:
        more = scratch.words("more", len(out))
        _window_values(window, words, scratch, more)
        if window.factor != 1:
            np.multiply(more, np.uint64(window.factor), out=more)
        np.add(out, more.view(np.int64), out=out)
    return out


def floats(number: Number, whole: Ints, words: Words, scratch: Scratch) -> Floats:
    """The numbers as `float` would read them; NaN where that is not certain."""
    if number.exponent is None:
        values: Floats = whole / 10.0**number.decimals if number.decimals else whole.astype(np.float64)
    else:
        window, sign = number.exponent
        exponent = scratch.words("exponent", len(whole))
        _window_values(window, words, scratch, exponent)
        power = sign * exponent.view(np.int64) - number.decimals
        small = np.minimum(np.abs(power), _MAX_POWER)
        values = np.where(power < 0, whole / _POWERS[small], whole * _POWERS[small])
        values[np.abs(power) > _MAX_POWER] = np.nan
    return np.negative(values, out=values) if number.sign < 0 else values


def _window_values(window: Window, words: Words, scratch: Scratch, out: Words) -> None:
    """The eight digits of a window as one number."""
    word, byte = divmod(window.start, 8)
    last = len(words) - 1
    if byte == 0:
        source = words[word]
    else:
        source = out
        if word >= 0:
            np.right_shift(words[word], np.uint64(8 * byte), out=out)
        if word < last:
            rest = scratch.words("rest", len(out)) if word >= 0 else out
            np.left_shift(words[word + 1], np.uint64(64 - 8 * byte), out=rest)
            if word >= 0:
                np.bitwise_or(out, rest, out=out)
    if window.mask is not None:
        np.bitwise_and(source, np.uint64(window.mask), out=out)
        source = out
    pairs, fours = out.view(np.uint16), out.view(np.uint32)
    np.multiply(source.view(np.uint16), _PAIR, out=pairs)
    np.right_shift(pairs, np.uint16(8), out=pairs)
    np.multiply(fours, _FOUR, out=fours)
    np.right_shift(fours, np.uint32(16), out=fours)
    np.multiply(out, np.uint64((window.join << 32) + 1), out=out)
    np.right_shift(out, np.uint64(32), out=out)
