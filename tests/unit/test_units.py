"""Rounding, durations and moments."""

from __future__ import annotations

import datetime as dt

import pytest

from stepscope.core.units import parse_count, parse_moment
from stepscope.i18n import Language


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.00012, "120 µs"),
        (0.0123, "12.3 ms"),
        (0.17, "170 ms"),
        (5.985, "5.99 s"),
        (12.543, "12.5 s"),
        (99.96, "1 min 40 s"),
        (216, "3 min 36 s"),
        (240, "4 min"),
        (3395, "57 min"),
        (12_000, "3 h 20 min"),
        (448_600, "5 d 5 h"),
        (float("inf"), "0 s"),
    ],
)
def test_durations_have_about_three_digits(seconds, text):
    assert Language.load("en").duration(seconds) == text


def test_the_ends_of_a_range_look_alike():
    english = Language.load("en")
    assert english.span(0.022, 1.07) == "0.02–1.07 s"
    assert english.span(86, 116) == "1 min 26 s – 1 min 56 s"
    assert english.span(3180, 3680) == "53–61 min"
    assert english.span(40, 130) == "40 s – 2 min 10 s"


@pytest.mark.parametrize(("text", "value"), [("491,520", 491520), ("123.59M", 123.59e6), ("1K", 1000), ("x", None)])
def test_counts(text, value):
    assert parse_count(text) == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize(
    "text", ["02:30", "2025-11-15T02:30", "2025-11-15 02:30:00", "Sat Nov 15 02:30:00 2025", "1763173800"]
)
def test_moments_as_people_write_them(text):
    moment = parse_moment(text, day=dt.date(2025, 11, 15))
    assert moment.astimezone(dt.UTC).replace(tzinfo=None) == dt.datetime(2025, 11, 15, 2, 30)


def test_what_is_no_moment():
    for text in ("", "soon", "25:99", "2025-13-01"):
        assert parse_moment(text, day=dt.date(2025, 11, 15)) is None
