"""Lines of a terminal: text broken at its blanks, but never inside a duration or between a number and its unit."""

from __future__ import annotations

import re
import textwrap

# Replaces a blank at which no line may break, until the lines are made.
GLUE = "\ue000"
_INSIDE = re.compile(
    r"(?<=\d) (?=(?:µs|ms|s|min|h|d|j|%|GiB|MiB|Gio|Mio|W|°C)(?!\w))"
    r"|(?<=--max-steps) (?=N\b)|(?<=≤) (?=\d)|(?<=\d:) (?=\d)|(?<=\d\u00a0:) (?=\d)"
    r"|(?<=\d min) (?=\d+ s\b)|(?<=\d h) (?=\d+ min\b)|(?<=\d [dj]) (?=\d+ h\b)"
)


def glued(text: str) -> str:
    """`text` with numbers kept together with their units."""
    return _INSIDE.sub(GLUE, text)


def wrap(text: str, width: int, *, first: str = "", rest: str = "", cuts_words: bool = True) -> list[str]:
    """`text` in lines of at most `width`, the first after `first`, the others after `rest`; longer words are cut."""
    lines = textwrap.wrap(
        glued(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=cuts_words,
    )
    return [line.replace(GLUE, " ") for line in lines]
