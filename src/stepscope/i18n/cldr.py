"""Numbers and dates as each of our languages writes them: what CLDR says, without the data of all other languages.

The table is made by tools/gen.py from Babel; `make docs` adds a language once its `.ftl` file is there.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
from typing import NamedTuple

_FIELD = re.compile(r"E+|M+|y+|d+|H+|m+")


class Cldr(NamedTuple):
    """One language.

    percent
        what comes before and after the number
    ones, many
        the whole numbers of the plural category "one"; those that this one divides are of the category "many"
    months, days
        abbreviated, as they are written within a date; days from Monday on
    time, date, date_with_year
        patterns, in the letters of CLDR
    """

    point: str
    group: str
    percent: tuple[str, str]
    ones: tuple[int, ...]
    many: int | None
    months: tuple[str, ...]
    days: tuple[str, ...]
    time: str
    date: str
    date_with_year: str

    def number(self, value: decimal.Decimal, *, is_grouped: bool) -> str:
        """A number with the decimals that it has."""
        text = f"{value:,f}" if is_grouped else f"{value:f}"
        return text.translate({ord(","): self.group, ord("."): self.point})

    def plural(self, number: int) -> str:
        """The plural category of a whole number."""
        if abs(number) in self.ones:
            return "one"
        return "many" if self.many and number and number % self.many == 0 else "other"

    def moment(self, pattern: str, moment: dt.datetime) -> str:
        """A date or a clock time by one of the patterns."""
        fields = {
            "E": self.days[moment.weekday()],
            "MMM": self.months[moment.month - 1],
            "y": str(moment.year),
            "d": str(moment.day),
            "H": str(moment.hour),
            "HH": f"{moment.hour:02d}",
            "mm": f"{moment.minute:02d}",
        }
        fields["EEE"] = fields["E"]
        return _FIELD.sub(lambda found: fields[found[0]], pattern)


# made by tools/gen.py
CLDR: dict[str, Cldr] = {
    "en": Cldr(
        point=".",
        group=",",
        percent=("", "%"),
        ones=(1,),
        many=None,
        months=("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
        days=("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
        time="HH:mm",
        date="E, MMM d",
        date_with_year="E, MMM d, y",
    ),
    "de": Cldr(
        point=",",
        group=".",
        percent=("", "\u00a0%"),
        ones=(1,),
        many=None,
        months=("Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."),
        days=("Mo.", "Di.", "Mi.", "Do.", "Fr.", "Sa.", "So."),
        time="HH:mm",
        date="E, d. MMM",
        date_with_year="E, d. MMM y",
    ),
    "es": Cldr(
        point=",",
        group=".",
        percent=("", "\u00a0%"),
        ones=(1,),
        many=1000000,
        months=("ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"),
        days=("lun", "mar", "mié", "jue", "vie", "sáb", "dom"),
        time="H:mm",
        date="E, d MMM",
        date_with_year="EEE, d MMM y",
    ),
    "fr": Cldr(
        point=",",
        group="\u202f",
        percent=("", "\u00a0%"),
        ones=(0, 1),
        many=1000000,
        months=("janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."),
        days=("lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim."),
        time="HH:mm",
        date="E d MMM",
        date_with_year="E d MMM y",
    ),
}
