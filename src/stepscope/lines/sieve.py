"""Which of many patterns could match a line at all, by words that each of their matches contains.

A log may be full of lines that no pattern matches. To see that none of dozens of patterns matches takes far longer than
to see that none of their words is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_LEAST_WORD = 2
# Finding the words takes as long as matching this many lines; most logs have fewer lines without a match.
_PATIENCE = 200


class Sieve:
    """Patterns, by their numbers."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._all = range(len(patterns))
        self._num_asked = 0
        self._always: tuple[int, ...] = ()
        self._words: tuple[tuple[str, int], ...] = ()

    def possible(self, text: str) -> Sequence[int]:
        """The numbers of the patterns that could match somewhere in a line, in their order."""
        if self._num_asked < _PATIENCE:
            self._num_asked += 1
            return self._all
        if self._num_asked == _PATIENCE:
            self._num_asked += 1
            self._find_words()
        found = [number for word, number in self._words if word in text]
        return sorted({*self._always, *found}) if found else self._always

    def _find_words(self) -> None:
        words = [certain_words(pattern) for pattern in self._patterns]
        self._always = tuple(number for number in self._all if "" in words[number])
        self._words = tuple((word, number) for number in self._all for word in sorted(words[number]) if word)


def certain_words(pattern: str) -> set[str]:
    """Words of which every match of a pattern contains one: just one, or one per alternative; empty for none."""
    parser: Any = re._parser  # type: ignore[attr-defined]
    parsed = parser.parse(pattern)
    if parsed.state.flags & re.IGNORECASE:
        return {""}
    best = max(_choices(parsed), key=_worth, default={""})
    return best if _worth(best) >= _LEAST_WORD else {""}


def words_of(pattern: str, gate: Iterable[str]) -> set[str]:
    """Words of which every match contains one: the pattern's own where it has some, else those it is tried for."""
    own = certain_words(pattern)
    return set(gate) if "" in own else own


def _worth(words: set[str]) -> int:
    return min(len(word) for word in words)


def _choices(parsed: Any) -> Iterator[set[str]]:
    """Sets of words such that a match contains one of each set."""
    run = ""
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL" and argument < 128:
            run += chr(argument)
            continue
        if run:
            yield {run}
        run = ""
        if name == "SUBPATTERN" and not argument[1] & re.IGNORECASE:
            yield from _choices(argument[3])
        elif name in {"MAX_REPEAT", "MIN_REPEAT"} and argument[0] > 0:
            yield from _choices(argument[2])
        elif name == "ASSERT" and argument[0] > 0:
            yield from _choices(argument[1])
        elif name == "BRANCH":
            branches = [max(_choices(branch), key=_worth, default=None) for branch in argument[1]]
            if all(branches):
                yield {word for branch in branches if branch for word in branch}
    if run:
        yield {run}
