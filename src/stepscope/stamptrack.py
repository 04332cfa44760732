"""The time stamps of a log while it is read: days added to times of day, the moment before each line remembered."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stepscope.columns import Column
from stepscope.formats._prefix import DAY_NS, Prefix, split_prefix
from stepscope.run import NO_TIME, Ints, Stamps
from stepscope.units import NS

_MAX_UNIX_S = 7e9  # the year 2191: beyond it, nanoseconds do not fit


class StampTrack:
    """The last stamp, the one before it, and whether the last has been used by a row yet."""

    def __init__(self) -> None:
        self.last: int | None = None
        self.before: int | None = None
        self.is_new = False
        self._first: int | None = None
        self._day = 0
        self._dated = self._zoned = self._daily = False
        self._decimals = 0

    def note(self, prefix: Prefix) -> None:
        """A line with this prefix comes next."""
        t_ns, dated = prefix.t_ns, prefix.dated
        if t_ns is None:
            return
        if not dated:
            if self._dated:
                return  # a time of day inside a dated log: another program's line
            self._daily = prefix.daily
            if prefix.daily:
                t_ns += self._day * DAY_NS
                if self.last is not None and t_ns < self.last - DAY_NS // 2:
                    self._day += 1
                    t_ns += DAY_NS
        elif self.last is not None and not self._dated:
            self._first = None  # undated stamps before the first dated one cannot be compared with it
        self._dated, self._zoned = self._dated or dated, self._zoned or prefix.zoned
        self._decimals = max(self._decimals, prefix.decimals)
        self.before, self.last = self.last, t_ns
        self.is_new = True
        if self._first is None:
            self._first = t_ns

    def note_inside(self, groups: Mapping[str, str | None]) -> None:
        """A moment inside the line counts like one before it."""
        unix_s, unix_ms = groups.get("unix_s"), groups.get("unix_ms")
        if unix_s or unix_ms:
            try:
                seconds = float(unix_s) if unix_s else float(unix_ms or "0") / 1e3
            except ValueError:
                return
            if 0 < seconds < _MAX_UNIX_S:
                nanos = round(seconds * NS)
                self.note(Prefix(nanos, dated=True, zoned=True, daily=False, decimals=3, rank=None, length=0))
        elif groups.get("stamp"):
            prefix = split_prefix(f"{groups['stamp']} ")
            if prefix is not None:
                self.note(prefix)

    def place(self, t_ns: Ints | None, prefix: Prefix | None) -> Ints | None:
        """Stamps of many rows as `note` would take them one by one; None when it would not take them as they are."""
        if t_ns is None or prefix is None or self.last is None:
            return None
        if prefix.dated != self._dated or (prefix.zoned and not self._zoned) or prefix.decimals > self._decimals:
            return None
        if not prefix.dated and prefix.daily != self._daily:
            return None
        if prefix.dated or not prefix.daily:
            return t_ns
        t_ns = t_ns + self._day * DAY_NS
        is_past_midnight = t_ns[0] < self.last - DAY_NS // 2 or (np.diff(t_ns) < -(DAY_NS // 2)).any()
        return None if is_past_midnight else t_ns

    def note_many(self, stamps: Column, num: int) -> None:
        """Rows with stamps have been taken, the last of them with these."""
        self.before = stamps[-2] if num > 1 else self.last
        self.last = stamps[-1]
        self.is_new = False

    @property
    def moment(self) -> int:
        """The last stamp there was, or none."""
        return NO_TIME if self.last is None else self.last

    def take(self) -> int:
        """The stamp of the row at hand; none when the last one belonged to the row before already."""
        stamp = self.last if self.last is not None and self.is_new else NO_TIME
        self.is_new = False
        return stamp

    def stamps(self) -> Stamps | None:
        """What is known of the log's stamps so far."""
        if self._first is None or self.last is None:
            return None
        return Stamps(
            first_ns=self._first,
            last_ns=self.last,
            dated=self._dated,
            zoned=self._zoned,
            daily=self._daily,
            resolution_ns=max(1, NS // 10 ** min(self._decimals, 9)),
        )
