"""Progress bars in an unknown log: what one line of a drawn bar says.

A bar has a grammar of its own (label, share, count of total, elapsed, left, rate, postfix), whatever program draws it.
What a series of bars *is*, training or something else, is decided in `bar_series.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from stepscope.lines.figures import parse_clock
from stepscope.lines.prefix import split_prefix

# Between the share and the count: strokes in bars, a rule of dashes, or nothing.
DRAWING = r"%(?:\|[^|]{0,400}\||[\s━╸╺─╌█▏▎▍▌▋▊▉░▒=#>.-]{1,400}?)\s*"
COUNT = r"\d[\d.,]*[kKMG]?"
CLOCK = r"(?:(?:\d+ days?, )?\d+(?::\d\d){1,2}|\d+(?:\.\d+)?s)"
_UNIT = r"[A-Za-zµ][\w]{0,15}"
_RATE = rf"[\d.?]+[kMG]?\s?(?:(?P<unit>{_UNIT})/s|s/(?P<inverse>{_UNIT}))"
_ANY_RATE = rf"[\d.?]+[kMG]?\s?(?:{_UNIT}/s|s/{_UNIT})"
_POST = r"(?P<post>[^\]]{0,600})"


class _Style(NamedTuple):
    """How a family of bars is drawn: `{share}`, `{count}` and `{clock}` are filled in, `after` is what may follow."""

    drawing: str
    after: str
    example: str
    has_share: bool = True


_STYLES = {
    "tqdm": _Style(
        rf"{{share}}{DRAWING}{{count}}\s*\[{{clock}}<",
        rf"(?P<left>{CLOCK}|\?),?\s*(?:{_RATE})?{_POST}",
        "{share}%|## | {count} [{clock}<?, 1.00it/s{post}]",
    ),
    # The rate before the clocks, and no brackets.
    "rule": _Style(
        rf"{{share}}{DRAWING}{{count}}\s+{_ANY_RATE}\s+{{clock}}<",
        rf"(?P<left>{CLOCK})(?P<unit>)(?P<inverse>)(?P<post>)",
        "{share}% ━━━ {count} 1.0it/s {clock}<00:00",
    ),
    # fastprogress: the count inside the brackets.
    "fast": _Style(
        r"{share}%\s*\[{count}\s+{clock}<",
        rf"(?P<left>{CLOCK})(?P<unit>)(?P<inverse>){_POST}",
        "{share}% [{count} {clock}<00:00{post}]",
    ),
    # tqdm without its strokes and its share, as it is cut by a narrow window or a copy.
    "bare": _Style(
        r"(?:^|(?<=[\s|]))[|\s]{0,4}{count}\s*\[{clock}<",
        rf"(?P<left>{CLOCK}|\?),?\s*(?:{_RATE})?{_POST}",
        "{count} [{clock}<?, 1.00it/s{post}]",
        has_share=False,
    ),
    # The Hugging Face Trainer's in a notebook: `[ 23/2080 10:12 < 16:40:10, 0.03 it/s, Epoch 0.01/1]`
    "notebook": _Style(
        r"\[\s{0,3}{count}\s+{clock}\s*<\s*",
        rf"(?P<left>{CLOCK}|\?),?\s*(?:{_RATE})?{_POST}",
        "[{count} {clock} < ?, 1.00it/s{post}]",
        has_share=False,
    ),
    # rich: a rule, the count, the two clocks with a dot between them.
    "rich": _Style(
        r"[━╸╺─-]{3,200}\s*{count}\s+{clock}\s*[•·]",
        rf"\s*(?P<left>{CLOCK}|[-:]+)\s+(?:{_RATE})?(?P<post>)",
        "━━━ {count} {clock} • 0:00:00 1.0it/s",
        has_share=False,
    ),
}
ENDLESS = "endless"  # the style of a bar without a total
SHARE = r"\d{1,3}(?:\.\d{1,2})?"
_MAX_CHARS = 1500
_MAX_LABEL = 240
_NO_TOTAL = "?"  # of a bar that does not know how far it will count
_SHARE_DIGITS = 6  # `12.34`, and one more
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
    rest: str = ""  # what is glued to its end, printed without a line break
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
    if "/" not in line or not ("<" in line or "•" in line):
        return None
    text = line.strip()[:_MAX_CHARS]
    for style in _STYLES:
        found = _search(style, text)
        if found is None:
            continue
        n, total, elapsed = _count(found["n"]), _count(found["total"]), parse_clock(found["elapsed"])
        if n is None or total is None or elapsed is None or not (total or found["total"] == _NO_TOTAL):
            continue
        label = text[: found.start()]
        prefix = split_prefix(text) if label.strip() else None
        if prefix is not None and prefix.length <= found.start() and (prefix.t_ns is not None or not prefix.is_bare):
            label = text[prefix.length : found.start()]
        groups = found.groupdict()
        return Bar(
            number=number,
            style=style,
            label=label.strip(),
            share=int(float(groups["share"])) if groups.get("share") else 100 * n // total if total else 0,
            n=n,
            total=total,
            elapsed_s=elapsed,
            left_s=parse_clock(found["left"]),
            unit=(groups["unit"] or groups["inverse"] or "").lower(),
            post=found["post"],
            is_short=not found["total"].isdecimal() and bool(total),
            skeleton=_shape(label.strip())[0],
            rest=text[found.end() : found.end() + _MAX_LABEL].lstrip("] "),
            leading=_shape(label.strip())[1],
        )
    return None


def find_endless(lines: Sequence[str]) -> list[Bar]:
    """Every line of a bar with a label that counts without knowing how far: `Validating: 136it [00:03, 46.04it/s]`."""
    drawing = endless_pattern(r"(?P<n>\d+)", rf"(?P<elapsed>{CLOCK})")
    pattern = re.compile(rf"(?P<label>[^|%\[]{{1,{_MAX_LABEL}}}?)\s*{drawing}{_POST}")
    drawn = []
    for number, line in enumerate(lines):
        found = pattern.match(line.strip()[:_MAX_CHARS]) if "it [" in line else None
        if found is None or found["label"][-1].isdecimal():
            continue
        skeleton, leading = _shape(found["label"].strip())
        drawn.append(
            Bar(
                number=number,
                style=ENDLESS,
                label=found["label"].strip(),
                share=0,
                n=int(found["n"]),
                total=0,
                elapsed_s=parse_clock(found["elapsed"]) or 0.0,
                left_s=None,
                unit="it",
                post=found["post"],
                is_short=False,
                skeleton=skeleton,
                leading=leading,
            )
        )
    return drawn


def endless_pattern(count: str, clock: str) -> str:
    """The pattern of a bar without a total behind its label, with patterns for its two figures."""
    return rf"{count}it \[{clock}, +{_ANY_RATE}"


def bar_pattern(style: str, *, share: str, count: str, clock: str) -> str:
    """The pattern of a bar of that style, up to its clock, with patterns for its three figures."""
    return _filled(_STYLES[style].drawing, share=share, count=count, clock=clock)


def bar_text(bar: Bar, clock: str) -> str:
    """A bar of that style with those figures, as a line that patterns can be tried on."""
    if bar.style == ENDLESS:
        return f"{bar.label} {bar.n}it [{clock}, 1.00it/s{bar.post}]"
    count = f"{bar.n}/{bar.total or _NO_TOTAL}"
    drawn = _filled(_STYLES[bar.style].example, share=str(bar.share), count=count, clock=clock, post=bar.post)
    return f"{bar.label} {drawn}".strip()


def _filled(template: str, **values: str) -> str:
    """A template with its figures; its other braces are those of patterns."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


@cache
def _regex(style: str) -> re.Pattern[str]:
    count = rf"(?P<n>{COUNT})/(?P<total>{COUNT}|\{_NO_TOTAL})"
    drawing = bar_pattern(style, share=rf"(?P<share>{SHARE})", count=count, clock=rf"(?P<elapsed>{CLOCK})")
    return re.compile(drawing + _STYLES[style].after)


def _search(style: str, text: str) -> re.Match[str] | None:
    """The bar in a line, from the digits of its share on; where it has none, from its count on."""
    if not _STYLES[style].has_share:
        return _regex(style).search(text, 0, _MAX_LABEL + _MAX_CHARS // 2)
    at = text.find("%", 1)
    while 0 < at <= _MAX_LABEL:
        start = at
        while start and at - start < _SHARE_DIGITS and (text[start - 1].isdecimal() or text[start - 1] == "."):
            start -= 1
        if start < at and (found := _regex(style).match(text, start)) is not None:
            return found
        at = text.find("%", at + 1)
    return None


@lru_cache(maxsize=4096)
def _shape(label: str) -> tuple[str, str]:
    """The label without its numbers, and the first of them where it is whole."""
    first = _NUMBER.search(label)
    return " ".join(_NUMBER.sub("#", label).split()), first[0] if first and first[0].isdecimal() else ""


def _count(text: str) -> int | None:
    if text == _NO_TOTAL:
        return 0
    scale = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1.0)
    try:
        return round(float(text.rstrip("kKMG").replace(",", "")) * scale)
    except ValueError:
        return None
