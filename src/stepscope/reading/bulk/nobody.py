"""Which lines surely belong to no format, found without asking the ordinary reader about each of them.

Every pattern has words of which each of its matches contains one (`lines/sieve.py`). A line without any of them, and
without a prefix, belongs to nobody. Words are looked for in a whole batch of lines at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from stepscope.columns.statistics import distinct
from stepscope.lines import folds, notices, runtimes
from stepscope.lines.format import Format
from stepscope.lines.match import SEARCHED
from stepscope.lines.prefix import digits_may_be_prefix, split_prefix
from stepscope.lines.sieve import certain_chars, certain_words, on_one_line
from stepscope.reading.bulk.line_shape import DIGITS_TO_ZERO
from stepscope.reading.bulk.numbers import Ints
from stepscope.reading.bulk.recipe import may_be_notice

_LEAST_LINES = 500  # fewer are quicker read one by one
_LINE_BYTES = 1000
_MAX_KNOWN = 50_000
_FEW_TRIED = 4  # one line in so many is quicker tried by itself
_MIX = np.uint64(0x9E3779B97F4A7C15)
_GRAM = 4
_GRAM_BITS = 18
_LEVELS = ("INFO", "DEBUG", "WARN", "ERROR", "CRITICAL")
_NAME = re.compile(r"\(\?P<\w+>")
_ODD_BYTES = np.ones(256, dtype=bool)
_ODD_BYTES[[9, 10, 13, *range(32, 127)]] = False


class Nobody:
    """Finds lines that no line of a format and no notice can be."""

    def __init__(self, fmt: Format) -> None:
        self._format = fmt
        self._is_prepared = False  # that takes longer than reading a short log
        self._is_usable = True
        self._known: dict[bytes, bool] = {}

    def _prepare(self) -> None:
        """Take the patterns apart."""
        words: set[str] = set(_LEVELS)
        always = [notices.EXCEPTION.pattern]  # what must be tried
        for line in self._format.lines:
            found = certain_words(line.pattern)
            if "" in found:
                always.append(line.pattern)
                self._is_usable &= line.kind not in SEARCHED and "(?P=" not in line.pattern
            else:
                words |= found
        tried = "|".join(f"(?:{_NAME.sub('(?:', pattern)})" for pattern in always)
        self._never = re.compile(tried)
        self._marks = _bytes_of(always)
        # A pattern that begins with a newline is looked for twice as fast as one that begins at any line's start.
        self._anywhere = re.compile(f"\\n[ \\t]*+(?={on_one_line(tried)})", re.MULTILINE)
        self._words = _rows_of(words)
        self._asking = _rows_of(
            notices.words() | set(runtimes.WORDS) | set(folds.WORDS)
        )  # a line with one of them is looked at
        self._is_prepared = True

    def find(self, buffer: npt.NDArray[np.uint8], places: Ints, lengths: Ints, lines: Ints) -> Ints:
        """Those of `lines` that belong to no format."""
        lines = lines[(lengths[lines] >= 1) & (lengths[lines] < _LINE_BYTES)]
        if len(lines) < _LEAST_LINES:
            return lines[:0]
        if not self._is_prepared:
            self._prepare()
        if not self._is_usable:
            return lines[:0]
        start, end = int(places[0]), int(places[-1])
        data = buffer[start:end].tobytes()
        grams = _Grams(buffer[start : end + _GRAM])
        named = np.zeros(len(lengths), dtype=bool)
        asking = np.zeros(len(lengths), dtype=bool)
        for words, mark in ((self._words, named), (self._asking, asking)):
            for word in words:
                if grams.may_hold(word):
                    mark[np.searchsorted(places, _positions(data, word, start), side="right") - 1] = True
        # Odd bytes are left to the ordinary reader.
        odd = np.flatnonzero(_ODD_BYTES[buffer[start:end]]) + start
        named[np.searchsorted(places, odd, side="right") - 1] = True
        is_plain = not (buffer[start:end] == 13).any()
        if is_plain:
            self._mark_claimed(buffer, places, named)
        lines = lines[~named[lines]]
        digits = np.flatnonzero((buffer[start:end] >= 48) & (buffer[start:end] <= 57)) + start
        asking[np.searchsorted(places, digits, side="right") - 1] = True
        if not is_plain:
            asking[:] = True
        unsure = lines[asking[lines]]
        sure = self._are_nobodys(buffer, places[unsure], lengths[unsure])
        is_nobodys = ~asking[lines]
        is_nobodys[~is_nobodys] = sure
        found: Ints = lines[is_nobodys]
        return found

    def _mark_claimed(self, buffer: npt.NDArray[np.uint8], places: Ints, named: npt.NDArray[np.bool_]) -> None:
        """Mark the lines that a pattern claims which must be tried."""
        start, end = int(places[0]), int(places[-1])
        marked = np.flatnonzero(self._marks[buffer[start:end]])
        lines = distinct(np.searchsorted(places, marked + start, side="right") - 1)
        lines = lines[~named[lines]]
        if _FEW_TRIED * len(lines) < len(named):
            whole, ends = memoryview(buffer.data), places[lines + 1].tolist()
            for line, begin, stop in zip(lines.tolist(), places[lines].tolist(), ends, strict=True):
                named[line] = self._never.match(whole[begin:stop].tobytes().decode("ascii").strip()) is not None
            return
        # All lines at once; what is looked ahead at consumes nothing, so that no line hides the next.
        text = "\n" + buffer[start:end].tobytes().decode("latin-1")
        claimed = [start + found.start() for found in self._anywhere.finditer(text)]
        named[np.searchsorted(places[:-1], claimed, side="right") - 1] = True

    def _are_nobodys(self, buffer: npt.NDArray[np.uint8], starts: Ints, lengths: Ints) -> npt.NDArray[np.bool_]:
        """Ask about each line, about lines that differ in their digits only once."""
        if not len(starts):
            return np.empty(0, dtype=bool)
        digest = _digest(buffer, starts, lengths)
        order = np.argsort(digest)
        is_new = np.concatenate([[True], np.diff(digest[order]) != 0])
        firsts = order[is_new]
        whole = memoryview(buffer.data)
        begins, ends = starts[firsts].tolist(), (starts + lengths)[firsts].tolist()
        answers = [self._is_nobodys(whole[begin:end].tobytes()) for begin, end in zip(begins, ends, strict=True)]
        found = np.empty(len(starts), dtype=bool)
        found[order] = np.array(answers, dtype=bool)[np.cumsum(is_new) - 1]
        return found

    def _is_nobodys(self, line: bytes) -> bool:
        raw = line.strip()
        key = raw.translate(DIGITS_TO_ZERO)
        answer = self._known.get(key)
        if answer is None:
            text = raw.decode("ascii")
            answer = self._never.match(text) is None and not may_be_notice(text, has_digits=b"0" in key)
            if answer and b"0" in key:
                answer = not digits_may_be_prefix(text) and split_prefix(text) is None
            if len(self._known) < _MAX_KNOWN:
                self._known[key] = answer
        return answer


def _digest(buffer: npt.NDArray[np.uint8], starts: Ints, lengths: Ints) -> npt.NDArray[np.uint64]:
    """A number of 64 bits for each line, the same for lines that differ in their digits only."""
    first, end = int(starts[0]), int(starts[-1] + lengths[-1])
    text = buffer[first:end].tobytes().translate(DIGITS_TO_ZERO) + bytes(8)
    found = np.zeros(len(starts), dtype=np.uint64)
    for length in distinct(lengths).tolist():
        own = np.flatnonzero(lengths == length)
        width = (length + 7) // 8 * 8
        # Copying records of bytes is by far the quickest way to bring scattered lines together.
        records = np.ndarray((len(text) - width + 1,), dtype=f"V{width}", buffer=text, strides=(1,))
        words = records[starts[own] - first].view(np.uint64).reshape(len(own), width // 8)
        words[:, -1] &= np.uint64((1 << 8 * (length - width + 8)) - 1)
        total = np.full(len(own), length, dtype=np.uint64)
        for column in range(words.shape[1]):
            total = (total ^ words[:, column]) * _MIX
            total ^= total >> np.uint64(29)  # a product alone never reaches the lower bits
        found[own] = total
    return found


def _bytes_of(patterns: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Which bytes a line must have one of for one of these patterns to match it; the others have no odd bytes."""
    found = np.zeros(256, dtype=bool)
    for pattern in patterns:
        chars = certain_chars(pattern)
        found[[ord(char) for char in chars if ord(char) < 128] if chars is not None else slice(None)] = True
    return found


class _Grams:
    """Which groups of four bytes occur in some bytes, nearly: never a no for one that does."""

    def __init__(self, data: npt.NDArray[np.uint8]) -> None:
        self._seen = np.zeros(1 << _GRAM_BITS, dtype=bool)
        if len(data) >= _GRAM:
            groups = np.ndarray((len(data) - _GRAM + 1,), dtype="<u4", buffer=data, strides=(1,))
            self._seen[_mixed(groups)] = True

    def may_hold(self, word: bytes) -> bool:
        """Whether a word may be there."""
        if len(word) < _GRAM:
            return True
        own = np.frombuffer(word, dtype=np.uint8)
        groups = np.ndarray((len(word) - _GRAM + 1,), dtype="<u4", buffer=own, strides=(1,))
        return bool(self._seen[_mixed(groups)].all())


def _mixed(groups: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    return (groups * np.uint32(2654435761)) >> np.uint32(32 - _GRAM_BITS)


def _positions(data: bytes, word: bytes, start: int) -> list[int]:
    found, at = [], data.find(word)
    while at >= 0:
        found.append(start + at)
        at = data.find(word, at + 1)
    return found


def _rows_of(words: Iterable[str]) -> tuple[bytes, ...]:
    """The words as bytes, none of which contains another."""
    kept: list[str] = []
    for word in sorted(set(words), key=len):
        if word and not any(other in word for other in kept):
            kept.append(word)
    return tuple(word.encode() for word in kept)
