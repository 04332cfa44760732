"""The forms in which programs print a moment: one table of patterns, and what each of them means.

Where a date can be read in two ways (`01/02/2024`), the usual reading comes first and the other one is kept: which of
them a file means shows only over several lines (`date_order.py`).
"""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple

from stepscope.core.lazy_pattern import LazyPattern
from stepscope.core.units import MONTHS, NS

DAY_NS = 86_400 * NS
_YEARS = (1990, 2190)
# Two digits are a year of this span only: more often they are a day.
_SHORT_YEARS = (2005, 2049)
# Without a year, any leap year will do: only differences count.
_NO_YEAR = 2000
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()


class PrintedMoment(NamedTuple):
    """A moment. `t_ns` counts from 1970 when dated, else from some midnight; local unless `zoned`."""

    t_ns: int
    dated: bool
    zoned: bool
    daily: bool  # a time of day only: the reader adds the days
    decimals: int  # of the seconds; -1 where only minutes are printed
    other_ns: int | None = None  # the same with day and month the other way round, where that is a date too


# `[ Mon Dec  1 22:43:34 2025 ]`: with blanks inside the brackets, or without.
_OPEN, _CLOSE = r"(?:[\[(<{] ?)?", r"(?: ?[\])}]|>)?"
_FRACTION = r"(?:(?:[.,]|:(?=\d{3}(?!\d)))(?P<f>\d{1,9}))?"
_HALF = r"(?:\s?(?P<half>[AaPp]\.?[Mm]\b\.?))?"
_ZONE = (
    r"(?:(?P<z>Z|[+-]\d\d(?::?\d\d)?|\s?(?:UTC|GMT)|\s[+-]\d\d:?\d\d)(?![\w.])"
    # Names of zones mean several: the moment counts as local.
    r"|\s(?:CE?S?T|MS?[KT]|[EP][SD]T|MDT|CDT|WES?T|EES?T|BST|IST|JST|KST|HKT|SGT|AE[SD]T|NZ[SD]T)\b)?"
)
_SECONDS = rf"(?P<h>\d{{1,2}}):(?P<mi>\d\d):(?P<s>\d\d){_FRACTION}(?!:?\d)"
_MINUTES = rf"(?P<h>\d{{1,2}}):(?P<mi>\d\d)(?::(?P<s>\d\d){_FRACTION})?(?!:?\d)"
_TAIL = rf"{_HALF}{_ZONE}{_CLOSE}"
_JOIN = r"(?:\s?[T_|:,@-]\s?|\s{1,3})"
_MON = r"(?P<m>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:[a-z]{1,6})?\.?"
_WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?:[a-z]{1,6})?,?\s+)?"

_ISO = LazyPattern(
    rf"{_OPEN}(?P<y>\d{{4}})(?P<sep>[-/.])(?P<mo>\d\d?)(?P=sep)(?P<d>\d\d?)(?:{_JOIN}|\s[A-Z][a-z]{{2}}\s){_MINUTES}{_TAIL}"
)
_ISO_DASHED = LazyPattern(
    rf"{_OPEN}(?P<y>\d{{4}})-(?P<mo>\d\d)-(?P<d>\d\d)[\s_T-]{{1,2}}(?P<h>\d\d)(?P<sep>[-_h])(?P<mi>\d\d)[-_m](?P<s>\d\d)s?"
    rf"(?:[._,-](?P<f>\d{{3,9}}))?(?!\d){_CLOSE}"
)
_COMPACT = LazyPattern(
    rf"{_OPEN}(?P<y>(?:20)?\d\d)(?P<mo>[01]\d)(?P<d>[0-3]\d)[-_T\s]?(?P<h>[0-2]\d):?(?P<mi>[0-5]\d):?(?P<s>[0-5]\d)"
    rf"(?:[.,_-](?P<f>\d{{3,9}}))?(?![\d.:]){_CLOSE}"
)
_NUMERIC = LazyPattern(
    rf"{_OPEN}(?P<a>\d\d?)(?P<sep>[-/.])(?P<b>\d\d?)(?P=sep)(?P<c>\d{{4}}|\d\d){_JOIN}{_MINUTES}{_TAIL}"
)
_MONTH_FIRST = LazyPattern(
    rf"{_OPEN}{_WEEKDAY}{_MON}\s+(?P<d>\d\d?)(?:st|nd|rd|th)?,?\s+(?:(?P<y>\d{{4}}),?\s+(?:at\s+)?)?{_MINUTES}"
    rf"{_HALF}{_ZONE}(?:\s(?P<y2>(?:19|20)\d\d)(?!\d))?{_CLOSE}"
)
_DAY_FIRST = LazyPattern(
    rf"{_OPEN}{_WEEKDAY}(?P<d>\d\d?)\.?[\s/-]{_MON}[\s/,-]+(?:(?P<y>\d{{4}}|\d\d(?=[\s:,]+\d\d?:\d\d:))[\s:,]+)?{_MINUTES}{_TAIL}"
)
_MONTH_DAY = LazyPattern(rf"{_OPEN}(?P<mo>\d\d)[-/](?P<d>\d\d)[\sT]{_SECONDS}{_TAIL}")
_CJK = LazyPattern(
    rf"{_OPEN}(?P<y>\d{{4}})\s?[年년]\s*(?P<mo>\d\d?)\s?[月월]\s*(?P<d>\d\d?)\s?[日号일]?\s*+"
    r"(?:[(（]?(?:星期|周|週)?[一二三四五六日天月火水木金土월화수목금토일](?:曜日|요일)?[)）]?\s*+)?"
    r"(?P<half>上午|下午|午前|午後|오전|오후)?\s*+(?P<h>\d\d?)\s?[:：时時点시]\s*(?P<mi>\d\d?)"
    rf"(?:\s?[:：分분]\s*(?P<s>\d\d?){_FRACTION}(?:\s?[秒초])?)?{_ZONE}{_CLOSE}"
)
# glog and absl: a letter for the level, no year, and the place in the code.
_GLOG = LazyPattern(
    r"[DIWEFC](?P<y>20\d\d)?(?P<mo>\d\d)(?P<d>\d\d) (?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)\.(?P<f>\d{1,9})"
    r"\s+\d+ [\w./<>-]{1,80}:\d+\] ?"
)
_TIME = LazyPattern(rf"{_OPEN}{_SECONDS}{_HALF}{_CLOSE}(?=[\s|:,;-]|$)(?!:?\d)")
_TIME_OF_MINUTES = LazyPattern(
    rf"{_OPEN}(?P<h>\d\d?):(?P<mi>\d\d)\s?(?P<half>[AaPp]\.?[Mm]\b\.?){_CLOSE}(?=[\s|:,;-]|$)"
)
_EPOCH = LazyPattern(r"\[?(?P<e>1\d{9})(?:\.(?P<f>\d{1,9}))?\]?(?=[\s|:])")
_SINCE = LazyPattern(r"\[?(?P<e>\d{1,7})\.(?P<f>\d{2,9})\]?\s+(?=[a-zA-Z])")

_DIGITS_FIRST = (
    *(_ISO, _EPOCH, _NUMERIC, _MONTH_DAY, _COMPACT, _ISO_DASHED, _DAY_FIRST, _CJK, _TIME, _TIME_OF_MINUTES, _SINCE),
)
_NAMED = (_MONTH_FIRST, _DAY_FIRST)
_NAMES = frozenset(MONTHS) | {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
_LEVELS = frozenset("DIWEFC")
# The order of day, month and year in a date of three numbers, the usual one first.
_ORDERS = {"/": ("mdy", "dmy", "ymd"), ".": ("dmy", "mdy", "ymd"), "-": ("ymd", "dmy", "mdy")}


def resolution_ns(decimals: int) -> int:
    """The finest step of moments with this many decimals of their seconds; -1 where only minutes are printed."""
    return 60 * NS if decimals < 0 else max(1, NS // 10 ** min(decimals, 9))


def moment_at(text: str, position: int) -> tuple[PrintedMoment, re.Match[str]] | None:
    """The moment printed at `position`, and its match."""
    start = position
    if text[position : position + 1] in {"[", "(", "<", "{"}:
        start += 2 if text[position + 1 : position + 2] == " " else 1
    for form in _forms(text[start : start + 3]):
        match = form.match(text, position)
        moment = _meaning(form, match) if match is not None else None
        if match is not None and moment is not None:
            return moment, match
    return None


def _forms(begin: str) -> tuple[LazyPattern, ...]:
    """The forms of a moment that begins like this."""
    if begin[:1].isdigit():
        return _DIGITS_FIRST
    if begin in _NAMES:
        return _NAMED
    return (_GLOG,) if begin[:1] in _LEVELS and begin[1:].isdigit() else ()


def _meaning(form: LazyPattern, match: re.Match[str]) -> PrintedMoment | None:
    """What a match of `form` says; None when there is no such date or time of day."""
    parts = match.groupdict()
    fraction = parts.get("f") or ""
    nanos = int(fraction.ljust(9, "0")) if fraction else 0
    if form is _EPOCH or form is _SINCE:
        known = form is _EPOCH
        return PrintedMoment(int(parts["e"]) * NS + nanos, known, known, daily=False, decimals=len(fraction))
    seconds = _seconds(parts)
    if seconds is None:
        return None
    clock, decimals = seconds * NS + nanos, len(fraction) if parts.get("s") else -1
    if form is _TIME or form is _TIME_OF_MINUTES:
        return PrintedMoment(clock, dated=False, zoned=False, daily=True, decimals=decimals)
    dates = _dates(form, parts)
    if not dates:
        return None
    zone = (parts.get("z") or "").strip()
    t_ns, *others = (days * DAY_NS + clock - _offset_ns(zone) for days in dates)
    dated = bool(parts.get("y") or parts.get("y2") or parts.get("c"))
    return PrintedMoment(
        t_ns, dated, bool(zone), daily=False, decimals=decimals, other_ns=others[0] if others else None
    )


def _seconds(parts: dict[str, str | None]) -> int | None:
    hour, minute, second = (int(parts.get(name) or 0) for name in ("h", "mi", "s"))
    half = (parts.get("half") or "").lower()
    if half and hour <= 12:
        hour = hour % 12 + (12 if half.startswith("p") or half in {"下午", "午後", "오후"} else 0)
    if hour > 23 or minute > 59 or second > 60:
        return None
    return hour * 3600 + minute * 60 + second


def _dates(form: LazyPattern, parts: dict[str, str | None]) -> list[int]:
    """The days since 1970 that a date can mean, the likeliest first, at most two."""
    if form is _NUMERIC:
        found = [_in_order(order, parts) for order in _ORDERS[parts["sep"] or "/"]]
        # `03.24.23|09:56:11` is strftime's %m.%d.%y: with two digits for the year, month and day come in either order.
        return list(dict.fromkeys(day for day in found if day is not None))[:2]
    year = parts.get("y") or parts.get("y2")
    name = parts.get("m")
    month = str(MONTHS[name]) if name else parts.get("mo")
    day = _days(year, month, parts["d"])
    if form is not _MONTH_DAY:
        return [] if day is None else [day]
    swapped = _days(None, parts["d"], parts["mo"])
    return list(dict.fromkeys(found for found in (day, swapped) if found is not None))


def _in_order(order: str, parts: dict[str, str | None]) -> int | None:
    by_name = dict(zip(order, (parts["a"], parts["b"], parts["c"]), strict=True))
    if len(by_name["y"] or "") == 1 or (len(parts["c"] or "") == 4 and order == "ymd"):
        return None
    return _days(by_name["y"], by_name["m"], by_name["d"])


def _days(year: str | None, month: str | None, day: str | None) -> int | None:
    """Days since 1970; None for a date that there is not, or that no log can have."""
    full = _NO_YEAR if year is None else int(year) + (2000 if len(year) == 2 else 0)
    first, last = _SHORT_YEARS if year is not None and len(year) == 2 else _YEARS
    if not first <= full <= last:
        return None
    try:
        return dt.date(full, int(month or 0), int(day or 0)).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


def _offset_ns(zone: str) -> int:
    if not zone or zone in {"Z", "UTC", "GMT"}:
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return (seconds if zone[0] == "+" else -seconds) * NS
