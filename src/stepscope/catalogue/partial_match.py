"""How far a pattern gets with a line before it gives up: what `formats try` shows, and why a sample is not claimed."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from stepscope.lines.format import Format
from stepscope.lines.prefix import split_prefix


@cache
def _parsed(pattern: str) -> Any:
    parser: Any = re._parser  # type: ignore[attr-defined]
    return parser.parse(pattern)


@cache
def _first_pieces(pattern: str, size: int) -> re.Pattern[str]:
    """The first `size` pieces of the pattern."""
    compiler: Any = re._compiler  # type: ignore[attr-defined]
    compiled: re.Pattern[str] = compiler.compile(_parsed(pattern)[:size])
    return compiled


def give_up_at(pattern: str, text: str) -> int:
    """How many characters of a line a pattern understands from its start; all of them where it matches."""
    if re.match(pattern, text):
        return len(text)
    low, high = 0, len(_parsed(pattern))  # more pieces match only where fewer do
    while low < high:
        middle = (low + high + 1) // 2
        if _first_pieces(pattern, middle).match(text):
            low = middle
        else:
            high = middle - 1
    found = _first_pieces(pattern, low).match(text) if low else None
    return found.end() if found else 0


def furthest(fmt: Format, text: str) -> int:
    """How far the best line of a format gets with a line of a log, after its prefix if it has one."""
    prefix = split_prefix(text)
    cuts = {0, *(prefix.cuts if prefix else ())}
    best = 0
    for line in fmt.lines:
        if line.kind in {"step", "evaluation", "checkpoint"}:
            for cut in cuts:
                reach = give_up_at(line.pattern, text[cut : cut + 2000])
                best = max(best, cut + reach if reach else 0)
    return best
