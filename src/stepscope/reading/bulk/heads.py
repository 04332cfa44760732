"""The first bytes of lines, to see at once that most of them are like no line that is kept."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from stepscope.reading.bulk.numbers import Ints

Bytes = npt.NDArray[np.uint8]
WIDTH = 16
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
# From the first of these on, a line and what is kept of it may differ: numbers, signs, bars.
_ODD = np.zeros(256, dtype=bool)
_ODD[[ord(char) for char in "0123456789+-%|#\t"]] = True
_WORDS = 5


def is_like_any(
    buffer: Bytes, places: Ints, lengths: Ints, families: Iterable[str], remarks: Iterable[str]
) -> npt.NDArray[np.bool_]:
    """Which lines may be of one of these families, or begin with the words of one of these remarks."""
    found = np.zeros(len(places), dtype=bool)
    for texts, of_words in ((families, False), (remarks, True)):
        heads, is_odd = _heads(buffer, places, lengths, of_words=of_words)
        raws = [text.encode("utf-8", errors="replace")[:WIDTH] for text in texts]
        kept = np.frombuffer(b"".join(raw.ljust(WIDTH, b"\0") for raw in raws), dtype=np.uint8)
        ends = np.array([len(raw) for raw in raws], dtype=np.int64)
        known, _ = _heads(kept, np.arange(len(raws), dtype=np.int64) * WIDTH, ends, of_words=of_words)
        found |= is_odd | np.isin(heads, known)
    return found


def _heads(
    buffer: Bytes, places: Ints, lengths: Ints, *, of_words: bool
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """A number for the first bytes of each line, up to the first number in it; which lines have blanks in odd places.

    `of_words` takes the first words only.
    """
    cells = buffer[places[:, None] + np.arange(WIDTH)]
    blank = cells == 32
    is_odd = (blank[:, 1:] & blank[:, :-1]).any(axis=1)
    if len(places):
        is_odd |= buffer[places + np.maximum(lengths - 1, 0)] <= 32
    ends = _ODD[cells] | (np.arange(WIDTH) >= lengths[:, None])
    if of_words:
        ends |= blank & (np.cumsum(blank, axis=1) >= _WORDS)
    cells[np.logical_or.accumulate(ends, axis=1)] = 0
    words = np.ascontiguousarray(cells).view(np.uint64)
    return (words * _MIX).sum(axis=1, dtype=np.uint64), is_odd
