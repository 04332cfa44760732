"""Numbers, plurals and dates are CLDR's: the small table that is shipped says what Babel says."""

from __future__ import annotations

import datetime as dt
import decimal
import sys
from pathlib import Path

import pytest
from babel import Locale
from babel.dates import format_skeleton
from babel.numbers import format_decimal, format_percent
from hypothesis import given
from hypothesis import strategies as st

from stepscope.i18n import Language, languages
from stepscope.i18n.cldr import CLDR

CODES = st.sampled_from(languages())


@given(CODES, st.floats(-1e12, 1e12), st.integers(0, 4))
def test_numbers_are_written_as_cldr_says(code, value, digits):
    pattern = "#,##0" + ("." + "0" * digits if digits else "")
    rounded = decimal.Decimal(repr(value)).quantize(decimal.Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP)
    is_grouped = abs(value) >= 10_000
    expected = format_decimal(rounded, pattern, code, group_separator=is_grouped)
    assert CLDR[code].number(rounded, is_grouped=is_grouped) == expected


@given(CODES, st.floats(-50, 50))
def test_percentages_are_written_as_cldr_says(code, share):
    pattern = Locale.parse(code).percent_formats[None].pattern
    if 0 < abs(share) < 0.0995 or 0.995 <= share < 0.9995:
        pattern = pattern.replace("##0", "##0.0")
    assert Language.load(code).percent(share) == format_percent(share, pattern, code)


@given(CODES, st.one_of(st.integers(-200, 10_000), st.sampled_from([1_000_000, 2_000_000, 1_000_001, 10**9])))
def test_plural_categories_are_those_of_cldr(code, number):
    assert CLDR[code].plural(number) == Locale.parse(code).plural_form(number)


@given(CODES, st.datetimes(dt.datetime(1980, 1, 1), dt.datetime(2120, 1, 1)))
def test_dates_are_written_as_cldr_says(code, moment):
    table = CLDR[code]
    for skeleton, pattern in (("Hm", table.time), ("MMMEd", table.date), ("yMMMEd", table.date_with_year)):
        assert table.moment(pattern, moment) == format_skeleton(skeleton, moment, locale=code)


@pytest.mark.parametrize("code", languages())
def test_the_table_is_what_babel_holds(code, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2] / "tools"), *sys.path])
    import cldr

    assert CLDR[code] == cldr.table(code)
