"""Timestamps and rank tags that shells, launchers and loggers put before a line.

What follows the prefix is the trainer's own line. A timestamp without an offset counts as
local time, one without a date as time of day: the reader adds the days.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from stepscope.core.lazy_pattern import LazyPattern
from stepscope.lines.moment_forms import DAY_NS, PrintedMoment, moment_at

__all__ = ["DAY_NS", "Prefix", "split_prefix"]

# torchrun writes [default3]:, torchtitan [rank3]:, srun -l and mpirun 3: before each line, Open MPI [1,3]<stdout>:.
_RANK = re.compile(
    r"\[(?P<word>rank|Rank|default|RANK)?[ _]?(?P<a>\d{1,5})\]:?(?:\[\w+\]:?)?\s*"
    r"|(?:rank|Rank|RANK)[ _=]?(?P<b>\d{1,5})\s*[:|\]]\s*|(?P<c>\d{1,5}):\s+(?=[A-Za-z\[\d({>])"
    r"|\[\d+,(?P<d>\d{1,5})\]<std(?:out|err)>:\s?"
)
_LEVEL = r"(?:INFO|DEBUG|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE|SUCCESS|NOTICE|info|debug|warning|error)"
_PLACE = r"[\w./<>\\-]{1,80}\.(?:py|cc|cpp|cu|lua|jl)\b(?::\d{1,6}|\(\d{1,6}\)|\[line:\d{1,6}\]|:[\w<>]{1,60}:\d{1,6})?"
# The begin of a moment, so that what comes before it is a logger's and no word of the trainer.
_SOON = (
    r"(?=[\[(]?(?:\d{4}[-/.]\d\d?[-/.]\d|\d\d?[-/.]\d\d?[-/.]\d|\d\d?:\d\d:\d\d|\d{8}[-_T ]\d{6}|\d{6} \d\d:\d\d"
    r"|\d\d[-/]\d\d \d\d:|\d{4}年))"
)
# Other prefixes of a line: logging.basicConfig's own form, Docker Compose, Ray, absl's file and line; and what loggers
# put before the moment: a level, a place in the code, a logger's name, the pod of kubectl, the job and step of a CI.
_LOGGER = re.compile(
    r"(?:INFO|DEBUG|WARNING|ERROR):[\w.]+:|[\w.-]{1,40}-\d+\s+\| |\((?:\w[\w.:]* )?pid=\d+(?:, ip=[\d.]+)?\) "
    r"|(?:INFO|WARNING|ERROR) [\w./-]+:\d+\] "
    rf"|(?:[\[(<]?(?:{_LEVEL}|{_PLACE}|__main__|root|[A-Za-z_]\w*(?:\.\w+)+)[\])>]?(?:\s*[|:,;-]+\s*|\s+|(?=\[))){{1,3}}{_SOON}"
    rf"|{_LEVEL} {{1,4}}[A-Za-z_][\w-]{{0,30}} {_SOON}"  # a level and a logger's name, `INFO flwr 2023-`
    rf"|\[(?:[A-Za-z]\w{{0,20}} )?[DIWEC] {_SOON}"  # `[NeMo I 2024-`
    rf"|\[(?:pod/)?[\w.-]+/[\w./-]+\] {_SOON}|\[[a-z_][\w.-]{{1,40}}\] {_SOON}"
    rf"|[^\t\d][^\t]{{0,80}}\t[^\t]{{1,80}}\t(?=\d{{4}}-\d\d-\d\d)"
    rf"|(?:[Tt]ime|[Tt]imestamp|[Dd]ate|[Dd]atetime)(?:\s?[:=]\s*|\s+){_SOON}"
)
_BLANK = re.compile(r"[\s|,;-]*(?:- )?")
# After a timestamp: a host and a program (syslog), a logger (`[eval]` is none), a level, a place in the code.
_STAGE = r"(?i:rank|default|\d|(?:train(?:ing)?|val(?:id|idation)?|eval(?:uation)?|test|dev)\])"
_BETWEEN = LazyPattern(
    r"(?:: [IWEF] (?!\S+\.(?:cc|cpp|cu):\d)(?=\S)|[\s|,;:-]*)(?:[\w.-]{1,64} [\w./-]{1,40}\[\d+\]: )?"
    rf"(?:\[(?!{_STAGE})[\w.]{{1,40}}\])*[\s|,;:-]*"
    rf"(?:{_PLACE}[\s|:\]-]+(?={_LEVEL}\b)|(?:{_PLACE}|[A-Za-z_][\w.]{{0,60}}:\d{{1,6}})\]\s*)?"
    rf"(?:[A-Za-z_][\w.-]{{0,40}}+\s{{1,8}}+(?={_LEVEL}\s?[:|\]]))?+"
    r"(?:(?:(?:INFO|DEBUG|WARNING|WARN|ERROR|stdout|stderr|root)\b|__main__\b(?!:[\w<>]))[\s|:\]-]*)*+"
    r"(?:[\w./<>-]{1,80}\.py:\d{1,6}\b[\s|:\]-]+(?=\S))?"
    r"(?:[A-Za-z_][\w.]{0,60}:[\w<>]{1,60}:\d{1,6} - {1,8})?(?:- (?=\w))?(?:>> (?=\S))?"
)

# A prefix that begins with a digit is a moment or a rank, and each of those has one of these at its beginning.
_SIGN_OF_MOMENT = re.compile(r"[:.年년-]|\d{6}")
_FIRST_CHARS = 64
_MOST_KNOWN, _MOST_KNOWN_CHARS = 8192, 400


class Prefix(NamedTuple):
    """What comes before a line. `t_ns` counts from 1970 when dated, else from some midnight; local unless `zoned`."""

    t_ns: int | None
    dated: bool
    zoned: bool
    daily: bool  # a time of day only: the reader adds the days
    decimals: int  # of the seconds; -1 where only minutes are printed
    rank: int | None
    length: int
    match: re.Match[str] | None = None  # the match of the timestamp
    # Where the trainer's own line may begin, the likeliest last: what looks like a logger's name may belong to it.
    cuts: tuple[int, ...] = ()
    is_bare: bool = False  # the rank is a number that nothing calls a rank
    other_ns: int | None = None  # the timestamp with day and month the other way round, where that is a date too


def digits_may_be_prefix(text: str) -> bool:
    """Whether a line without a prefix could have one with other digits in the place of its own."""
    if text[:1].isdigit():
        return _SIGN_OF_MOMENT.search(text, 0, _FIRST_CHARS) is not None
    return text[1:2].isdigit() or (text[1:2] == " " and text[2:3].isdigit())


def split_prefix(text: str) -> Prefix | None:
    """The prefix of `text`, or None when it has none."""
    return _known(text) if len(text) <= _MOST_KNOWN_CHARS else _split(text)


def _split(text: str) -> Prefix | None:
    position, rank, is_bare = 0, None, False
    stamp: PrintedMoment | None = None
    match: re.Match[str] | None = None
    cuts: list[int] = []
    for _ in range(4):
        found = None if stamp else moment_at(text, position)
        tag = _RANK.match(text, position) if found is None else None
        if tag is not None and rank is not None and tag["a"] and not tag["word"] and int(tag["a"]) != rank:
            tag = None  # `[rank0]: [500]`: the launcher has said which rank this is
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
    return Prefix(
        t_ns=stamp.t_ns if stamp else None,
        dated=stamp is not None and stamp.dated,
        zoned=stamp is not None and stamp.zoned,
        daily=stamp is not None and stamp.daily,
        decimals=stamp.decimals if stamp else 0,
        rank=rank,
        length=position,
        match=match,
        cuts=places,
        is_bare=is_bare,
        other_ns=stamp.other_ns if stamp else None,
    )


# Each format that may have written a line asks, and then its reader.
_known = lru_cache(maxsize=_MOST_KNOWN)(_split)
