"""Which line of a format a raw line is: as it is, after a known prefix, or after any other."""

from __future__ import annotations

import re
from typing import NamedTuple

from stepscope.core.lazy_pattern import LazyPattern
from stepscope.lines.format import Format, LineKind, match_line
from stepscope.lines.notices import KILLED
from stepscope.lines.prefix import Prefix, split_prefix
from stepscope.lines.sieve import literal_start

# After an unknown kind of prefix, only these distinctive lines are looked for, and only near the start.
SEARCHED: frozenset[LineKind] = frozenset({"step", "evaluation", "checkpoint"})
_SEARCH_CHARS = 400
_MAX_PREFIX = 120
# So much of a line that no format claims is looked through for words of any kind. Patterns that are searched for may
# look at a line once from each of its characters.
LOOKED_THROUGH = 1_000
# An unknown prefix ends in white space or a bracket.
_PREFIX_END = re.compile(r"[\s\]|:>]")
# The first letters of the prefixes we know; most lines have none, and need not be looked at twice.
_PREFIX_STARTS = frozenset("[(<{0123456789JFMASONDrRTWIEC" + "abcdefghijklmnopqstuvwxyz")

# The end of tqdm's bar, and something right behind it; of a bar whose clocks come last, a word.
_BAR_END = LazyPattern(
    r".{0,300}?\d+/[\d?]+ (?:"
    r"\[[\d:]+<[\d:?]+, +[\d.?]+(?:it/s|s/it)(?:, [^\]]{0,200})?\]"
    r"(?=[^\s\[\x1b]|\[(?:\d{1,4}[-/.]|(?:INFO|WARNING|ERROR|DEBUG)\b))"
    r"|[\d.]+(?:it/s|s/it) [\d:.]+s?<[\d:.]+s?(?=[A-Z][a-zA-Z]{2}))"
)
# What a shell prints right behind a bar of any kind that had not ended its line.
_SHELL_WORD = LazyPattern(rf".*[\ds\]\)](?= ?(?:{'|'.join(map(re.escape, KILLED))})$)")
_RATE_ENDS = ("it]", "/s]", "it, ", "/s, ", "it/s ", "s/it ")


class Claim(NamedTuple):
    """A line of a format (by its index), the match, and the prefix before it."""

    which: int | None
    match: re.Match[str] | None
    prefix: Prefix | None
    text: str

    def leaves(self, line: str, position: int) -> bool:
        """Whether nothing that the format reads of a line is at that position of it or behind."""
        if self.match is None:
            return True
        read = max(self.match.end(group) for group in range(self.match.re.groups + 1))
        return len(line) - len(self.match.string) + read <= position


def claim(fmt: Format, text: str, first: int = 0) -> Claim:
    """What `fmt` makes of `text` (not blank); `first` is the line to try before the others."""
    found = match_line(fmt, text, first)
    prefix = None
    if found is None and text[0] in _PREFIX_STARTS:
        prefix = split_prefix(text)
        if prefix is not None:
            for cut in reversed(prefix.cuts):
                found = match_line(fmt, text[cut:], first) if cut < len(text) else None
                if found is not None:
                    return Claim(found[0], found[1], prefix, text[cut:])
            text = text[prefix.length :]
    if found is None and text:
        found = _search(fmt, text)
    index, match = found if found else (None, None)
    return Claim(index, match, prefix, text)


def prefix_shape(found: Claim) -> re.Pattern[str] | None:
    """The shape of an unknown prefix before a claimed line, to recognise it before other lines."""
    start = found.match.start() if found.match is not None else 0
    if not start:
        return None
    pieces = re.split(r"(\d+|\s+)", found.text[:start])
    shape = "".join(r"\d+" if piece.isdigit() else r"\s+" if piece.isspace() else re.escape(piece) for piece in pieces)
    return re.compile(shape)


def _search(fmt: Format, text: str) -> tuple[int, re.Match[str]] | None:
    head = text[:_SEARCH_CHARS]
    if fmt.words and not any(map(text.__contains__, fmt.words)):
        return None  # none of this format's words: its patterns need not even be compiled
    starts: list[int] | None = None
    for index in fmt.sieve.possible(text):
        line = fmt.lines[index]
        word = literal_start(line.pattern)
        if line.kind in SEARCHED and word in head:
            if starts is None:
                starts = [end.end() for end in _PREFIX_END.finditer(head, 0, _MAX_PREFIX)]
            for start in starts:
                match = line.regex.match(head, start) if head.startswith(word, start) else None
                if match is not None:
                    return index, match
    return None


def behind_bar(text: str) -> int | None:
    """Where a text begins that is glued to the end of a bar; None where there is no such text."""
    if text.endswith(KILLED) and len(text) <= LOOKED_THROUGH:
        found = _SHELL_WORD.match(text)
    else:
        found = _BAR_END.match(text) if any(map(text.__contains__, _RATE_ENDS)) else None
    return None if found is None or found.end() >= len(text) else found.end()


def is_indented(line: str, prefix: Prefix | None) -> bool:
    """Whether a line is indented, after its prefix if it has one."""
    if prefix is None:
        return line[:1].isspace()
    return prefix.length > 1 and line.strip()[prefix.length - 2 : prefix.length].isspace()
