"""`i18n/cldr.py`: what CLDR, through Babel, says of our languages, and nothing of the seven hundred others."""

from __future__ import annotations

import json
from typing import Any

from babel import Locale

from stepscope.i18n import languages
from stepscope.i18n.cldr import Cldr

_SKELETONS = ("Hm", "MMMEd", "yMMMEd")


def module() -> str:
    """The text of `i18n/cldr.py` from its table on."""
    rows = [_row(code) for code in languages()]
    return "CLDR: dict[str, Cldr] = {\n" + "".join(rows) + "}\n"


def table(code: str) -> Cldr:
    """What CLDR says of one language."""
    locale = Locale.parse(code)
    before, _, after = locale.percent_formats[None].pattern.partition("#,##0")
    symbols: Any = locale.number_symbols
    symbols = symbols.get("latn", symbols)
    return Cldr(
        point=symbols["decimal"],
        group=symbols["group"],
        percent=(before, after),
        ones=tuple(number for number in range(100) if locale.plural_form(number) == "one"),
        many=1_000_000 if locale.plural_form(1_000_000) == "many" else None,
        months=tuple(locale.months["format"]["abbreviated"][month] for month in range(1, 13)),
        days=tuple(locale.days["format"]["abbreviated"][day] for day in range(7)),
        time=locale.datetime_skeletons[_SKELETONS[0]].pattern,
        date=locale.datetime_skeletons[_SKELETONS[1]].pattern,
        date_with_year=locale.datetime_skeletons[_SKELETONS[2]].pattern,
    )


def _row(code: str) -> str:
    fields = "".join(f"        {name}={_written(value)},\n" for name, value in table(code)._asdict().items())
    return f'    "{code}": Cldr(\n{fields}    ),\n'


def _written(value: object) -> str:
    if isinstance(value, tuple):
        inside = ", ".join(_written(one) for one in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if not isinstance(value, str):
        return repr(value)
    is_invisible = any(char.isspace() and char != " " for char in value)  # a blank that does not break
    return json.dumps(value, ensure_ascii=is_invisible)
