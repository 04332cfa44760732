"""The timestamps of a log while it is read: days added to times of day, the moment before each line remembered."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from stepscope.core.units import NS
from stepscope.lines.date_order import DateOrder
from stepscope.lines.moment_forms import DAY_NS, resolution_ns
from stepscope.lines.prefix import Prefix, split_prefix
from stepscope.run.model import NO_TIME, Ints, Stamps

# A date without a year counts as one of 2000, a leap year.
_YEARLESS_NS = (dt.date(2000, 1, 1) - dt.date(1970, 1, 1)).days * DAY_NS
_LEAP_YEAR_NS = 366 * DAY_NS
_LEAP_DAY, _HALF_YEAR = 59, 183
_HOUR_NS = 3600 * NS
_SOON_NS = 30 * DAY_NS
_LEAST_SETBACK_NS = NS // 2  # lines of several processes may be a little out of order
_MAX_SETBACKS = 10_000
_MAX_UNIX_S = 7e9  # the year 2191: beyond it, nanoseconds do not fit


class _StampKind(NamedTuple):
    """What a stamp says: a date, a zone, or nothing but a time of day."""

    dated: bool
    zoned: bool
    daily: bool


class Setback(NamedTuple):
    """A line whose timestamp is earlier than the one before it."""

    line: int
    before_ns: int
    after_ns: int


class YearlessCalendar:
    """Dates without a year: after December comes January of the next year, and most years have no 29 February."""

    def __init__(self) -> None:
        self.shift_ns = 0  # what the years since the first date add
        self._last_day: int | None = None
        self._has_leap_day = False

    def place(self, t_ns: int) -> int:
        """A moment with the years added that have passed since the first one."""
        if t_ns < _YEARLESS_NS:
            return t_ns  # seconds since some start
        day = (t_ns - _YEARLESS_NS) // DAY_NS
        self._has_leap_day = self._has_leap_day or day == _LEAP_DAY
        seen, self._last_day = self._last_day, day
        if seen is not None and day < seen - _HALF_YEAR:
            self.shift_ns += _LEAP_YEAR_NS
        elif seen is not None and seen < _LEAP_DAY < day and not self._has_leap_day:
            self.shift_ns -= DAY_NS
        return t_ns + self.shift_ns


class _Clock:
    """The stamps of one kind: with or without a date, with or without a zone."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.last = 0
        self.line = 0  # of the last one
        self.day = 0
        self.decimals = -1
        self.calendar = YearlessCalendar()
        self.order = DateOrder()

    @property
    def added_ns(self) -> int:
        """What was added to the last stamp as it is printed."""
        return self.day * DAY_NS + self.calendar.shift_ns + self.order.shift_ns

    def take(self, prefix: Prefix, t_ns: int, line: int) -> int:
        """The moment of a stamp: days and years added."""
        t_ns = self.order.place(t_ns, prefix.other_ns)
        if prefix.daily:
            t_ns += self.day * DAY_NS
            if self.first is not None and t_ns < self.last - DAY_NS // 2:
                self.day += 1
                t_ns += DAY_NS
        elif not prefix.dated:
            t_ns = self.calendar.place(t_ns)
        self.decimals = max(self.decimals, prefix.decimals)
        self.first = t_ns if self.first is None else self.first
        self.last, self.line = t_ns, line
        return t_ns


class TimestampTrack:
    """The last stamp, the one before it, and whether the last has been used by a row yet."""

    def __init__(self) -> None:
        self.last: int | None = None
        self.before: int | None = None
        self.is_new = False
        self.setbacks: list[Setback] = []
        self._clocks: dict[_StampKind, _Clock] = {}
        # Of the rows' own stamps, and of the last one, which may be another program's.
        self._kind: _StampKind | None = None
        self._has_own = False  # whether a step's own line has had one
        self._last_kind: _StampKind | None = None

    def note(self, prefix: Prefix, line: int = 0, *, of_row: bool = False) -> None:
        """A line with this prefix comes next; `of_row` is a step's, whose own timestamps count before all others."""
        if prefix.t_ns is None:
            return
        kind = _StampKind(prefix.dated, prefix.zoned, prefix.daily)
        self._has_own = self._has_own or of_row
        if (not self._has_own or self._kind not in {None, kind}) and self._is_lesser(kind):
            prefix, kind = self._with_year(prefix, kind)
        assert prefix.t_ns is not None
        if self._kind not in {None, kind} or (self._kind is None and not of_row and self._is_lesser(kind)):
            return  # another program's line, by another clock
        clock = self._clocks.setdefault(kind, _Clock())
        t_ns = clock.take(prefix, prefix.t_ns, line)
        if self.last is not None and t_ns < self.last - _LEAST_SETBACK_NS and len(self.setbacks) < _MAX_SETBACKS:
            self.setbacks.append(Setback(line, self.last, t_ns))
        self.before, self.last = self.last, t_ns
        self._last_kind = kind
        self.is_new = True

    def _with_year(self, prefix: Prefix, kind: _StampKind) -> tuple[Prefix, _StampKind]:
        """A date without a year in a dated log, with the year of the last date, where it comes soon after that."""
        dated = next((known for known in reversed(self._clocks) if known.dated), None)
        if dated is None or kind.daily or prefix.t_ns is None or prefix.t_ns < _YEARLESS_NS:
            return prefix, kind
        last = self._clocks[dated].last
        year = dt.datetime.fromtimestamp(last / NS, dt.UTC).year
        moment = dt.datetime.fromtimestamp(prefix.t_ns / NS, dt.UTC)
        try:
            moved = prefix.t_ns + round((moment.replace(year=year) - moment).total_seconds()) * NS
        except ValueError:  # 29 February
            return prefix, kind
        if not -_HOUR_NS <= moved - last <= _SOON_NS:
            return prefix, kind
        # How finely it is printed says nothing of the log's own timestamps.
        return prefix._replace(t_ns=moved, dated=True, decimals=-1), dated

    def _is_lesser(self, kind: _StampKind) -> bool:
        """Whether this is a time of day or a date without a year inside a dated log, as far as it is known."""
        return not kind.dated and any(known.dated for known in self._clocks)

    @property
    def _clock(self) -> _Clock:
        """The clock of the rows; of the last stamp while no row has one."""
        kind = self._kind or self._last_kind
        assert kind is not None
        return self._clocks[kind]

    def note_inside(self, groups: Mapping[str, str | None], line: int = 0) -> None:
        """A moment inside the line counts like one before it."""
        unix_s, unix_ms = groups.get("unix_s"), groups.get("unix_ms")
        if unix_s or unix_ms:
            try:
                seconds = float(unix_s) if unix_s else float(unix_ms or "0") / 1e3
            except ValueError:
                return
            if 0 < seconds < _MAX_UNIX_S:
                nanos = round(seconds * NS)
                self.note(Prefix(nanos, dated=True, zoned=True, daily=False, decimals=3, rank=None, length=0), line)
        elif groups.get("stamp"):
            prefix = split_prefix(f"{groups['stamp']} ")
            if prefix is not None:
                self.note(prefix, line)

    def place(self, t_ns: Ints | None, prefix: Prefix | None) -> Ints | None:
        """Stamps of many rows as `note` would take them one by one; None when it would not take them as they are."""
        if t_ns is None or prefix is None or self.last is None or not self._is_like_before(prefix):
            return None
        if not prefix.dated and not prefix.daily and int(t_ns[0]) >= _YEARLESS_NS:
            return None  # rare enough to be taken one by one
        clock = self._clock
        assert prefix.t_ns is not None
        shift = clock.order.offset_ns(prefix.t_ns, prefix.other_ns)
        t_ns = t_ns + shift if shift else t_ns
        # Rows of several days may stand together, and the prefix is that of one of them.
        is_unsure = prefix.match is None or "a" in prefix.match.re.groupindex
        if is_unsure and (np.abs(np.diff(t_ns, prepend=self.last)) > DAY_NS).any():
            return None
        if prefix.dated or not prefix.daily:
            return t_ns
        t_ns = t_ns + clock.day * DAY_NS
        is_past_midnight = t_ns[0] < self.last - DAY_NS // 2 or (np.diff(t_ns) < -(DAY_NS // 2)).any()
        return None if is_past_midnight else t_ns

    def _is_like_before(self, prefix: Prefix) -> bool:
        """Whether a prefix changes nothing of what is known about the log's timestamps."""
        kind = _StampKind(prefix.dated, prefix.zoned, prefix.daily)
        return (self._kind or self._last_kind) == kind and prefix.decimals <= self._clock.decimals

    def note_many(self, before: int | None, last: int, line: int) -> None:
        """Rows with stamps have been taken: that of the last but one, if there were several, and that of the last."""
        self.before = self.last if before is None else before
        self.last = self._clock.last = last
        self._clock.line = line
        self.is_new = False

    def forget_last(self, line: int) -> None:
        """The last stamp says nothing of what was read: it is that of a line, by number, that was cut off."""
        if not self.is_new or self.before is None or self._last_kind is None:
            return
        clock = self._clocks[self._last_kind]
        if clock.line == line and clock.first is not None and clock.first <= self.before:
            self.last = clock.last = self.before
            self.is_new = False

    @property
    def moment(self) -> int:
        """The last stamp there was, or none."""
        return NO_TIME if self.last is None else self.last

    def take(self) -> int:
        """The stamp of the row at hand; none when the last one belonged to the row before already."""
        stamp = self.last if self.last is not None and self.is_new else NO_TIME
        if stamp != NO_TIME and self._kind is None:
            self._kind = self._last_kind
        self.is_new = False
        return stamp

    def stamps(self) -> Stamps | None:
        """What is known of the log's stamps so far."""
        kind = self._kind or self._last_kind
        clock = self._clocks[kind] if kind is not None else None
        if kind is None or clock is None or clock.first is None:
            return None
        return Stamps(
            first_ns=clock.first,
            last_ns=clock.last,
            dated=kind.dated,
            zoned=kind.zoned,
            daily=kind.daily,
            resolution_ns=resolution_ns(clock.decimals),
            shift_ns=clock.added_ns,
            last_line=clock.line,
        )
