"""Lines that nobody understood or reads, by family: lines that differ in their numbers only, bounded in number.

A log may begin with thousands of lines that are all different, and what matters comes after them. So a family of one
line makes room for the next; one that came twice stays. When enough have stayed, or too many came once, no more are
looked for: from then on a line that belongs to none of them is only counted, and some lines later all lines are.
"""

from __future__ import annotations

import re
import sys

from stepscope.run.model import UnreadFamily

CHARS = 200  # of a text that is kept
_KEY_CHARS = 120
MAX_STAYED = 150
MAX_SINGLE = 50
MAX_BEGUN = 5_000
_LINES_AFTER = 50_000  # in which the families that there are still grow
# A number as a whole: how many digits it has, its sign or its exponent makes no other family, nor does what is drawn
# of a bar.
_NUMBER = re.compile(r"(?<=%\|)[^|]*(?=\|)|[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?")


def family_key(text: str) -> str:
    """What the lines of one family have in common: their text with every number as 0."""
    return " ".join(_NUMBER.sub("0", text[:_KEY_CHARS]).split())


class UnreadTrack:
    """Families as their lines come."""

    def __init__(self) -> None:
        self._stayed: dict[str, UnreadFamily] = {}
        self._single: dict[str, UnreadFamily] = {}
        self._num_begun = 0
        self.is_closed = False  # no further family is begun, and none makes room
        self.last_line = sys.maxsize  # after it no family grows

    def note(self, text: str, line: int) -> None:
        """One more line."""
        if line > self.last_line:
            return
        key = family_key(text)
        known = self._stayed.get(key)
        if known is not None:
            self._stayed[key] = _grown(known, 1, line, text)
            return
        single = self._single.get(key)
        if self.is_closed:
            if single is not None:
                self._single[key] = _grown(single, 1, line, text)
            return
        if single is not None:
            del self._single[key]
            self._stayed[key] = _grown(single, 1, line, text)._replace(second=text[:CHARS])
        else:
            self._begin(key, text, line)
        if len(self._stayed) >= MAX_STAYED or self._num_begun >= MAX_BEGUN:
            self.is_closed, self.last_line = True, line + _LINES_AFTER

    def _begin(self, key: str, text: str, line: int) -> None:
        if len(self._single) >= MAX_SINGLE:
            del self._single[next(iter(self._single))]
        self._num_begun += 1
        kept = text[:CHARS]
        self._single[key] = UnreadFamily(key, 1, line, line, kept, kept, kept)

    def only_counts(self, text: str) -> bool:
        """Whether a line like this begins no family and moves none: many of them can be counted at once."""
        return self.is_closed or family_key(text) in self._stayed

    def count(self, key: str, num: int, line: int, last: str) -> None:
        """Count `num` more lines of the family `key`, the last of them at `line`."""
        for kept in (self._stayed, self._single):
            if key in kept:
                kept[key] = _grown(kept[key], num, line, last)

    def knows(self, key: str) -> bool:
        """Whether the lines of this family are counted by themselves."""
        return key in self._stayed or key in self._single

    def keys(self) -> tuple[str, ...]:
        """What the lines of each family have in common."""
        return (*self._stayed, *self._single)

    def families(self) -> tuple[UnreadFamily, ...]:
        """What there is, in the order of the log."""
        return tuple(sorted((*self._stayed.values(), *self._single.values()), key=lambda family: family.first_line))


def _grown(family: UnreadFamily, num: int, line: int, text: str) -> UnreadFamily:
    if line < family.last_line:
        return family._replace(num=family.num + num)
    return family._replace(num=family.num + num, last_line=line, last=text[:CHARS])
