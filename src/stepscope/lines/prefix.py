"""Timestamps and rank tags that shells, launchers and loggers put before a line.

What follows the prefix is the trainer's own line. A timestamp without an offset counts as
local time, one without a date as time of day: the reader adds the days.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple

from stepscope.core.units import MONTHS, NS

# torchrun writes [default3]:, torchtitan [rank3]:, srun -l and mpirun 3: before each line, Open MPI [1,3]<stdout>:.
_RANK = re.compile(
    r"\[(?P<word>rank|Rank|default|RANK)?[ _]?(?P<a>\d{1,5})\]:?(?:\[\w+\]:?)?\s*"
    r"|(?:rank|Rank|RANK)[ _=]?(?P<b>\d{1,5})\s*[:|\]]\s*|(?P<c>\d{1,5}):\s+(?=[A-Za-z\[\d({>])"
    r"|\[\d+,(?P<d>\d{1,5})\]<std(?:out|err)>:\s?"
)
_ISO = re.compile(
    r"\[?(?P<y>\d{4})[-/](?P<mo>\d\d)[-/](?P<d>\d\d)[T _,](?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
    r"\s?(?P<z>Z|UTC|[+-]\d\d(?::?\d\d)?)?\]?"
)
_US = re.compile(
    r"\[?(?P<mo>\d\d)/(?P<d>\d\d)/(?P<y>\d{4}),? (?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
    r"(?: (?P<half>[AP]M))?\]?"
)
# Other prefixes of a line: logging.basicConfig's own form, Docker Compose, Ray, absl's file and line.
_LOGGER = re.compile(
    r"(?:INFO|DEBUG|WARNING|ERROR):[\w.]+:|[\w.-]{1,40}-\d+\s+\| |\(\w[\w.:]* pid=\d+(?:, ip=[\d.]+)?\) "
    r"|(?:INFO|WARNING|ERROR) [\w./-]+:\d+\] |(?:INFO|DEBUG|WARNING|ERROR)\s+(?=\[?\d{4}-\d\d-\d\d[T ])"
)
_MONTH = re.compile(
    r"\[?(?:[A-Z][a-z]{2} )?(?P<m>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?P<d>\d{1,2}) "
    r"(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:\.(?P<f>\d{1,9}))?(?: (?P<y>\d{4}))?\]?"
)
_DAY = re.compile(r"\[?(?P<mo>\d\d)/(?P<d>\d\d) (?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?\]?")
# glog and absl: a letter for the level, no year, and the place in the code.
_GLOG = re.compile(
    r"[IWEF](?P<mo>\d\d)(?P<d>\d\d) (?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)\.(?P<f>\d{1,9})\s+\d+ [\w./<>-]{1,60}:\d+\] ?"
)
_TIME = re.compile(r"\[?(?P<h>\d{1,2}):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?\]?(?=[\s|-])")
_EPOCH = re.compile(r"\[?(?P<e>1\d{9})(?:\.(?P<f>\d{1,9}))?\]?(?=[\s|:])")
_SINCE = re.compile(r"\[?(?P<e>\d{1,7})\.(?P<f>\d{2,9})\]?\s+(?=[a-zA-Z])")
_BLANK = re.compile(r"[\s|,;-]*(?:- )?")
# After a timestamp: a host and a program (syslog), a logger's name, a level, a place in the code.
_BETWEEN = re.compile(
    r"[\s|,;:-]*(?:[\w.-]{1,64} [\w./-]{1,40}\[\d+\]: )?(?:\[(?!rank|Rank|default|\d)[\w.]{1,40}\])*[\s|,;:-]*"
    r"(?:(?:INFO|DEBUG|WARNING|WARN|ERROR|stdout|stderr|__main__|root)\b[\s|:\]-]*)*"
    r"(?:[\w.]{1,60}:[\w<>]{1,60}:\d{1,6} - )?(?:- (?=\w))?"
)
_YEARS = (1990, 2190)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
DAY_NS = 86_400 * NS


class Prefix(NamedTuple):
    """What comes before a line. `t_ns` counts from 1970 when dated, else from some midnight; local unless `zoned`."""

    t_ns: int | None
    dated: bool
    zoned: bool
    daily: bool  # a time of day only: the reader adds the days
    decimals: int
    rank: int | None
    length: int
    match: re.Match[str] | None = None  # the match of the timestamp
    # Where the trainer's own line may begin, the likeliest last: what looks like a logger's name may belong to it.
    cuts: tuple[int, ...] = ()
    is_bare: bool = False  # the rank is a number that nothing calls a rank


class _Stamp(NamedTuple):
    t_ns: int
    dated: bool
    zoned: bool
    daily: bool
    decimals: int


def split_prefix(text: str) -> Prefix | None:
    """The prefix of `text`, or None when it has none."""
    position, rank, is_bare = 0, None, False
    stamp: _Stamp | None = None
    match: re.Match[str] | None = None
    cuts: list[int] = []
    for _ in range(4):
        found = None if stamp else _stamp_at(text, position)
        tag = _RANK.match(text, position) if found is None else None
        logger = _LOGGER.match(text, position) if found is None and tag is None else None
        if found is not None:
            stamp, match = found
            position = match.end()
        elif tag is not None:
            which = next(name for name in "abcd" if tag[name])
            if rank is None:  # a launcher's tag before the trainer's own: the outer one counts
                rank = int(tag[which])
                is_bare = which == "c" or (which == "a" and not tag["word"])
            position = tag.end()
        elif logger is not None:
            position = logger.end()
        else:
            break
        blank = _BLANK.match(text, position)
        cuts.append(blank.end() if blank else position)
        between = _BETWEEN.match(text, position)
        position = between.end() if between else position
        cuts.append(position)
    if position == 0:
        return None
    places = tuple(dict.fromkeys(cuts))
    if stamp is None:
        return Prefix(
            t_ns=None,
            dated=False,
            zoned=False,
            daily=False,
            decimals=0,
            rank=rank,
            length=position,
            cuts=places,
            is_bare=is_bare,
        )
    return Prefix(*stamp, rank=rank, length=position, match=match, cuts=places, is_bare=is_bare)


def _stamp_at(text: str, position: int) -> tuple[_Stamp, re.Match[str]] | None:
    """The timestamp at `position`, and its match."""
    for regex in (_ISO, _EPOCH, _US, _MONTH, _DAY, _GLOG, _TIME, _SINCE):
        match = regex.match(text, position)
        if match is None:
            continue
        parts = match.groupdict()
        fraction = parts.get("f") or ""
        nanos = int(fraction.ljust(9, "0")) if fraction else 0
        if "e" in parts:
            known = regex is _EPOCH
            return _Stamp(int(parts["e"]) * NS + nanos, known, known, daily=False, decimals=len(fraction)), match
        hour = int(parts["h"])
        if parts.get("half"):
            hour = hour % 12 + (12 if parts["half"] == "PM" else 0)
        clock = (hour * 3600 + int(parts["mi"]) * 60 + int(parts["s"])) * NS + nanos
        if regex is _TIME:
            return _Stamp(clock, dated=False, zoned=False, daily=True, decimals=len(fraction)), match
        month = MONTHS[parts["m"]] if regex is _MONTH else int(parts["mo"])
        # Without a year, any leap year will do: only differences count.
        days = _days(int(parts.get("y") or 2000), month, int(parts["d"]))
        if days is None:
            continue
        zone = parts.get("z")
        t_ns = days * DAY_NS + clock - _offset_ns(zone)
        dated = bool(parts.get("y"))
        return _Stamp(t_ns, dated, zone is not None, daily=False, decimals=len(fraction)), match
    return None


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970; None for a date that there is not, or that no log can have."""
    if not _YEARS[0] <= year <= _YEARS[1]:
        return None
    try:
        return dt.date(year, month, day).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


def _offset_ns(zone: str | None) -> int:
    if zone is None or zone in {"Z", "UTC"}:
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return (seconds if zone[0] == "+" else -seconds) * NS
