"""A line of an unknown log taken apart: its numbers, the word before each, the unit after it, and the text between.

Two lines of one shape have the same text between their numbers. What the numbers mean is left to `counter.py` and
`time_figures.py`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

FieldKind = Literal["number", "clock", "words", "stamp"]
MAX_CHARS = 2000
_MAX_FIELDS = 60

NUMBER = (
    # A full stop at the end of a sentence is not part of the number before it.
    r"(?:[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d|,\d)|\d+)(?:\.\d+|\.(?!\s{2}|\s*$|\s[A-Z]))?(?:[eE][-+]?\d+)?(?:[KMBG](?![A-Za-z])|k(?=\s?[a-z]{1,12}/s))?"
    r"|[-+]?\.\d+(?:[eE][-+]?\d+)?|[-+]?(?:nan|NaN|NAN|inf|Inf|INF)(?![a-ln-rt-yA-Z]))"
)
CLOCK = r"(?:(?:\d+ days?, )?\d+:\d\d(?::\d\d)?(?:\.\d+)?)"
_HOURS, _MINUTES, _SECONDS = r"(?:hours?|hrs?)", r"(?:minutes?|mins?)", r"(?:seconds?|secs?)"
WORDS = (
    r"(?:\d+[dhms](?: ?\d+(?:\.\d+)?(?:ms|[hms]))*"
    rf"|\d+ {_HOURS},? \d+ {_MINUTES}(?:,? \d+ {_SECONDS})?|\d+ {_MINUTES},? \d+ {_SECONDS})(?![\w/])"
)
# Dates with their time of day, seconds or not: the forms of `lines/moment_forms.py` that occur inside lines.
STAMP = (
    r"(?:(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d[-/.]\d\d[-/.](?:\d{4}|\d\d))[T _|,]\s?\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?"
    r"(?:\s?[AaPp][Mm]\b)?(?!:?\d))"
)
PATTERNS: dict[FieldKind, str] = {"number": NUMBER, "clock": CLOCK, "words": WORDS, "stamp": STAMP}

_TOKEN = re.compile(
    # A number right after a word that counts is one too: `Epoch1 Time:178.1s`.
    rf"(?:(?<![\w.#])|(?<=[Ee]poch)|(?<=EPOCH)|(?<=[Ii]ter)|(?<=[Ss]tep))(?:(?P<stamp>{STAMP})"
    rf"|(?P<clock>(?:\d+ days?, )?\d+:\d\d(?::\d\d)?(?:\.\d+)?(?![:\d])(?!\.\d))"
    rf"|(?P<words>{WORDS})|(?P<number>{NUMBER}))"
)
# A bar drawn with signs says nothing that its numbers do not.
_BAR = re.compile(r"\|[\s\d█▏▎▍▌▋▊▉░▒=#>.-]{0,200}\|(?=\s*$)|[━╸╺─█▏▎▍▌▋▊▉░▒=#>.\-]{6,}")
_UNIT = re.compile(
    r"\s?(?P<unit>%|(?:ms|µs|us|seconds?|secs?|s|minutes?|mins?|m|hours?|h)(?![A-Za-z\d])"
    r"(?:\s?(?:/|per)\s?[A-Za-z]+)?"
    r"|[A-Za-z]+\s?(?:/|per)\s?(?:seconds?|secs?|s)(?![A-Za-z\d]))"
)
_WORD = re.compile(r"[A-Za-z_][\w./%-]*")
_NAMES_ON = re.compile(r"[A-Za-z_]\w|\.\w")
_MOST_KNOWN = 4096  # texts between numbers: those of one log are few
_BREAK = re.compile(r"[|,;\]})]|\s[-–]\s|\t")


class Field(NamedTuple):
    """A number of a line: `key` is the words before it, lower case; `unit` the unit after it."""

    kind: FieldKind
    text: str
    key: str
    unit: str
    start: int
    end: int


class LineParts(NamedTuple):
    """A line's numbers, and the texts around them: one more than there are numbers, blanks collapsed."""

    fields: tuple[Field, ...]
    texts: tuple[str, ...]

    @property
    def skeleton(self) -> tuple[str, ...]:
        """What lines of one kind have in common."""
        between = zip(self.texts, self.fields, strict=False)
        return (*(f"{text}\0{field.kind[0]}" for text, field in between), self.texts[-1])


def take_apart(line: str) -> LineParts:
    """The shape of a line, of its first two thousand characters."""
    line = line[:MAX_CHARS]
    fields: list[Field] = []
    texts: list[str] = []
    last = after = 0
    for match in _TOKEN.finditer(line):
        if len(fields) >= _MAX_FIELDS:
            break
        kind: FieldKind = match.lastgroup  # type: ignore[assignment]
        if kind == "number" and _is_name(line, match):
            continue
        between = line[last : match.start()]
        named = line[max(last, after) : match.start()]
        unit = _UNIT.match(line, match.end())
        fields.append(
            Field(
                kind,
                match[0],
                _key(named),
                _plain_unit(unit["unit"]) if unit else "",
                match.start(),
                match.end(),
            )
        )
        texts.append(squeeze(between))
        last = match.end()
        after = unit.end() if unit else last
    texts.append(squeeze(line[last:]))
    return LineParts(tuple(fields), tuple(texts))


@lru_cache(maxsize=_MOST_KNOWN)
def _plain_unit(text: str) -> str:
    return re.sub(r"\s", "", text).lower().replace("per", "/")


def _is_name(line: str, match: re.Match[str]) -> bool:
    """Whether digits are part of a name: a version, a path, an address."""
    after = line[match.end() : match.end() + 2]
    return bool(_NAMES_ON.match(after)) and not _UNIT.match(line, match.end()) and not _starts_unit(after)


def _starts_unit(after: str) -> bool:
    """Whether the text right after a number begins like a unit or a multiplier: `4x`, `2GB`, `50it`."""
    return after[:1] in {"x", "G", "M", "K", "B", "T", "z", "i"}


@lru_cache(maxsize=_MOST_KNOWN)
def squeeze(text: str) -> str:
    """Text without bars, blanks collapsed, and without blanks next to a number unless nothing else separates it."""
    text = re.sub(r"\s+", " ", _BAR.sub("\1", text))
    return text if text.isspace() else text.strip()


@lru_cache(maxsize=_MOST_KNOWN)
def _key(between: str) -> str:
    """The words right before a number: after the last comma, bar or bracket, at most four."""
    text = re.sub(
        r"\s*/\s*(?=[a-z])", "/", re.sub(r"\(([A-Za-z/%]+)\)", r" \1 ", between.replace('"', " ").replace("'", " "))
    )
    words = _WORD.findall(_BREAK.split(text)[-1])
    return " ".join(words[-4:]).lower().strip("./-% ")
