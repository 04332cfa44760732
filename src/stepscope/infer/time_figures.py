"""What an unknown log's time figures mean, settled by the evidence inside the log.

A figure may be the time of one step, of all steps since the last line, or a clock that runs; its unit may be missing.
Each reading predicts a pace (seconds of a step). The timestamps of the lines, a running clock, a printed rate and a
printed time left predict one too: the reading that agrees with them is taken. Where nothing in the log decides between
two readings, neither is.
"""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.infer.line_parts import Field
from stepscope.lines.figures import parse_clock

Floats = npt.NDArray[np.float64]
Reading = Literal["step", "interval", "clock", "rate", "left"]
# Why a reading was chosen: the evidence that agrees with it, or, where there is none, what else supports it.
Reason = Literal[
    "stamps", "clock", "rate", "left", "total", "spacing", "growth", "unit", "meter", "amounts", "name", "size"
]

_MULTIPLES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9}
MOST = 1e18  # in any unit, no time or rate is more
_SECONDS = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIME_WORDS = frozenset(
    [
        "time",
        "dt",
        "took",
        "elapsed",
        "sec",
        "secs",
        "second",
        "seconds",
        "s",
        "ms",
        "duration",
        "dur",
        "t",
        "wall",
        "walltime",
        "runtime",
        "cost",
        "clock",
        "updt",
        "interval",
        "latency",
        "hours",
        "minutes",
        "mins",
        "min",
        "batchtime",
        "itertime",
        "steptime",
        "timing",
        "spent",
    ]
)
_PART_WORDS = frozenset(
    [
        "data",
        "loader",
        "loading",
        "load",
        "io",
        "fwd",
        "forward",
        "bwd",
        "backward",
        "opt",
        "optim",
        "optimizer",
        "comm",
        "allreduce",
        "sync",
        "h2d",
        "reader",
        "wait",
        "val",
        "valid",
        "validation",
        "eval",
        "test",
        "gen",
        "generate",
        "sample",
        "sampling",
        "model",
        "start",
        "begin",
        "now",
        "date",
        "cpu",
    ]
)
# `time now: 33:28.62`: a moment, which differences time
_MOMENT_WORDS = frozenset(["now", "date"])
# `Cost = 5.26` without a unit, where nothing else is a loss.
COST = re.compile(r"(?:(?:train(?:ing)?|avg|average|mean|total|current)[_ ])?cost")
_LEFT_WORDS = frozenset(["eta", "remaining", "left", "remain", "expected"])
_MEAN_WORDS = frozenset(["avg", "average", "mean", "running", "smoothed"])
# Hours and minutes that never fall over so many rows, and are so many times what they rise by, are no durations.
_LEAST_RISING, _FAR_ON = 4, 4.0
RUNNING_WORDS = frozenset(["elapsed", "total", "cumulative", "wall", "walltime", "since", "runtime", "clock"])
_COUNTED = r"(?:its?|iters?|iterations?|steps?|batch(?:es)?|updates?|b|ups)"
_RATE_UNIT = re.compile(rf"{_COUNTED}/s(?:ec(?:ond)?s?)?$")
_RATE_KEY = re.compile(rf"(?:^|[_ ]){_COUNTED}(?:[_ ]?(?:/|per)[_ ]?)s(?:ec(?:ond)?s?)?$|(?:^|\s)(?:sps|ups)$")
_PER_STEP_UNIT = re.compile(rf"(?P<unit>ms|us|µs|s|m)\w*/{_COUNTED}$")
_PER_STEP_KEY = re.compile(
    rf"(?:(?P<unit>ms|s)(?:ec(?:ond)?s?)?(?:[_ ]?(?:/|per)[_ ]?){_COUNTED})$|(?:/|per)[_ ]?{_COUNTED}|"
    rf"^{_COUNTED}[_ ]?(?:time|duration|dt)"
)
# `sample processed in 3.1s`: of the whole, though samples are also drawn
_PROCESSED = re.compile(
    r"(?:sample|batch|step|iteration|rollout|episode)s? (?:was |were )?(?:processed|done|completed|finished)(?: in)?$"
)
# `step_time_max` beside `step_time`: the extremes, the spread and the quantiles of a figure that is printed too
_STATISTIC = re.compile(r"[ _](?:min|max|std|p\d\d?)$")
# `timing_s/step`, `time/total`: of one step, among the times of its parts
_WHOLE_STEP = re.compile(r"(?:^|[ _])tim(?:e|ing|ings)(?:_s)?/(?:step|total|iter|iteration)$")
_PER_MANY = re.compile(r"(?P<unit>ms|s)(?:ec(?:ond)?s?)?\s?(?:/|per|for)$")
# `time for 50 iter: 12.3`: the count stands before the time
_FOR_MANY = re.compile(r"\b(?:time|seconds|secs?|duration)(?: spent| taken)? (?:for|of|in|per)(?: the)?(?: last)?$")
# How far a reading may lie from the evidence (without waiting for data, a figure is less than the timestamps say), and
# how much nearer it must be than the next one.
NEAR = math.log(1.35)
CLEAR = math.log(1.6)
_LEAST_PACES = 3


class TimeColumn(NamedTuple):
    """A time figure: which field of its lines, what it may be, its unit in seconds (None unknown), its values."""

    at: int
    field: Field
    readings: tuple[Reading, ...]
    unit_s: float | None
    values: Floats
    is_mean: bool = False
    # Its mean follows in brackets, `0.231 (0.156)`, or a wait for data is printed too: a meter of every step.
    has_mean: bool = False


# `tokens/s`, `samples_per_sec`, `tokens_per_second_per_gpu`
_RATE_OF_WORK = re.compile(r"(?:/|per[_ ]|_per_)s(?:ec(?:ond)?s?)?(?:(?:/|[_ ]per[_ ])[a-z]+)?$")


class Meaning(NamedTuple):
    """A column read one way, and why; `confidence` is 0 where another reading is as likely."""

    column: TimeColumn
    reading: Reading
    unit_s: float
    reason: Reason
    confidence: float
    pace_s: float


def find_columns(
    fields: tuple[Field, ...], texts: tuple[str, ...], rows: list[list[str]], taken: set[int]
) -> list[TimeColumn]:
    """The time figures among the fields of a line; `rows` are the texts of the fields, line by line."""
    found = []
    # A wait for data is printed next to a time by meters that are read at every step.
    has_wait = any(re.fullmatch(r"data(?:[_ ]time)?", field.key) for field in fields)
    has_loss = any("loss" in field.key for field in fields)
    keys = {field.key for field in fields}
    for index, field in enumerate(fields):
        if index in taken or field.kind == "stamp":
            continue
        before = texts[index]
        if _counts_for(index, fields, texts):
            continue
        if (stem := _STATISTIC.sub("", field.key)) != field.key and stem in keys:
            continue
        if not field.unit and not has_loss and COST.fullmatch(field.key):
            continue  # what is made small, under its old name
        is_behind = before == "(" and index > 0 and index - 1 not in taken
        if is_behind and (field.kind, field.unit) == (fields[index - 1].kind, fields[index - 1].unit):
            continue  # `0.231 (0.156)`: the mean of the number before; `1.86 (70s)` is a time of its own
        values = _values(field, [row[index] for row in rows])
        column = _per_many(index, fields, texts, values) or _for_many(index, fields, texts, values)
        column = column or _column(index, field, before, values)
        if column is not None and np.isfinite(values).mean() > 0.8:
            has_mean = texts[index + 1] == "(" and index + 2 < len(texts) and texts[index + 2].startswith(")")
            found.append(column._replace(has_mean=has_mean or (_is_step_time(field.key) and has_wait)))
    return found


def _is_step_time(key: str) -> bool:
    return re.fullmatch(r"(?:iter[_ ]|batch[_ ])?time", key) is not None


def _per_many(index: int, fields: tuple[Field, ...], texts: tuple[str, ...], values: Floats) -> TimeColumn | None:
    """`12.3 sec/100 steps`: the time of several steps together."""
    per_many = _PER_MANY.match(texts[index + 1])
    if per_many is None or index + 2 >= len(texts) or not re.match(rf"{_COUNTED}\b", texts[index + 2]):
        return None
    return TimeColumn(index, fields[index], ("interval",), _SECONDS[per_many["unit"]], values)


def _counts_for(index: int, fields: tuple[Field, ...], texts: tuple[str, ...]) -> bool:
    """Whether a number says for how many steps the time behind it is: `time for 50 iter: 12.3`."""
    is_last = index + 1 >= len(fields)
    return not is_last and bool(
        _FOR_MANY.search(fields[index].key) and re.match(rf"{_COUNTED} ?[:=]", texts[index + 1])
    )


def _for_many(index: int, fields: tuple[Field, ...], texts: tuple[str, ...], values: Floats) -> TimeColumn | None:
    """`time for 50 iter: 12.3`: the time of these steps together."""
    if not index or not _counts_for(index - 1, fields, texts):
        return None
    return TimeColumn(index, fields[index], ("interval",), _stated_unit(fields[index], set()) or 1.0, values)


def _values(field: Field, texts: list[str]) -> Floats:
    if field.kind in {"clock", "words"}:
        seconds = [parse_clock(text) for text in texts]
        return np.array([math.nan if value is None else value for value in seconds])
    found = np.array([number(text) for text in texts])
    return np.where(np.abs(found) < MOST, found, math.nan)


def number(text: str) -> float:
    """A printed number, with a letter for thousands or more or without; NaN where it is none."""
    scale = _MULTIPLES.get(text[-1:], 1.0)
    try:
        return float((text if scale == 1.0 else text[:-1]).replace(",", "")) * scale
    except ValueError:
        return math.nan


def _column(index: int, field: Field, before: str, values: Floats) -> TimeColumn | None:
    key, unit = field.key, field.unit
    words = set(re.split(r"[^a-zµ0-9]+", key.replace("(", " ")))
    is_mean = bool(words & _MEAN_WORDS)
    if words & _LEFT_WORDS or before.endswith("<") or (before.endswith("(-") and field.kind in {"clock", "words"}):
        return TimeColumn(index, field, ("left",), _stated_unit(field, words), values)
    if _RATE_UNIT.match(unit) or _RATE_KEY.search(key):
        return TimeColumn(index, field, ("rate",), 1.0, values, is_mean)
    if field.kind == "clock" and words & _MOMENT_WORDS and only_rises(values):
        return TimeColumn(index, field, ("clock",), 1.0, values)
    if "loss" in key or (words & _PART_WORDS and not _PROCESSED.search(key)) or _RATE_OF_WORK.search(key):
        return None
    if _WHOLE_STEP.search(key):
        return TimeColumn(index, field, ("step",), 1.0 if "_s/" in key else _stated_unit(field, words), values, is_mean)
    per_step = _PER_STEP_UNIT.match(unit) or _PER_STEP_KEY.search(key)
    stated = _stated_unit(field, words)
    if per_step:
        groups = per_step.groupdict()
        scale = _SECONDS.get(groups.get("unit") or "", stated)
        return TimeColumn(index, field, ("step",), scale, values, is_mean)
    if (
        "/" in unit
        or unit == "%"
        or "/" in key
        or (field.kind == "number" and stated is None and not words & _TIME_WORDS)
    ):
        return None
    if field.kind == "number" and stated is not None and not words & _TIME_WORDS and not unit:
        return None
    if field.kind == "clock" and only_rises(values):
        return TimeColumn(index, field, ("clock",), stated, values, is_mean)
    return TimeColumn(index, field, ("step", "interval", "clock"), stated, values, is_mean)


def only_rises(values: Floats) -> bool:
    """Whether hours and minutes, as a clock shows them, never fall: durations rise and fall, the time of day does not.

    What they rise by is then small beside what they are; durations that double from row to row may be durations.
    """
    known = values[np.isfinite(values)]
    moves = np.diff(known)
    if len(known) < _LEAST_RISING or (moves < 0).any() or (moves > 0).sum() < _LEAST_RISING - 1:
        return False
    return bool(known.min() > _FAR_ON * float(median(moves[moves > 0])))


def _stated_unit(field: Field, words: set[str]) -> float | None:
    """The unit in seconds, as the text after the number or the word before it states."""
    if field.kind in {"clock", "words"}:
        return 1.0
    unit = field.unit
    if unit:
        short = {"sec": "s", "min": "m", "hou": "h"}.get(unit[:3], unit)
        return _SECONDS.get(short)
    for word, seconds in (
        ("ms", 1e-3), ("us", 1e-6), ("sec", 1.0), ("secs", 1.0), ("seconds", 1.0), ("s", 1.0),
        ("min", 60.0), ("mins", 60.0), ("minutes", 60.0), ("hours", 3600.0),
    ):  # fmt: skip
        if word in words:
            return seconds
    return None


def is_running(values: Floats, resets: npt.NDArray[np.bool_], *, is_clock: bool = False) -> bool:
    """Whether a figure only grows, except where it may start again. `is_clock`: it is printed as a clock shows it."""
    known = values[np.isfinite(values)]
    if len(known) < 4:
        return False
    if is_clock and only_rises(values):
        return True
    steps = np.diff(values)
    usable = np.isfinite(steps) & ~resets
    falls = usable & (steps < 0)
    # A clock that starts again falls to less than half; a noisy figure falls by a little, and often.
    deep = falls & (values[1:] < 0.5 * values[:-1])
    small = int((falls & ~deep).sum())
    if small > 0.01 * usable.sum() or deep.sum() > 0.1 * usable.sum() + 1:
        return False
    return bool(known.max() > 2 * known.min() or known.max() - known.min() > 20 * median(np.abs(steps[usable]) + 1e-12))


def is_converging(values: Floats) -> bool:
    """Whether a figure is a mean since the start: it moves less and less."""
    if len(values) < 30:
        return False
    moves = np.abs(np.diff(values)) / np.maximum(np.abs(values[:-1]), 1e-12)
    third = len(moves) // 3
    late = float(median(moves[-third:]))
    return late < 0.002 and late < 0.4 * float(median(moves[: max(3, third // 2)]))


def stamp_pace(t_ns: Floats, since: Floats, resolution_ns: int) -> tuple[float, bool] | None:
    """Seconds of a step by the timestamps, and whether they are fine enough to time every line."""
    usable = np.isfinite(t_ns[1:]) & np.isfinite(t_ns[:-1]) & (since > 0)
    if usable.sum() < _LEAST_PACES:
        return None
    elapsed = np.diff(t_ns)[usable]
    if (elapsed < 0).sum() > 0.05 * len(elapsed) or elapsed.sum() <= 0:
        return None
    paces = elapsed / since[usable]
    # Lines closer together than the timestamps resolve are taken in stretches that they do.
    stride = max(1, math.ceil(10 * resolution_ns / max(1.0, float(np.mean(elapsed)))))
    if stride > 1:
        if stride * _LEAST_PACES > len(elapsed):
            return float(elapsed.sum() / since[usable].sum()) / NS, False
        ends = np.arange(0, len(elapsed) - stride + 1, stride)
        paces = np.add.reduceat(elapsed, ends)[:-1] / np.maximum(np.add.reduceat(since[usable], ends)[:-1], 1)
    is_fine = float(median(elapsed)) >= 4 * resolution_ns
    return float(median(paces)) / NS, is_fine


def paces_of(
    column: TimeColumn, reading: Reading, since: Floats, resets: npt.NDArray[np.bool_], left: Floats
) -> Floats:
    """Seconds of a step by one reading of a column, for a unit of one second; per line but the first."""
    values = column.values
    with np.errstate(all="ignore"):
        if reading == "step":
            paces = values[1:]
        elif reading == "interval":
            paces = values[1:] / since
        elif reading == "clock":
            paces = np.diff(values) / since
        elif reading == "rate":
            paces = 1.0 / values[1:]
        else:
            paces = values[1:] / left[1:]
    good = np.isfinite(paces) & (paces > 0) & (since > 0) & ~resets
    return paces[good]


def median_pace(paces: Floats) -> float | None:
    """The median of at least a few paces."""
    return float(median(paces)) if len(paces) >= _LEAST_PACES else None


def clock_pace(column: TimeColumn, since: Floats, resets: npt.NDArray[np.bool_]) -> float | None:
    """Seconds of a step by a running clock, over stretches long enough for its ticks."""
    values = column.values * (column.unit_s or 1.0)
    steps = np.where(resets, 0, np.diff(values))
    good = (steps >= 0) & np.isfinite(steps) & (since > 0) & ~resets
    if good.sum() < _LEAST_PACES or steps[good].sum() <= 0:
        return None
    ticks = steps[good][steps[good] > 0]
    if len(ticks) > 0.7 * good.sum():
        return float(median(steps[good] / since[good]))
    return float(steps[good].sum() / since[good].sum())
