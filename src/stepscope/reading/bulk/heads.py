"""The first bytes of lines, to see at once that most of them are like no line that is kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepscope.reading.bulk.numbers import Ints

Bytes = npt.NDArray[np.uint8]
WIDTH = 16
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
# From the first of these on, a line and what is kept of it may differ: numbers, signs, bars.
_ODD = np.zeros(256, dtype=bool)
_ODD[[ord(char) for char in "0123456789+-%|#"]] = True
_WORDS = 5
_FIRST = 4
_PLAIN = ~_ODD  # bytes that are the same in a line and in what is kept of it, wherever they are
_PLAIN[[9, 32]] = False


def is_like_any(
    buffer: Bytes, places: Ints, lengths: Ints, families: tuple[str, ...], remarks: tuple[str, ...]
) -> npt.NDArray[np.bool_]:
    """Which lines may be of one of these families, or begin with the words of one of these remarks."""
    found = np.zeros(len(places), dtype=bool)
    if not len(places):
        return found
    starts, is_indented = _without_blanks(buffer, places, lengths)
    lengths = lengths - (starts - places)
    for texts, of_words in ((families, False), (remarks, True)):
        if not texts:
            continue
        raws = [text.encode("utf-8", errors="replace")[: WIDTH + 1] for text in texts]
        own = np.flatnonzero(_may_begin_alike(buffer, starts, lengths, raws))
        heads, is_cut = _heads(buffer, starts[own], lengths[own], of_words=of_words)
        known = _digests(raws, of_words=of_words)
        # A line that was cut at a place with several blanks is like what is kept up to one of its blanks.
        cut = _digests(sorted(_beginnings(raws)), of_words=of_words)
        found[own] |= np.isin(heads, known) | (is_cut & np.isin(heads, cut))
    return found | is_indented


def _may_begin_alike(buffer: Bytes, starts: Ints, lengths: Ints, raws: list[bytes]) -> npt.NDArray[np.bool_]:
    """Which lines may begin like one of these texts, by their first bytes: a quick look that spares most of them."""
    seen = np.zeros(1 << 16, dtype=bool)
    begun = b"".join(raw[:_FIRST].ljust(_FIRST, b"\0") for raw in raws)
    seen[_mixed(np.frombuffer(begun, dtype="<u4"))] = True
    first = np.ndarray((len(buffer) - _FIRST + 1,), dtype="<u4", buffer=buffer, strides=(1,))[starts]
    is_plain = lengths >= _FIRST
    for place in range(_FIRST):
        is_plain &= _PLAIN[buffer[starts + place]]
    return ~is_plain | seen[_mixed(first)]


def _mixed(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    return (words * np.uint32(2654435761)) >> np.uint32(16)


def _without_blanks(buffer: Bytes, places: Ints, lengths: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Where each line begins behind its blanks, and which lines have too many of them to tell."""
    starts = places.copy()
    for _ in range(WIDTH):
        is_blank = ((buffer[starts] == 32) | (buffer[starts] == 9)) & (starts - places < lengths)
        if not is_blank.any():
            break
        starts += is_blank
    return starts, (buffer[starts] == 32) | (buffer[starts] == 9)


def _beginnings(raws: list[bytes]) -> set[bytes]:
    """The first words of each text, as many as there are."""
    return {raw[:end] for raw in raws for end in range(len(raw) + 1) if raw[end : end + 1] in (b" ", b"")}


def _digests(raws: list[bytes], *, of_words: bool) -> npt.NDArray[np.uint64]:
    """The numbers of texts of which one byte more than counts is given: whether a blank is the last shows by it."""
    kept = np.frombuffer(b"".join(raw.ljust(WIDTH + 1, b"\0") for raw in raws), dtype=np.uint8)
    lengths = np.array([len(raw) for raw in raws], dtype=np.int64)
    return _heads(kept, np.arange(len(raws), dtype=np.int64) * (WIDTH + 1), lengths, of_words=of_words)[0]


def _heads(
    buffer: Bytes, places: Ints, lengths: Ints, *, of_words: bool
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """A number for the first bytes of each line, up to the first number in it; which lines were cut at blanks.

    A line is cut where two blanks follow each other, at a tab and before blanks at its end. `of_words` takes the first
    words only.
    """
    cells = buffer[places[:, None] + np.arange(WIDTH + 1)]
    is_past = np.arange(WIDTH + 1) >= lengths[:, None]
    tab = cells == 9
    blank = (cells == 32) | tab
    cuts = ((blank[:, :-1] & (blank | is_past)[:, 1:]) | tab[:, :-1]) & ~is_past[:, :-1]
    cells = cells[:, :-1]
    ends = _ODD[cells] | is_past[:, :-1] | cuts
    if of_words:
        ends |= blank[:, :-1] & (np.cumsum(blank[:, :-1], axis=1) >= _WORDS)
    cells[np.logical_or.accumulate(ends, axis=1)] = 0
    words = np.ascontiguousarray(cells).view(np.uint64)
    return (words * _MIX).sum(axis=1, dtype=np.uint64), cuts.any(axis=1)
