"""A line as the ordinary reader sees it."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.lines.match import Claim
from stepscope.reading.bulk.target import BulkTarget
from stepscope.source.lines import ANSI


class Sight(NamedTuple):
    """A line as the ordinary reader sees it, and where its characters are among the bytes."""

    text: str
    found: Claim
    kept: list[int]
    offset: int  # of the claimed text among `kept`
    lead: int  # of the stripped text among `kept`


def look_at(target: BulkTarget, line: bytes) -> Sight | None:
    """Ask the ordinary reader about a line; None when it is blank or no plain text."""
    try:
        raw = line.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\x08" in raw or "\0" in raw:
        return None
    kept = list(range(len(raw))) if len(raw) == len(line) else _byte_places(raw)
    if "\x1b" in raw:
        hidden = {index for code in ANSI.finditer(raw) for index in range(*code.span())}
        raw = "".join(char for index, char in enumerate(raw) if index not in hidden)
        kept = [place for index, place in enumerate(kept) if index not in hidden]
    text = raw.strip()
    if not text:
        return None
    found = target.claim(text)
    lead = len(raw) - len(raw.lstrip())
    return Sight(text, found, kept, lead + len(text) - len(found.text), lead)


def _byte_places(text: str) -> list[int]:
    places, place = [], 0
    for char in text:
        places.append(place)
        place += len(char.encode("utf-8"))
    return places
