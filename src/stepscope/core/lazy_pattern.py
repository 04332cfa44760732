"""Regular expressions that are compiled when they are first used: most are not, in any one command.

Compiling takes a millisecond for a long one, which is what a small log takes to read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property


class LazyPattern:
    """A pattern like one of `re.compile`, compiled at its first use."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern, self._flags = pattern, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    def search(self, text: str) -> re.Match[str] | None:
        """The first match anywhere in the text."""
        return self._compiled.search(text)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """A match at the start of the text, or at another place of it."""
        return self._compiled.match(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """A match of the whole text."""
        return self._compiled.fullmatch(text)

    def sub(self, by: str | Callable[[re.Match[str]], str], text: str) -> str:
        """The text with all matches replaced."""
        return self._compiled.sub(by, text)

    def split(self, text: str) -> list[str]:
        """What is between the matches of a pattern without a group."""
        return self._compiled.split(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """All matches, one after the other."""
        return self._compiled.finditer(text)

    def findall(self, text: str) -> list[str]:
        """The texts of all matches of a pattern with at most one group."""
        return self._compiled.findall(text)
