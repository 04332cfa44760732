"""Lines of a long log that come once in thousands and say that a model was evaluated or saved.

The beginning, the middle and the end of a file decide how it is read; what comes once an hour may be in none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# `find` goes through a gigabyte a second, a pattern through a tenth of that.
_WORDS = (
    b"alid",
    b"VALID",
    b"eval",
    b"Eval",
    b"EVAL",
    b" val ",
    b"[val",
    b"[VAL",
    b"Test",
    b"[test",
    b"heckpoint",
    b"cc@",
    b"mAP",
    b"BLEU",
    b"aving ",
    b"aved ",
)
_MOST_HITS = 40  # of a word: one that is in every line says nothing rare
_MOST_ALIKE, _MOST_PIECES = 3, 12
_NUMBERS = re.compile(rb"\d[\d.,:e+-]*")
_LINE_BYTES = 1 << 12
_BAR_BEGINS, _BAR_BYTES, _MOST_BARS = b"[00:00<?", 700, 6


def rare_lines(data: bytes) -> list[bytes]:
    """Pieces of whole lines, each with a line that has such a word and the lines around it, in the file's order."""
    seen: dict[bytes, int] = {}
    places: set[int] = set()
    for word in _WORDS:
        at, hits = data.find(word), 0
        while at >= 0 and hits < _MOST_HITS and len(places) < _MOST_PIECES:
            begin, end = data.rfind(b"\n", 0, at) + 1, _end_of_line(data, at)
            shape = _NUMBERS.sub(b"0", data[begin:end][:_LINE_BYTES])
            seen[shape] = seen.get(shape, 0) + 1
            if seen[shape] <= _MOST_ALIKE:
                places.add(begin)
            at, hits = data.find(word, end), hits + 1
        if hits == _MOST_HITS:
            places = {begin for begin in places if word not in data[begin : _end_of_line(data, begin)]}
    pieces = [*_around(data, sorted(places)), *_between_bars(data)]
    return [piece for _, piece in sorted(pieces)]


def _between_bars(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Where drawn bars begin, `0/250 [00:00<?`, with the end of what came before: in between, bars say the same."""
    last = 0
    for _ in range(_MOST_BARS):
        at = data.find(_BAR_BEGINS, last)
        if at < 0:
            return
        first = _begin_of_state(data, max(last, at - _BAR_BYTES))
        last = _begin_of_state(data, min(len(data), at + _BAR_BYTES))
        if first < at < last:
            yield first, data[first:last]
        last = max(last, at + 1)


def _begin_of_state(data: bytes, at: int) -> int:
    """Where the next line begins, or the next state of a bar."""
    ends = [found for found in (data.find(b"\n", at), data.find(b"\r", at)) if found >= 0]
    return min(ends) + 1 if ends else len(data)


def _around(data: bytes, places: list[int]) -> list[tuple[int, bytes]]:
    pieces: list[tuple[int, bytes]] = []
    last = 0
    for begin in places:
        if begin < last:
            continue
        first = max(last, data.rfind(b"\n", 0, max(0, begin - 1)) + 1)
        last = _end_of_line(data, _end_of_line(data, begin))
        if last - first <= _LINE_BYTES:
            pieces.append((first, data[first:last]))
    return pieces


def _end_of_line(data: bytes, at: int) -> int:
    found = data.find(b"\n", at)
    return len(data) if found < 0 else found + 1
