"""Where one process's life in a log ends and the next begins, and whether that is the same training going on.

A step number that goes back is a restart. Whether the same training was started again or another one began (the next
phase of nanochat, a second `fit`, a second run appended to the file) decides what is lost work and what is not.
"""

from __future__ import annotations

from typing import NamedTuple

from stepscope.reading.totals import Totals


class SegmentStart(NamedTuple):
    """Where a segment begins: its first row, whether its first step is in the log, the training it belongs to."""

    row: int
    fresh: bool
    training: int
    training_row: int  # the first of the training


class SegmentStore:
    """The segments so far, and what was seen since the last row that bears on the next one."""

    def __init__(self) -> None:
        self.starts: list[SegmentStart] = []
        self.starting = False  # a start line was seen since the last step
        self._resumed = False
        self._launch: set[int] = set()  # which of the format's start lines were seen since the last row
        self._own_launch: set[int] = set()  # those before the training at hand
        self._fatal = False  # the log spoke of an end since the last row
        self._first_step = 0  # of the training at hand
        self._closed_at: int | None = None  # the step at which the training's whole time was stated
        self._whole = ""  # that time
        self._is_closed = False  # it was stated since the last row
        self.is_over = False  # it was stated once more: whatever comes is another training's
        self.num_trainings = 0

    def launch(self, which: int, *, resumed: bool) -> None:
        """A start or resume line, the format's line number `which`."""
        self.starting = True
        self._resumed = self._resumed or resumed
        self._launch.add(which)

    def close(self, step: int, whole: str) -> None:
        """The log states how long the whole training took. Twice without a step between, these are two trainings.

        The same time again is the word of a second logger.
        """
        if self._closed_at == step and whole != self._whole:
            self.is_over = self.starting = True
        self._closed_at, self._whole, self._is_closed = step, whole, True

    def expect(self) -> None:
        """The next row begins a segment, whatever its number."""
        self.starting = True

    def note_end(self) -> None:
        """The log says that a process ended."""
        self._fatal = True

    @property
    def is_announced(self) -> bool:
        """Whether a line since the last row said that a process starts or ended."""
        return self.starting or self._fatal or self._is_closed

    def forget_announcements(self) -> None:
        """A row went on as expected: what was seen before it is settled."""
        self.is_over = self._is_closed = False
        if self._fatal or self._launch:
            self._fatal = self._resumed = False
            self._launch = set()
        self.starting = False

    def begin(self, row: int, step: int, before: int | None, *, spacing: int, first: int, totals: Totals) -> bool:
        """A segment begins at `row` with `step`, after step `before`; whether another training begins with it."""
        is_new = before is None or self._is_new_training(row, step, before, spacing=spacing, first=first, totals=totals)
        fresh = self.starting or step == first or bool(self.starts)
        self.num_trainings += is_new
        if is_new:
            self._first_step = step
            self._own_launch = self._launch.copy()
        training_row = row if is_new else self.starts[-1].training_row
        self.starts.append(SegmentStart(row, fresh, self.num_trainings - 1, training_row))
        return is_new

    def _is_new_training(self, row: int, step: int, before: int, *, spacing: int, first: int, totals: Totals) -> bool:
        if step > max(self._first_step, first) + spacing or self._resumed:
            # Goes on in the middle; far beyond where the other ended, and towards another total, it is not the same.
            stated = totals.last_before(row)
            return step > before + spacing and stated is not None and totals.max_steps not in (None, stated.value)
        if self._launch and self._own_launch and not self._launch & self._own_launch:
            return True  # announced in other words: another phase
        last = totals.last_before(row)
        if last is None:
            return not self._fatal
        if before >= last.value - spacing:
            return True  # the one before was done
        if not totals.is_stated_since(row):
            return last.on_step
        return totals.max_steps != last.value

    def drop_last(self) -> int:
        """The last segment belonged to no run; its first row."""
        start = self.starts.pop()
        if self.starts and self.starts[-1].training != start.training:
            self.num_trainings -= 1
        elif not self.starts:
            self.num_trainings = 0
        return start.row
