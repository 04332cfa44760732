"""Remembers which fold each part of a log is of."""

from __future__ import annotations

from stepscope.lines.folds import parse_fold
from stepscope.run.folds import Folds

_MOST = 2000


class FoldTrack:
    """The folds that lines named, in order."""

    def __init__(self) -> None:
        self._total: int | None = None
        self._named: list[tuple[int, int]] = []  # line and number, where it changes
        self._has_zero = False

    def hear(self, text: str, line: int) -> None:
        """A line without a step."""
        found = parse_fold(text)
        if found is None:
            return
        if found.number is None:
            self._total = self._total or found.total
            return
        self._total, self._has_zero = found.total, self._has_zero or found.number == 0
        if len(self._named) < _MOST and (not self._named or self._named[-1][1] != found.number):
            self._named.append((line, found.number))

    def folds(self, last_line: int | None) -> Folds | None:
        """The folds up to the line of the last row; None where nothing was said."""
        if self._total is None:
            return None
        own = [number + self._has_zero for line, number in self._named if last_line is not None and line <= last_line]
        if not own:
            return Folds(self._total)
        # A program that begins with a later one may do that one alone.
        return Folds(self._total, own[-1], is_loop=own[0] == 1 or len(set(own)) > 1)
