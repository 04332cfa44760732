"""The clock and the notices of the file that is being read: another rank's file has its own."""

from __future__ import annotations

from stepscope.reading.notices import NoticeTrack
from stepscope.reading.timestamps import TimestampTrack


class FileTrack:
    """One writer's timestamps and notices."""

    def __init__(self, *, is_other_rank: bool = False) -> None:
        self.timestamps = TimestampTrack()
        self.notices = NoticeTrack()
        self.is_other_rank = is_other_rank
