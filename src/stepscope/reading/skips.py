"""Skipped optimizer steps, counted while a log is read."""

from __future__ import annotations

from stepscope.lines.skipped import parse_skipped
from stepscope.run.model import Skips

_MAX_GAP = 2  # lines without a skipped step that do not end a stretch


class SkipTrack:
    """How many steps were skipped, and since when without a break."""

    def __init__(self) -> None:
        self._num = 0
        self._first: tuple[int, int] | None = None  # step and line
        self._since: int | None = None  # the step at which the stretch at hand began
        self._last = 0

    def note(self, text: str, step: int, line: int) -> None:
        """A step line, which may say that steps were skipped."""
        found = parse_skipped(text)
        if found is None:
            return
        before = self._num
        self._num = found.num if found.step is not None else self._num + found.num
        if self._num <= before:
            self._since = None if self._num == before else self._since
            return
        self._first = self._first or (step, line)
        self._since = step if self._since is None else self._since
        self._last = step

    def skips(self, last_step: int | None, spacing: int) -> Skips | None:
        """All of them; None where no line says that a step was skipped."""
        if self._first is None or last_step is None:
            return None
        is_lasting = self._since is not None and last_step - self._last <= _MAX_GAP * spacing
        return Skips(self._num, *self._first, since=self._since if is_lasting else None)
