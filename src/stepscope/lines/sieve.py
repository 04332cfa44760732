"""Which of many patterns could match a line at all, by words that each of their matches contains.

A log may be full of lines that no pattern matches. To see that none of dozens of patterns matches takes far longer than
to see that none of their words is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

_LEAST_WORD = 2  # bytes
_ANYWHERE = frozenset(("", " ", "."))  # most lines have them
_MOST_NEEDS = 5
_MOST_REPEATED = 8
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_SPACES = r" \t\r\f\v"
# A line that is matched by itself has no blanks at its end; among others it has.
_ON_LINE = {r"\s": r"[^\S\n]", r"\W": r"[^\w\n]", r"\D": r"[^\d\n]", "$": r"(?:[^\S\n]*$)"}
_SPECIAL = frozenset(".^$*+?{}[]()|\\")
# Finding the words takes as long as matching this many lines; most logs have fewer lines without a match.
_PATIENCE = 200
_PATTERNS = 4096  # whose words are kept: those of the catalogue, and of many formats that were worked out


Needs = tuple[tuple[str, ...], ...]  # of each of these sets of words, every match of a pattern contains one


class Sieve:
    """Patterns, by their numbers."""

    def __init__(self, patterns: Sequence[str], needs: Sequence[Needs] | None = None) -> None:
        """`needs` are what every match of each pattern contains, where that is known already."""
        self._patterns = patterns
        self._all = range(len(patterns))
        self._num_asked = 0
        self._always: tuple[int, ...] = ()
        self._words: tuple[tuple[str, int], ...] = ()
        self._more: dict[int, Needs] = {}
        if needs is not None:
            self._num_asked = _PATIENCE + 1
            self._set_needs(needs)

    def possible(self, text: str) -> Sequence[int]:
        """The numbers of the patterns that could match somewhere in a line, in their order."""
        if self._num_asked < _PATIENCE:
            self._num_asked += 1
            return self._all
        if self._num_asked == _PATIENCE:
            self._num_asked += 1
            self._set_needs([needs_of(pattern) for pattern in self._patterns])
        found = [number for word, number in self._words if word in text]
        if not found:
            return self._always
        return sorted({*self._always, *(number for number in found if are_met(self._more.get(number, ()), text))})

    def _set_needs(self, needs: Sequence[Needs]) -> None:
        self._always = tuple(number for number in self._all if not needs[number])
        self._words = tuple((word, number) for number in self._all for word in next(iter(needs[number]), ()))
        self._more = {number: needs[number][1:] for number in self._all if len(needs[number]) > 1}


def are_met(needs: Needs, text: str) -> bool:
    """Whether a text contains one word of each set, and so may be a match."""
    return all(any(map(text.__contains__, words)) for words in needs)


@cache
def literal_start(pattern: str) -> str:
    """The text that every match of a pattern begins with; empty where that is not plain to see.

    Most patterns are told apart by it without being compiled, which takes far longer.
    """
    if _has_alternatives(pattern):
        return ""
    found, at = "", 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and not pattern[at + 1 : at + 2].isalnum():
            char, at = pattern[at + 1 : at + 2], at + 1
        elif char in _SPECIAL:
            break
        found, at = found + char, at + 1
    # A repeat or an option is about the character before it, which need not be there.
    return found[:-1] if pattern[at : at + 1] in {"*", "?", "{"} else found


def _has_alternatives(pattern: str) -> bool:
    """Whether a pattern has alternatives that are not inside brackets."""
    depth, in_class, at = 0, False, 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            at += pattern[at + 1 : at + 2] == "^"
            at += pattern[at + 1 : at + 2] == "]"  # the first one is a character of the class
        elif char == "|" and depth == 0:
            return True
        else:
            depth += (char == "(") - (char == ")")
        at += 1
    return False


def on_one_line(pattern: str) -> str:
    """A pattern that matches what the given one matches in a line, and never looks past the line's end.

    Searched in many lines at once, a class such as `[^:]*` would run on to the end of them all, from each line.
    """
    found, at = [], 0
    while at < len(pattern):
        if pattern[at] == "[":
            end = _class_end(pattern, at)
            found.append(_class_on_line(pattern[at:end]))
        else:
            end = at + (2 if pattern[at] == "\\" else 1)
            found.append(_ON_LINE.get(pattern[at:end], pattern[at:end]))
        at = end
    return "".join(found)


def _class_end(pattern: str, at: int) -> int:
    """Where the class that begins here ends; a bracket that comes first is one of its characters."""
    at += 2 if pattern[at + 1 : at + 2] == "^" else 1
    at += pattern[at : at + 1] == "]"
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _class_on_line(text: str) -> str:
    if text.startswith("[^"):
        return text[:-1] + r"\n]"
    return re.sub(r"\\(.)", lambda found: _SPACES if found[1] == "s" else found[0], text)


@lru_cache(maxsize=_PATTERNS)
def certain_words(pattern: str) -> frozenset[str]:
    """Words of which every match of a pattern contains one: just one, or one per alternative; empty for none."""
    parser: Any = re._parser  # type: ignore[attr-defined]
    parsed = parser.parse(pattern)
    if parsed.state.flags & re.IGNORECASE:
        return frozenset({""})
    best = max(_choices(parsed), key=_worth, default={""})
    return frozenset(best if _worth(best) >= _LEAST_WORD else {""})


@lru_cache(maxsize=_PATTERNS)
def needs_of(pattern: str) -> Needs:
    """What every match of a pattern contains, the surest first: sets of words, one word of each."""
    parser: Any = re._parser  # type: ignore[attr-defined]
    parsed = parser.parse(pattern)
    if parsed.state.flags & re.IGNORECASE:
        return ()
    kept: list[tuple[str, ...]] = []
    for words in sorted(_choices(parsed), key=lambda words: (-_worth(words), sorted(words))):
        is_new = not any(all(any(word in other for word in words) for other in before) for before in kept)
        if is_new and words.isdisjoint(_ANYWHERE) and len(kept) < _MOST_NEEDS:
            kept.append(tuple(sorted(words)))
    return tuple(kept)


def words_of(pattern: str, gate: Iterable[str]) -> frozenset[str]:
    """Words of which every match contains one: the pattern's own where it has some, else those it is tried for."""
    own = certain_words(pattern)
    return frozenset(gate) if "" in own else own


def _worth(words: set[str]) -> int:
    return min(len(word.encode()) for word in words)


def _choices(parsed: Any) -> Iterator[set[str]]:
    """Sets of words such that a match contains one of each set."""
    run = ""
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL":
            run += chr(argument)
            continue
        if name in _REPEATS and argument[0] > 0 and [str(own) for own, _ in argument[2]] == ["LITERAL"]:
            run += chr(argument[2][0][1]) * min(argument[0], _MOST_REPEATED)
            name = ""
        if run:
            yield {run}
        run = ""
        if name == "SUBPATTERN" and not argument[1] & re.IGNORECASE:
            yield from _choices(argument[3])
        elif name in _REPEATS and argument[0] > 0:
            yield from _choices(argument[2])
        elif name == "ASSERT" and argument[0] > 0:
            yield from _choices(argument[1])
        elif name == "BRANCH":
            branches = [max(_choices(branch), key=_worth, default=None) for branch in argument[1]]
            if all(branches):
                yield {word for branch in branches if branch for word in branch}
    if run:
        yield {run}


def certain_chars(pattern: str) -> frozenset[str] | None:
    """Characters of which every match of a pattern contains one, as few as can be seen; None where none is certain."""
    parser: Any = re._parser  # type: ignore[attr-defined]
    parsed = parser.parse(pattern)
    return None if parsed.state.flags & re.IGNORECASE else _fewest_chars(parsed)


def _fewest_chars(parsed: Any) -> frozenset[str] | None:
    found = (_chars_of(str(operation), argument) for operation, argument in parsed)
    return min((chars for chars in found if chars is not None), key=len, default=None)


def _chars_of(name: str, argument: Any) -> frozenset[str] | None:
    if name == "LITERAL":
        return frozenset(chr(argument))
    if name == "IN" and all(str(kind) in {"LITERAL", "RANGE"} for kind, _ in argument):
        spans = [(what, what) if str(kind) == "LITERAL" else what for kind, what in argument]
        return frozenset(chr(code) for first, last in spans for code in range(first, last + 1))
    if name == "SUBPATTERN" and not argument[1] & re.IGNORECASE:
        return _fewest_chars(argument[3])
    if name in _REPEATS and argument[0] > 0:
        return _fewest_chars(argument[2])
    if name == "BRANCH":
        branches = [_fewest_chars(branch) for branch in argument[1]]
        return None if None in branches else frozenset().union(*(chars for chars in branches if chars is not None))
    return None
