"""Lines that say nothing we read, kept because one of them may announce why the next step is slow.

Lines are of one kind when their first words are the same, numbers aside. What is kept is bounded, whatever the log.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.run.model import RemarkKind

_MAX_KINDS = 200
_MAX_OF_ONE = 5_000
_MAX_IN_ALL = 20_000
_WORDS, _CHARS = 5, 300
_DIGITS = re.compile(r"\d+")


class RemarkTrack:
    """Remarks as they come."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[int, int, int]]] = {}
        self.texts: dict[int, str] = {}

    def note(self, text: str, *, line: int, row: int, t_ns: int) -> None:
        """Keep a line that stands before the step row `row`."""
        name = _name_of(text)
        known = self._found.get(name)
        if known is None:
            if len(self._found) >= _MAX_KINDS:
                return
            known = self._found.setdefault(name, [])
        if len(known) < _MAX_OF_ONE and len(self.texts) < _MAX_IN_ALL:
            known.append((line, row, t_ns))
            self.texts[line] = text[:_CHARS]

    def is_full(self, text: str) -> bool:
        """Whether no more lines of this kind will be kept."""
        known = self._found.get(_name_of(text))
        if known is None:
            return len(self._found) >= _MAX_KINDS
        return len(known) >= _MAX_OF_ONE or len(self.texts) >= _MAX_IN_ALL

    def cut_rows(self, first: int, num: int) -> None:
        """Rows from `first` on, `num` of them, turned out not to belong to the run: remarks move to what is left."""
        for known in self._found.values():
            known[:] = [(line, max(first, row - num) if row > first else row, t_ns) for line, row, t_ns in known]

    def kinds(self) -> tuple[RemarkKind, ...]:
        """What was kept, by kind."""
        return tuple(
            RemarkKind(name, *(np.array(column, dtype=np.int64) for column in zip(*found, strict=True)))
            for name, found in self._found.items()
            if found
        )


def _name_of(text: str) -> str:
    return " ".join(_DIGITS.sub("#", text[:_CHARS]).split()[:_WORDS])
