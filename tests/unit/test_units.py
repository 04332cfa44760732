"""Rounding, durations and moments."""

from __future__ import annotations

import datetime as dt
import re

import pytest

from stepscope.core.message import About, say
from stepscope.core.units import parse_count, parse_moment
from stepscope.i18n import Language
from stepscope.report.wrapping import wrap


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.00012, "120 µs"),
        (0.0123, "12.3 ms"),
        (0.17, "170 ms"),
        (5.985, "5.99 s"),
        (12.543, "12.5 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (72.5, "1 min 12 s"),
        (99.96, "1 min 40 s"),
        (216, "3 min 36 s"),
        (240, "4 min"),
        (3395, "57 min"),
        (3569, "59 min"),
        (3571, "1 h"),
        (5280, "1 h 28 min"),
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
    assert english.span(3180, 3540) == "53–59 min"
    assert english.span(3180, 3680) == "53–61 min"
    assert english.span(3360, 4440) == "56 min – 1 h 14 min"
    assert english.span(0, 6480) == "≤ 1 h 48 min"
    assert english.span(0, 4.26) == "≤ 4.26 s"
    assert english.span(0.003, 4.26) == "≤ 4.26 s"
    assert english.span(3, 6480) == "≤ 1 h 48 min"
    assert english.span(0, 0) == "0 s"
    assert english.span(40, 130) == "40 s – 2 min 10 s"
    assert english.span(40, 75) == "40–75 s"
    assert english.span(50, 75) == "50 s – 1 min 15 s"
    assert english.span(3180, 7000) == "53 min – 1 h 57 min"


def test_a_wide_range_has_no_more_digits_than_it_leaves_sure():
    english = Language.load("en")
    assert english.span(53_760, 65_040) == "15–18 h"
    assert english.span(53_760, 57_000) == "14 h 56 min – 15 h 50 min"
    assert english.span(3 * 86400 + 4 * 3600, 18 * 86400 + 16 * 3600) == "3–19 d"
    assert english.span(28_800, 4 * 86400 + 7200) == "8 h – 4 d"
    assert english.span(3_600, 15_600, 15_240) == "1–5 h"  # next to 4 h 14 min
    assert english.span(0, 15_240) == "≤ 4 h 14 min"
    for seconds, low, high, text in (
        (57_480, 53_760, 65_040, "16 h"),
        (57_480, 57_000, 58_000, "15 h 58 min"),
        (280, 110, 1400, "5 min"),
    ):
        message = say("summary-left", left=About(seconds, low, high), range="")
        assert english.say(message) == f"{text} left"


def test_ends_that_lie_decades_apart_have_units_of_their_own():
    english = Language.load("en")
    assert english.span(0.00645, 2.18, 0.446) == english.span(0.00645, 2.18) == "6 ms – 2.2 s"
    assert english.span(0.3, 40) == "300 ms – 40 s"
    assert english.span(0.002, 0.9) == "2–900 ms"
    assert english.span(40, 10_800) == "40 s – 3 h"
    assert english.span(4_000, 518_400) == "1 h – 6 d"
    assert english.span(0.0001, 2.18, 0.446) == "≤ 2.18 s"


def test_a_range_is_in_the_unit_of_what_it_is_next_to():
    english = Language.load("en")
    assert english.span(0.59, 1.05, 0.802) == "590–1,050 ms"
    assert english.span(0.59, 1.05, 1.01) == "0.59–1.05 s"
    assert english.span(0.59, 1.05) == "0.59–1.05 s"


def test_hardly_less_than_all_is_not_written_as_all():
    english = Language.load("en")
    shares = (0.9949, 0.9951, 0.9994, 0.9996, 1.0)
    assert [english.percent(share) for share in shares] == ["99%", "99.5%", "99.9%", "100%", "100%"]


def test_no_duration_has_sixty_of_a_unit_that_has_a_larger_one():
    """What lies next to each other looks alike: 1 h 28 min beside 1 h 9 min, and not 88 min."""
    english = Language.load("en")
    for seconds in [
        *(0.1 * tenth for tenth in range(500, 1100)),
        *range(100, 48 * 3600, 7),
        *range(172_800, 10**6, 997),
    ]:
        figures = dict(pair.split(" ")[::-1] for pair in re.findall(r"[\d.]+ [a-z]+", english.duration(seconds)))
        assert float(figures.get("s", 0)) < 60
        assert float(figures.get("min", 0)) < 60
        assert float(figures.get("h", 0)) < (24 if "d" in figures else 48)


def test_each_language_has_its_own_sign_of_a_day():
    texts = {code: Language.load(code).duration(448_600) for code in ("en", "de", "es", "fr")}
    assert texts == {"en": "5 d 5 h", "de": "5 d 5 h", "es": "5 d 5 h", "fr": "5 j 5 h"}
    assert Language.load("fr").span(259_200, 448_600) == "3 j – 5 j 5 h"


def test_a_page_does_not_break_lines_inside_a_duration():
    german = Language.load("de").unbroken()
    assert german.duration(247) == "4\N{NO-BREAK SPACE}min\N{NO-BREAK SPACE}7\N{NO-BREAK SPACE}s"
    assert Language.load("de").duration(247) == "4 min 7 s"
    assert german.replaced({}).duration(247) == german.duration(247)


def test_a_terminal_does_not_break_lines_inside_a_duration():
    text = "training took 4 min 7 s, 3 h 20 min, 5 d 5 h, 12 % and 5 GiB."
    lines = {line for width in range(16, 60) for line in wrap(text, width, first="  ", rest="    ")}
    for whole in ("4 min 7 s", "3 h 20 min", "5 d 5 h", "12 %", "5 GiB"):
        assert any(whole in line for line in lines)
    heads = ("min 7 s", "7 s", "20 min", "5 h", "%", "GiB")
    assert not [line for line in lines if line.strip().startswith(heads)]


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
