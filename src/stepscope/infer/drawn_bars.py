"""Progress bars in an unknown log: what one line of a drawn bar says.

A bar has a grammar of its own (label, share, count of total, elapsed, left, rate, postfix), whatever program draws it.
What a series of bars *is*, training or something else, is decided in `bar_series.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from stepscope.lines.figures import parse_clock
from stepscope.lines.prefix import split_prefix

# Between the share and the count: strokes in bars, a rule of dashes, or nothing.
DRAWING = r"%(?:\|[^|]{0,400}\||[\s━╸╺─╌█▏▎▍▌▋▊▉░▒=#>.-]{1,400}?)\s*"
COUNT = r"\d[\d.,]*[kKMG]?"
CLOCK = r"(?:(?:\d+ days?, )?\d+(?::\d\d){1,2}|\d+(?:\.\d+)?s)"
_UNIT = r"[A-Za-zµ][\w]{0,15}"
_RATE = rf"[\d.?]+[kMG]?\s?(?:(?P<unit>{_UNIT})/s|s/(?P<inverse>{_UNIT}))"
_STYLES = {
    "tqdm": re.compile(
        rf"(?P<share>\d{{1,3}}){DRAWING}(?P<n>{COUNT})/(?P<total>{COUNT})\s*\[(?P<elapsed>{CLOCK})<"
        rf"(?P<left>{CLOCK}|\?),?\s*(?:{_RATE})?(?P<post>[^\]]{{0,600}})"
    ),
    # The rate before the clocks, and no brackets.
    "rule": re.compile(
        rf"(?P<share>\d{{1,3}}){DRAWING}(?P<n>{COUNT})/(?P<total>{COUNT})\s+{_RATE}\s+(?P<elapsed>{CLOCK})<(?P<left>{CLOCK})"
        r"(?P<post>)"
    ),
}
_MAX_CHARS = 1500
_MAX_LABEL = 240
_SHARE_DIGITS = 3
_NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?(?:\d(?:[\d.,]*\d)?(?:[eE][-+]?\d+)?|nan|NaN|inf)")


class Bar(NamedTuple):
    """One line of a drawn bar."""

    number: int  # of the line
    style: str
    label: str  # the text before the share, without a timestamp
    share: int
    n: int
    total: int
    elapsed_s: float
    left_s: float | None
    unit: str  # what is counted: `it`, `examples`; empty where the line does not say
    post: str
    is_short: bool  # the counts are abbreviated: `12.9k/200k`
    skeleton: str = ""  # the label with its numbers taken out: the same in every line of a series
    leading: str = ""  # the whole number that the label names first: another one is another run of the bar

    @property
    def label_numbers(self) -> list[str]:
        """The numbers of the label, in order."""
        return [found[0] for found in _NUMBER.finditer(self.label)]


def find_bars(lines: Sequence[str]) -> list[Bar]:
    """Every line that is one of a drawn bar that counts towards a total."""
    return [bar for number, line in enumerate(lines) if (bar := parse_bar(line, number)) is not None]


def parse_bar(line: str, number: int = 0) -> Bar | None:
    """The bar that a line draws; None where it draws none."""
    if "%" not in line or "/" not in line or "<" not in line:
        return None
    text = line.strip()[:_MAX_CHARS]
    for style, pattern in _STYLES.items():
        found = _search(pattern, text)
        if found is None:
            continue
        n, total, elapsed = _count(found["n"]), _count(found["total"]), parse_clock(found["elapsed"])
        if n is None or not total or elapsed is None:
            continue
        unit = found["unit"] or found["inverse"] or ""
        label = text[: found.start()]
        prefix = split_prefix(text) if label.strip() else None
        if prefix is not None and prefix.length <= found.start() and (prefix.t_ns is not None or not prefix.is_bare):
            label = text[prefix.length : found.start()]
        return Bar(
            number=number,
            style=style,
            label=label.strip(),
            share=int(found["share"]),
            n=n,
            total=total,
            elapsed_s=elapsed,
            left_s=parse_clock(found["left"]),
            unit=unit.lower(),
            post=found["post"],
            is_short=not found["total"].isdecimal(),
            skeleton=_shape(label.strip())[0],
            leading=_shape(label.strip())[1],
        )
    return None


def _search(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The bar in a line, from the digits of its share on."""
    at = text.find("%", 1)
    while 0 < at <= _MAX_LABEL:
        start = at
        while start and at - start < _SHARE_DIGITS and text[start - 1].isdecimal():
            start -= 1
        if start < at and (found := pattern.match(text, start)) is not None:
            return found
        at = text.find("%", at + 1)
    return None


@lru_cache(maxsize=4096)
def _shape(label: str) -> tuple[str, str]:
    """The label without its numbers, and the first of them where it is whole."""
    first = _NUMBER.search(label)
    return " ".join(_NUMBER.sub("#", label).split()), first[0] if first and first[0].isdecimal() else ""


def _count(text: str) -> int | None:
    scale = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1.0)
    try:
        return round(float(text.rstrip("kKMG").replace(",", "")) * scale)
    except ValueError:
        return None
