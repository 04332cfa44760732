"""The shape of a line: which bytes must be what they are, and which may be any digit."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.reading.bulk.numbers import Scratch, Words

_ALL_BITS = 0xFFFFFFFFFFFFFFFF
_HIGH_BITS = np.uint64(0x8080808080808080)
# A digit behind a letter is part of a name (`d2`, `gpt2`, `Acc@1`), unless that letter is the one of an exponent.
NAME_DIGITS = re.compile(rb"(?<![0-9.][eE])(?<=[A-Za-z_@])[0-9]+(?:[A-Za-z_]+[0-9]+)*")
# A line with every digit made 0 separates lines of one shape from others.
DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")


class LineShape(NamedTuple):
    """The words of a line to compare with.

    A byte that equals its `value` but for the low bits of a digit, plus `room`, stays below 128 exactly when it fits.
    """

    value: tuple[int, ...]
    room: tuple[int | None, ...]  # None for a word without free digits
    inside: int  # the bytes of the last word that are part of the line
    fixed: tuple[tuple[int, int], ...]  # digits that must be what they are, and where


def free_digits(line: bytes, fixed: frozenset[int] = frozenset(), sure: frozenset[int] = frozenset()) -> frozenset[int]:
    """The bytes of a line that may be any digit: not those of `fixed`, nor of names unless they are `sure`."""
    named = {place for found in NAME_DIGITS.finditer(line) for place in range(*found.span())}
    return frozenset(
        place
        for place, byte in enumerate(line)
        if 48 <= byte <= 57 and place not in fixed and (place in sure or place not in named)
    )


def make_shape(line: bytes, free: frozenset[int]) -> LineShape:
    """The shape of a line whose digits at `free` are any digits."""
    width = (len(line) + 7) // 8 * 8
    value = bytearray(line.ljust(width, b"\0"))
    room = bytearray(b"\x7f" * len(line) + b"\0" * (width - len(line)))
    for place in free:
        value[place], room[place] = 0x30, 0x76  # 0 to 9 and 0x76 are below 128, 10 to 15 are not
    inside = (1 << 8 * (len(line) - (width - 8))) - 1
    fixed = tuple((place, byte) for place, byte in enumerate(line) if 48 <= byte <= 57 and place not in free)
    rooms = tuple(
        word if any(place // 8 == index for place in free) else None for index, word in enumerate(_words(room))
    )
    return LineShape(_words(value), rooms, inside, fixed)


def _words(data: bytearray) -> tuple[int, ...]:
    return tuple(int.from_bytes(data[start : start + 8], "little") for start in range(0, len(data), 8))


def compare(
    shape: LineShape, lines: npt.NDArray[np.uint64], scratch: Scratch
) -> tuple[Words, npt.NDArray[np.bool_] | None]:
    """Words of the lines with digits as 0 to 9 and all else zero, one row per word; which lines fit, None for all.

    `lines` has one row per line.
    """
    num, width = lines.shape
    words = scratch.words("words", num * width).reshape(width, num)
    seen, differs, test = (scratch.words(name, num) for name in ("seen", "differs", "test"))
    seen.fill(0)
    differs.fill(0)
    for index in range(width):
        word, room = words[index], shape.room[index]
        np.bitwise_xor(lines[:, index], np.uint64(shape.value[index]), out=word)
        if index == width - 1 and shape.inside != _ALL_BITS:
            np.bitwise_and(word, np.uint64(shape.inside), out=word)
        if room is None:
            np.bitwise_or(differs, word, out=differs)
            continue
        np.add(word, np.uint64(room), out=test)
        np.bitwise_or(seen, test, out=seen)
        # A byte that is far off may overflow into the next one; it shows by itself.
        np.bitwise_or(seen, word, out=seen)
    np.bitwise_and(seen, _HIGH_BITS, out=seen)
    np.bitwise_or(seen, differs, out=seen)
    return words, None if not seen.any() else seen == 0
