"""The whole numbers of events while a log is read: seven of each, packed into narrow columns but for the last ones."""

from __future__ import annotations

from array import array

import numpy as np

from stepscope.columns.column import Column
from stepscope.run.tables import NO_TIME, Ints

STEP, LINE, STAMP, BEFORE, SEGMENT, DURATION, ON_ROW = range(7)
_MISSING = (-1, 0, NO_TIME, NO_TIME, 0, NO_TIME, 0)
_WIDTHS = (np.int32, np.int32, np.int64, np.int64, np.int32, np.int64, np.int8)
_TOGETHER = 4096  # events that are packed at once


class EventNumbers:
    """By event: step, line, timestamp, the one before, segment, duration, whether it is on a row's line.

    What no event of a log has takes no memory.
    """

    def __init__(self) -> None:
        self._columns = [Column(width, missing) for width, missing in zip(_WIDTHS, _MISSING, strict=True)]
        self._num_packed = 0
        self._tail = array("q")

    def __len__(self) -> int:
        return self._num_packed + len(self._tail) // len(_MISSING)

    def append(self, numbers: tuple[int, ...]) -> None:
        """One more event."""
        self._tail.extend(numbers)
        if len(self._tail) > _TOGETHER * len(_MISSING):
            self._pack(_TOGETHER)

    def get(self, event: int, which: int) -> int:
        """A number of an event; the last one's is quickly found."""
        at = event - self._num_packed
        if at >= 0:
            return self._tail[at * len(_MISSING) + which]
        column = self._columns[which]
        return int(column[event]) if len(column) else _MISSING[which]

    def put(self, event: int, which: int, value: int) -> None:
        """Change a number of an event."""
        at = event - self._num_packed
        if at >= 0:
            self._tail[at * len(_MISSING) + which] = value
        else:
            self._columns[which].put(event, value, self._num_packed)

    def limit(self, which: int, most: int) -> None:
        """Let a number be at most so much, for all events."""
        self._pack(len(self) - self._num_packed)
        self._columns[which].recode(lambda values: np.minimum(values, most).astype(values.dtype))

    def columns(self) -> list[Ints]:
        """The numbers so far, never to be changed."""
        self._pack(len(self) - self._num_packed)
        return [
            column.share() if len(column) else np.broadcast_to(np.int64(missing), self._num_packed)
            for column, missing in zip(self._columns, _MISSING, strict=True)
        ]

    def _pack(self, num: int) -> None:
        numbers = np.array(self._tail[: num * len(_MISSING)], dtype=np.int64).reshape(-1, len(_MISSING))
        del self._tail[: num * len(_MISSING)]
        for column, values in zip(self._columns, numbers.T, strict=True):
            column.extend_at(self._num_packed, values)
        self._num_packed += len(numbers)
