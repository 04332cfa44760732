"""What the lines say that are neither steps nor events: totals, remarks, losses that are no numbers, lines not read."""

from __future__ import annotations

import math

import numpy as np

from stepscope.core.redact import redact
from stepscope.lines.runtimes import parse_runtime
from stepscope.reading.fold_track import FoldTrack
from stepscope.reading.remarks import RemarkTrack
from stepscope.reading.rows import RowStore
from stepscope.reading.skips import SkipTrack
from stepscope.reading.unread import UnreadTrack
from stepscope.run.model import Runtime

MAX_UNREAD = 5
_MAX_RUNTIMES = 15


class OtherLines:
    """Counts and bounded excerpts of them."""

    def __init__(self) -> None:
        self.remarks = RemarkTrack()
        self.num_unread = 0
        self.first_unread: list[tuple[int, str]] = []
        self.unread = UnreadTrack()
        self.passed = UnreadTrack()  # lines of the format that carry nothing it reads
        self.num_nonfinite = 0
        self.first_nonfinite: tuple[int, int] | None = None  # step and line
        self.last_nonfinite: tuple[int, int] | None = None
        self.skips = SkipTrack()
        self.folds = FoldTrack()
        self._runtimes: list[Runtime] = []

    def hear(self, text: str, line: int) -> None:
        """A line without a step: it may say how long the whole took, or which fold of several begins."""
        self.folds.hear(text, line)
        found = parse_runtime(text)
        if found is not None:
            self._runtimes = [*self._runtimes[-_MAX_RUNTIMES:], Runtime(*found, line, -1)]

    def note_unread(self, text: str, line: int) -> None:
        """A line that nobody understood."""
        self.num_unread += 1
        self.unread.note(text, line)
        if len(self.first_unread) < MAX_UNREAD:
            self.first_unread.append((line, redact(text)))

    def note_loss(self, loss: float | None, step: int, line: int) -> None:
        """A loss, which may be no number."""
        if loss is not None and not math.isfinite(loss):
            self.note_nonfinite(1, (step, line), (step, line))

    def note_nonfinite(self, num: int, first: tuple[int, int], last: tuple[int, int]) -> None:
        """Losses that are no numbers; the step and the line of the first and of the last of them."""
        self.num_nonfinite += num
        self.first_nonfinite = self.first_nonfinite or first
        self.last_nonfinite = last

    def runtimes(self, rows: RowStore) -> tuple[Runtime, ...]:
        """The totals that lines stated, each with the number of rows printed before it."""
        before = rows.rows_before(np.array([runtime.line for runtime in self._runtimes], dtype=np.int64)).tolist()
        return tuple(runtime._replace(row=row) for runtime, row in zip(self._runtimes, before, strict=True))
