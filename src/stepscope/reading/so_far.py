"""What is known of a run when its next row comes: the memory that the rules for rows share."""

from __future__ import annotations

from stepscope.lines.format import Clock
from stepscope.reading.events import EventStore
from stepscope.reading.rows import Row, RowStore
from stepscope.reading.segments import SegmentStore
from stepscope.reading.timestamps import TimestampTrack
from stepscope.reading.writers import Writers
from stepscope.run.model import NO_TIME


class SoFar:
    """The rows, segments, events and writers so far.

    doubtful
        Last step and spacing before a segment that no line announced: it may yet turn out to be another writer's.
    copied_row
        The row that comes next where lines are being read a second time.
    """

    def __init__(self, clock: Clock, timestamps: TimestampTrack) -> None:
        self.clock = clock
        self.rows = RowStore()
        self.segments = SegmentStore()
        self.events = EventStore()
        self.writers = Writers()
        self.timestamps = timestamps  # of the file that is being read
        self.doubtful: tuple[int, int] | None = None
        self.copied_row: int | None = None

    @property
    def last_step(self) -> int:
        """The step of the last row; -1 before the first."""
        last = self.rows.last_step
        return -1 if last is None else last

    @property
    def spacing(self) -> int:
        """Steps between the last two rows of the present segment; 1 where there are no two."""
        return self.rows.spacing(self.segments.starts[-1].row if self.segments.starts else 0)

    @property
    def is_inside_segment(self) -> bool:
        """Whether the present segment has a row already."""
        starts = self.segments.starts
        return bool(starts) and len(self.rows) > starts[-1].row

    @property
    def is_announced(self) -> bool:
        """Whether a line since the last row said that a process starts or ended."""
        return self.segments.is_announced

    def goes_back(self, row: Row) -> bool:
        """Whether a row's step is not beyond the last one's."""
        return bool(self.segments.starts) and row.step <= self.last_step

    def is_timed_by_running_clock(self, row: Row) -> bool:
        """Whether a running clock shows if an unannounced row is the same process going on."""
        return (
            self.clock.is_running
            and self.is_inside_segment
            and not self.is_announced
            and NO_TIME not in (row.figure, self.rows.last_figure)
        )

    def restarts_clock(self, row: Row) -> bool:
        """Whether a running clock begins again with a row: less than half of what it showed."""
        return self.is_timed_by_running_clock(row) and row.figure < self.rows.last_figure // 2

    def drop_segment(self) -> None:
        """The last segment was not the run's: its rows go, and events that were in it belong to the one before."""
        first = self.segments.drop_last()
        self.rows.cut(first)
        self.events.drop_rows(first, max(0, len(self.segments.starts) - 1))
