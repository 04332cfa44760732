"""Single lines of a log that was read already, fetched again to be quoted."""

from __future__ import annotations

from collections.abc import Iterable

from stepscope.core.errors import InputError
from stepscope.source.files import resolve
from stepscope.source.lines import LineSplitter

_MAX_BYTES = 1 << 26  # a quote is worth no more reading than this
_MAX_CHARS = 300


def lines_at(path: str, numbers: Iterable[int]) -> dict[int, str]:
    """The lines of these numbers, counted from 1; those that cannot be had any more are left out."""
    wanted = set(numbers)
    if not wanted:
        return {}
    try:
        sources = resolve(path)
        if len(sources) != 1 or sources[0].path is None:
            return {}
        return _pick(sources[0].chunks(), wanted)
    except (InputError, OSError):
        return {}


def _pick(chunks: Iterable[bytes], wanted: set[int]) -> dict[int, str]:
    last, number = max(wanted), 0
    splitter, found = LineSplitter(), {}
    for chunk in chunks:
        for line in splitter.feed(chunk):
            number += 1
            if number in wanted:
                found[number] = line[:_MAX_CHARS]
        if number >= last or splitter.num_bytes > _MAX_BYTES:
            return found
    for line in splitter.close():
        number += 1
        if number in wanted:
            found[number] = line[:_MAX_CHARS]
    return found
