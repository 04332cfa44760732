"""Parse and round durations, counts and moments. The only place that rounds.

Rounding is apart from writing: `duration_parts` says which numbers with how many
decimals and which unit signs; `i18n` writes them as a language does.
"""

from __future__ import annotations

import datetime as dt
import math
import re

NS = 1_000_000_000

MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d)(?![a-z])")
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# From here on a duration is written in minutes, in hours; the end of a range may go on to 99 of a unit.
_MINUTE, _HOUR, _MOST_OF_A_UNIT = 59.95, 59.5 * 60, 99.5
_DECIMAL_UNITS = {"ms": 1e-3, "s": 1.0}
_LARGE_UNITS = {"min": 60.0, "h": 3600.0, "d": 86400.0}
# A range of this many of its larger unit leaves the smaller one unsure.
_WIDE = 3
# Ends so many times apart have no unit in common that suits both.
_DECADES_APART = 100
_SCALE = {"K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}


def seconds_to_ns(seconds: float) -> int:
    """Whole nanoseconds nearest to `seconds`."""
    return round(seconds * NS)


def parse_count(text: str) -> float | None:
    """`491,520`, `123.59M` or `1K` as a number; None when it is none."""
    match = re.fullmatch(r"([\d,_]+(?:\.\d+)?)\s*([KMBGT]?)", text.strip())
    if match is None:
        return None
    return float(match[1].replace(",", "").replace("_", "")) * _SCALE.get(match[2], 1.0)


def parse_duration(text: str) -> float | None:
    """`10min`, `90s`, `1h30m`, `2 d` or plain seconds as seconds; None when it is none."""
    plain = text.strip().lower()
    if re.fullmatch(r"\d+(?:\.\d+)?", plain):
        return float(plain)
    parts = _AMOUNT.findall(plain)
    if not parts or _AMOUNT.sub("", plain).strip():
        return None
    return math.fsum(float(number) * _UNIT_S[unit[0]] for number, unit in parts)


def duration_parts(seconds: float, scale: float | None = None) -> list[tuple[float, int, str]]:
    """Split a duration into (number, decimals, unit sign), largest first, about three digits in all.

    `0.17 → 170 ms`, `5.985 → 5.99 s`, `216 → 3 min 36 s`, `5280 → 1 h 28 min`, `200000 → 2 d 8 h`. Never 60 or more
    of a unit, so that two durations next to each other look alike; hours go on to 48, or a day would be too coarse.
    `scale` is a duration whose units to use instead.
    """
    if not math.isfinite(seconds):
        return [(0.0, 0, "s")]
    size = abs(seconds if scale is None or not math.isfinite(scale) else scale)
    if size == 0:
        return [(0.0, 0, "s")]
    if size < 0.0005:
        return [(seconds * 1e6, 0, "µs")]
    if size < 0.9995:
        return [(seconds * 1e3, 2 if size < 0.00995 else 1 if size < 0.0995 else 0, "ms")]
    if size < 9.995:
        return [(seconds, 2, "s")]
    if size < _MINUTE:
        return [(seconds, 1, "s")]
    sign, own = (-1 if seconds < 0 else 1), abs(seconds)
    if round(size) < 600:
        return _pair(sign, round(own), 60, "min", "s")
    if size < _HOUR:
        return [(sign * round(own / 60), 0, "min")]
    if round(size / 60) < 48 * 60:
        return _pair(sign, round(own / 60), 60, "h", "min")
    return _pair(sign, round(own / 3600), 24, "d", "h")


def range_parts(
    low: float, high: float, near: float | None = None
) -> tuple[list[tuple[float, int, str]], list[tuple[float, int, str]]]:
    """Both ends of a range in the same units, those of its middle: `55–61 min`, but `56 min – 1 h 14 min`.

    What lies in the range is written next to it, and one unit is read at a glance; `near` is that duration. A wide
    range has no more digits than it leaves sure: `13–18 h`; where its ends lie decades apart, each has its own unit:
    `6 ms – 2.2 s`.
    """
    first, last = duration_parts(low, high), duration_parts(high)
    is_open = not any(round(value, digits) for value, digits, _ in first)
    if not is_open and high >= _DECADES_APART * low > 0:
        return _coarse(low), _coarse(high)
    if not is_open and near is not None and 0.001 <= near < 0.9995 <= high < 9.995:
        return [(low * 1e3, 0, "ms")], [(10.0 * round(high * 100), 0, "ms")]
    for unit_s, sign, limit_s in ((1.0, "s", _MINUTE), (60.0, "min", _HOUR)):
        if unit_s <= low and (low + high) / 2 < limit_s <= high < _MOST_OF_A_UNIT * unit_s:
            return [(round(low / unit_s), 0, sign)], [(round(high / unit_s), 0, sign)]
    if not is_open and high - low >= _WIDE * _LARGE_UNITS.get(last[0][2], math.inf):
        return _in_large_units(low, first, most=near), _in_large_units(high, last, least=near)
    return first, last


def _coarse(seconds: float) -> list[tuple[float, int, str]]:
    """A duration in the largest unit that suits it, in whole ones; of a few seconds also tenths."""
    parts = duration_parts(seconds)
    if len(parts) > 1:
        return _in_large_units(seconds, parts)
    value, _, sign = parts[0]
    return [(value, 1 if sign == "s" and seconds < 9.95 else 0, sign)]


def _in_large_units(
    seconds: float, parts: list[tuple[float, int, str]], *, least: float | None = None, most: float | None = None
) -> list[tuple[float, int, str]]:
    """The nearest whole number of the larger of two units, but neither below `least` nor above `most`."""
    if len(parts) < 2:
        return parts
    sign = parts[0][2]
    unit_s = _LARGE_UNITS[sign]
    whole = math.floor(seconds / unit_s + 0.5)
    if least is not None and whole * unit_s < least:
        whole = math.ceil(seconds / unit_s)
    if most is not None and whole * unit_s > most:
        whole = math.floor(seconds / unit_s)
    return [(float(whole), 0, sign)]


def doubtful_parts(seconds: float, low: float, high: float) -> list[tuple[float, int, str]]:
    """Split a duration between `low` and `high` into no more digits than those two leave sure.

    `5.46` between 3.88 and 7.43 → 5.5 s; `0.446` between 0.01 and 2.18 → 0.4 s, because of the unit of its doubt;
    15 h 58 min between 13 and 18 h → 16 h.
    """
    doubt = (high - low) / 2
    if not (math.isfinite(doubt) and doubt > 0):
        return duration_parts(seconds)
    parts = duration_parts(seconds, max(seconds, high) if doubt >= 0.05 else None)
    if len(parts) > 1 and high - low >= _WIDE * _LARGE_UNITS[parts[0][2]]:
        return _in_large_units(seconds, parts)
    if len(parts) > 1 or parts[0][2] not in _DECIMAL_UNITS:
        return parts
    value, digits, unit = parts[0]
    doubt /= _DECIMAL_UNITS[unit]
    # One digit more where the doubt is 1 or 2 of the last: rounding must not be the larger error.
    place = math.floor(math.log10(doubt))
    wanted = -place + (1 if doubt / 10**place < 3 else 0)
    return [(value, min(digits, max(0, wanted)), unit)]


def _pair(sign: int, total: int, base: int, big: str, small: str) -> list[tuple[float, int, str]]:
    head = (float(sign * (total // base)), 0, big)
    tail = (float(total % base), 0, small)
    if total < base:
        return [(sign * tail[0], 0, small)]
    return [head] if total % base == 0 else [head, tail]


def nearest_minute(moment: dt.datetime) -> dt.datetime:
    """The full minute nearest to `moment`."""
    return (moment + dt.timedelta(seconds=30)).replace(second=0, microsecond=0)


def parse_moment(text: str, *, day: dt.date) -> dt.datetime | None:
    """A moment as people write it: ISO 8601, `02:30` (on `day`), Unix seconds, or `date`'s own form.

    Without an offset it is local time. None when it is not a moment.
    """
    text = text.strip()
    clock = re.fullmatch(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", text)
    try:
        if clock is not None:
            moment = dt.datetime.combine(day, dt.time(int(clock[1]), int(clock[2]), int(clock[3] or 0)))
        elif re.fullmatch(r"\d{9,11}(\.\d+)?", text):
            moment = dt.datetime.fromtimestamp(float(text), dt.UTC)
        elif re.match(r"[A-Z][a-z]{2} [A-Z][a-z]{2} ", text):
            moment = _parse_ctime(text)
        else:
            moment = dt.datetime.fromisoformat(text)
        return moment.astimezone()
    except (ValueError, LookupError, OverflowError, OSError):
        return None


def _parse_ctime(text: str) -> dt.datetime:
    """`Sat Nov 15 02:30:07 2025`, with English month names in any locale of the process."""
    _, month, day, clock, year = text.split()[:5]
    hour, minute, second = (int(part) for part in clock.split(":"))
    return dt.datetime(int(year), MONTHS[month], int(day), hour, minute, second)
