"""Lines that say nothing we read, kept because one of them may announce why the next step is slow.

Lines are of one kind when their first words are the same, numbers aside. What is kept is bounded, whatever the log.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.reading.clock_steps import SteadyClock
from stepscope.reading.rows import RowStore
from stepscope.run.model import RemarkKind

_MAX_KINDS = 200
_MAX_OF_ONE = 2_000
_MAX_IN_ALL = 10_000
_WORDS, _CHARS = 5, 300
_DIGITS = re.compile(r"\d+")


class RemarkTrack:
    """Remarks as they come."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[int, int]]] = {}
        self.texts: dict[int, str] = {}

    def note(self, text: str, *, line: int, t_ns: int) -> None:
        """Keep a line."""
        name = _name_of(text)
        known = self._found.get(name)
        if known is None:
            if len(self._found) >= _MAX_KINDS:
                return
            known = self._found.setdefault(name, [])
        if len(known) < _MAX_OF_ONE and not self.is_closed:
            known.append((line, t_ns))
            self.texts[line] = text[:_CHARS]

    @property
    def is_closed(self) -> bool:
        """Whether no more lines of any kind will be kept."""
        return len(self.texts) >= _MAX_IN_ALL

    def is_full(self, text: str) -> bool:
        """Whether no more lines of this kind will be kept."""
        known = self._found.get(_name_of(text))
        if known is None:
            return len(self._found) >= _MAX_KINDS
        return len(known) >= _MAX_OF_ONE or self.is_closed

    def open_names(self) -> tuple[str, ...] | None:
        """The kinds of which more lines will be kept; None while further kinds are."""
        if self.is_closed:
            return ()
        if len(self._found) < _MAX_KINDS:
            return None
        return tuple(name for name, known in self._found.items() if len(known) < _MAX_OF_ONE)

    def kinds(self, rows: RowStore, clock: SteadyClock) -> tuple[RemarkKind, ...]:
        """What was kept, by kind, each line with the number of rows printed before it."""
        found = []
        for name, kept in self._found.items():
            if kept:
                line, t_ns = (np.array(column, dtype=np.int64) for column in zip(*kept, strict=True))
                found.append(RemarkKind(name, line, rows.rows_before(line), clock.place(t_ns, line)))
        return tuple(found)


def _name_of(text: str) -> str:
    return " ".join(_DIGITS.sub("#", text[:_CHARS]).split()[:_WORDS])
