"""Words, numbers and clock times in the user's language. One `.ftl` file per language; `en.ftl` is the master."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import locale as system_locale
import math
import os
import re
from functools import cache
from pathlib import Path

from stepscope.core import units
from stepscope.core.message import About, Argument, Decimal, Message, Moment, Money, Range, Seconds, Share, Span
from stepscope.core.unseen import visible
from stepscope.i18n._fluent import Entry
from stepscope.i18n.cldr import CLDR

# Not importlib.resources: that imports a tenth of the standard library before the first word.
_FOLDER = Path(__file__).parent
_LARGEST = 1e15
_NEARLY_ALL, _ALL = 0.995, 0.9995
_ENTRY = re.compile(r"^(?P<key>[a-z][\w-]*) =", re.MULTILINE)


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages there are, English first."""
    names = sorted(path.stem for path in _FOLDER.glob("*.ftl"))
    return ("en", *(name for name in names if name != "en"))


def system_language() -> str:
    """The language of the user's environment, English when it is none of ours."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if os.environ.get(name):
            code = os.environ[name]
            break
    else:
        code = system_locale.getlocale()[0] or "en"
    short = re.split(r"[_.@-]", code)[0].lower()
    return short if short in languages() else "en"


class Language:
    """One language: messages through Fluent, numbers and times through CLDR.

    A file's messages are parsed one by one when they are first said: a short answer needs few of them.
    """

    def __init__(self, code: str, source: str) -> None:
        self.code = code
        self._cldr = CLDR[code]
        source = re.sub(r"^#.*\n", "", source, flags=re.MULTILINE)
        marks = list(_ENTRY.finditer(source))
        ends = [mark.start() for mark in marks[1:]] + [len(source)]
        self._source = {mark["key"]: source[mark.start() : end] for mark, end in zip(marks, ends, strict=True)}
        self._entries: dict[str, Entry] = {}
        self._blank = " "
        self._glue = ""

    @staticmethod
    @cache
    def load(code: str) -> Language:
        """The language of that code."""
        return Language(code, (_FOLDER / f"{code}.ftl").read_text(encoding="utf-8"))

    def replaced(self, others: dict[str, str]) -> Language:
        """This language where some messages (the keys) say what others (the values) do."""
        found = Language(self.code, "\n".join(self._source.values()))
        found._source = self._source | {key: self._source[other] for key, other in others.items()}
        found._blank, found._glue = self._blank, self._glue
        return found

    def unbroken(self) -> Language:
        """This language for a page: no line of it ends inside a duration, a range or a percentage."""
        found = copy.copy(self)
        found._blank = "\N{NO-BREAK SPACE}"
        found._glue = "\N{WORD JOINER}"
        return found

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all messages."""
        return frozenset(self._source)

    def source(self, key: str) -> str:
        """A message as it is in the file."""
        return self._source[key]

    # -- messages -----------------------------------------------------------------------------------------

    def text(self, key: str, **args: Argument) -> str:
        """A message as text."""
        return self._entry(key).value.render(args, self._write, self._category)

    def hint(self, key: str, **args: Argument) -> str | None:
        """The `.hint` of a message, where it has one."""
        hint = self._entry(key).hint
        return hint.render(args, self._write, self._category) if hint else None

    def say(self, message: Message) -> str:
        """A message as text."""
        return self.text(message.key, **message.args)

    def _entry(self, key: str) -> Entry:
        if key not in self._entries:
            self._entries[key] = Entry(self._source[key])
        return self._entries[key]

    def _write(self, value: object) -> str:
        """An argument as this language writes it."""
        if isinstance(value, Seconds):
            return self.duration(value.value)
        if isinstance(value, Span):
            return self.span(value.low, value.high)
        if isinstance(value, Range):
            return f" ({self.span(value.low, value.high)})" if self.is_range(value.low, value.high) else ""
        if isinstance(value, About):
            return self._joined(units.doubtful_parts(value.value, value.low, value.high))
        if isinstance(value, Share):
            return self.percent(value.value)
        if isinstance(value, Money):
            return self.money(value)
        if isinstance(value, Moment):
            return self.clock(value.value, value.near)
        if isinstance(value, Message):
            return self.say(value)
        if isinstance(value, Decimal):
            return self.number(value.value, value.digits)
        return self.number(value) if isinstance(value, int) else visible(str(value))

    def _category(self, value: object) -> str:
        """The CLDR plural category of a number; text is its own."""
        return self._cldr.plural(value) if isinstance(value, int) else str(value)

    # -- numbers and times --------------------------------------------------------------------------------

    def _is_grouped(self, value: float) -> bool:
        least = re.search(r"= (\d+)", self._source["number-least-grouped"])
        return least is None or abs(value) >= int(least[1])

    def number(self, value: float, digits: int = 0) -> str:
        """A number with a fixed number of decimals."""
        if not abs(value) < _LARGEST:
            return f"{decimal.Decimal(value):.3g}"  # too large a number to write out, perhaps for a float, too
        # Half up, as people round: 5.985 s is 5.99 s.
        step = decimal.Decimal(1).scaleb(-digits)
        rounded = decimal.Decimal(repr(float(value))).quantize(step, decimal.ROUND_HALF_UP)
        return self._cldr.number(rounded, is_grouped=self._is_grouped(value))

    def percent(self, share: float) -> str:
        """A share of 1 in percent: one decimal below ten and where none would say that it is all, else none."""
        before, after = self._cldr.percent
        return before + self._hundredths(share) + after

    def percent_span(self, low: float, high: float) -> str:
        """A range of shares, its sign only once: `91–93%`; one figure where both ends are written alike."""
        first, last = self._hundredths(low), self._hundredths(high)
        before, after = self._cldr.percent
        return before + (last if first == last else f"{first}–{self._glue}{last}") + after

    def _hundredths(self, share: float) -> str:
        digits = 1 if 0 < abs(share) < 0.0995 or _NEARLY_ALL <= share < _ALL else 0
        step = decimal.Decimal(1).scaleb(-digits)
        hundredths = (decimal.Decimal(repr(float(share))) * 100).quantize(step, decimal.ROUND_HALF_EVEN)
        return self._cldr.number(hundredths, is_grouped=True)

    def money(self, amount: Money) -> str:
        """An amount with its currency, in cents where that is not far too exact."""
        size = abs(amount.value)
        # Of less than a cent, two digits that are not 0.
        digits = 0 if size >= 1000 else 2 if size >= 0.01 or not size else min(6, 1 - math.floor(math.log10(size)))
        number = self.number(amount.value, digits)
        if not amount.currency:
            return number
        return (
            f"{amount.currency}{number}"
            if self.code == "en" and len(amount.currency) == 1
            else f"{number} {amount.currency}"
        )

    def duration(self, seconds: float, scale: float | None = None) -> str:
        """A duration with about three digits."""
        return self._joined(units.duration_parts(seconds, scale))

    def _joined(self, parts: list[tuple[float, int, str]]) -> str:
        blank = self._blank
        return blank.join(f"{self.number(value, digits)}{blank}{self._unit(sign)}" for value, digits, sign in parts)

    def _unit(self, sign: str) -> str:
        return self.text("unit-day") if sign == "d" else sign

    def is_range(self, low: float, high: float, near: float | None = None) -> bool:
        """Whether the two ends look different when they are written."""
        first, last = units.range_parts(low, high, near)
        return self._joined(first) != self._joined(last)

    def joined(self, texts: list[str]) -> str:
        """Statements in a row, separated as the language does it."""
        return self.text("statements-separator").replace("…", "").join(texts)

    def span(self, low: float, high: float, near: float | None = None) -> str:
        """A range of durations; the unit only once where both ends have just that one; from nothing on, its end.

        `near` is the duration that it is written next to.
        """
        if not self.is_range(low, high, near):
            return self.duration(high)
        first, last = units.range_parts(low, high, near)
        if not any(round(value, digits) for value, digits, _ in first):
            return f"≤{self._blank}{self._joined(last)}"
        if len(first) == len(last) == 1 and first[0][2] == last[0][2]:
            return f"{self.number(first[0][0], first[0][1])}–{self._glue}{self._joined(last)}"
        # No line of a page ends behind the dash.
        return f"{self._joined(first)} –{self._blank}{self._joined(last)}"

    def clock(self, moment: dt.datetime, near: dt.datetime | None = None) -> str:
        """A clock time on 24 hours; with the date when that is not the day of `near`."""
        moment = units.nearest_minute(moment)
        cldr = self._cldr
        time = cldr.moment(cldr.time, moment)
        if near is not None and near.date() == moment.date():
            return time
        has_year = near is None or near.year != moment.year
        date = cldr.moment(cldr.date_with_year if has_year else cldr.date, moment)
        return self.text("clock-with-date", date=date, time=time)
