"""The numbers of a step line: which step it is, and its time figure in nanoseconds, from any printed form.

A step is `step`, or `epoch` with `batch` of `batches`. A time figure is one of the groups in `SCALES`; what it covers
(one step, a window's mean, everything since the start) is the format's clock, not the figure's form.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from stepscope.core.units import NS

_CLOCK = re.compile(r"(?:(?P<d>\d+) days?,? )?(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+(?:\.\d+)?)\s*$")
_WORDS = re.compile(
    r"(\d+(?:\.\d+)?)\s*(days?|d|hours?|hrs?|h|minutes?|mins?|m(?!s)|seconds?|secs?|s|ms|us)(?![^\W\d])",
    re.IGNORECASE,
)
_UNITS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
_SEPARATORS = re.compile(r"[,_'\s\u00a0\u2009\u202f]")  # between groups of thousands
MAX_STEP = 1 << 53
MAX_NS = 10**18  # thirty years


def parse_clock(text: str) -> float | None:
    """Seconds of `1:02:03`, `2 days, 3:39:06`, `36m 58s`, `3h 35m`; None when it is none of these."""
    text = text.strip()
    clock = _CLOCK.match(text)
    if clock:
        days, hours, minutes, seconds = (float(clock[name] or 0) for name in "dhms")
        found = days * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds
    elif words := _WORDS.findall(text):
        found = sum(float(number) * _seconds_in(unit.lower()) for number, unit in words)
    else:
        return None
    return found if math.isfinite(found) else None  # of hundreds of digits


def _seconds_in(unit: str) -> float:
    """Of a unit by its name or its first letter: `min`, `hrs`, `s`, `ms`."""
    return _UNITS.get(unit) or _UNITS[unit[0]]


# The groups that hold a time figure, in the order they are looked for, and how the number becomes seconds. The same
# functions serve one number and a whole column of them.
SCALES: dict[str, Callable[[Any], Any]] = {
    "dur_ms": lambda number: number / 1e3,
    "dur_s": lambda number: number,
    "dur_us": lambda number: number / 1e6,
    "dur_min": lambda number: number * 60,
    "dur_clock": lambda number: number,
    "elapsed_ms": lambda number: number / 1e3,
    "elapsed_s": lambda number: number,
    "elapsed_min": lambda number: number * 60,
    "elapsed_h": lambda number: number * 3600,
    "elapsed_clock": lambda number: number,
    "it_per_s": lambda number: 1 / number,
    "s_per_it": lambda number: number,
    "s_per_100_it": lambda number: number * 100,  # what a timer made of a hundred steps, whatever lies between them
}
# The groups whose number is a plain multiple of these nanoseconds.
LINEAR_NS = {
    "dur_ms": 10**6,
    "dur_s": NS,
    "elapsed_ms": 10**6,
    "elapsed_s": NS,
    "elapsed_min": 60 * NS,
    "elapsed_h": 3600 * NS,
    "s_per_it": NS,
    "s_per_100_it": 100 * NS,
}
# The time of a step without waiting for its batch, which is printed apart: the step takes both.
WORK = "work_s"
CLOCK_FIGURES = frozenset({"dur_clock", "elapsed_clock"})
# Steps a second, the mean since the start: with the step's number, a running clock.
MEAN_RATE = "mean_steps_per_s"
# The whole minutes that the batches left of an epoch will take, at the mean rate of those done.
MINUTES_LEFT = "left_min"
# The time that the batches left will take, as a clock or in words, at the mean rate of those done.
CLOCK_LEFT = "left_clock"
# The groups of a step's line that time an evaluation or a checkpoint of the same step.
OWN_EVENTS = {
    "evaluation_s": "evaluation",
    "evaluation_after_s": "evaluation",
    "checkpoint_s": "checkpoint",
    "checkpoint_after_s": "checkpoint",
}
# The first step of an epoch, the mean of the others, and how many they are together, all before its evaluation: what
# the epoch's figure has beyond them, that one took.
BAR_FIRST, BAR_MEAN, BAR_STEPS = "bar_first", "bar_mean_ms", "bar_steps"
# Groups that a line may give for the step line that follows it.
AHEAD = frozenset({"step", "epoch", "batch", "loss", MEAN_RATE, BAR_FIRST, BAR_MEAN, BAR_STEPS, *SCALES})


def figure_ns(groups: Mapping[str, str | None]) -> int | None:
    """The time figure of a step line, of one step; None when it has none, -1 when it cannot be one."""
    for name, scale in SCALES.items():
        text = groups.get(name)
        if text:
            try:
                number = parse_clock(text) if name in CLOCK_FIGURES else float(text.replace(",", ""))
                steps = _count(groups.get("per_steps")) or 1
                nanos = -1 if number is None else round(scale(number) * NS / steps)
            except (ValueError, ArithmeticError):
                return -1
            return nanos if 0 <= nanos < MAX_NS else -1
    if groups.get(WORK):
        return _sum_ns(groups.get(WORK), groups.get("data_s"))
    return _quotient_ns(groups.get("tokens"), groups.get("tokens_per_s"))


def _sum_ns(work_s: str | None, data_s: str | None) -> int:
    """The time of a step by its two parts: the work, and waiting for what it worked on."""
    try:
        nanos = round((float(work_s or 0) + float(data_s or 0)) * NS)
    except (ValueError, ArithmeticError):
        return -1
    return nanos if 0 <= nanos < MAX_NS else -1


def _quotient_ns(tokens: str | None, tokens_per_s: str | None) -> int | None:
    """The time of a step by how much it did and how fast, where the line says both and no time."""
    if not tokens or not tokens_per_s:
        return None
    try:
        nanos = round(float(tokens) / float(tokens_per_s) * NS)
    except (ValueError, ArithmeticError):
        return -1
    return nanos if 0 <= nanos < MAX_NS else -1


def step_number(groups: Mapping[str, str | None], *, first_epoch: int, batches: int | None) -> int | None:
    """The step a line is about; None when it does not say, or cannot be true."""
    text = groups.get("step")
    if text:
        value = _count(text)
    else:
        epoch, batch = _count(groups.get("epoch")), _count(groups.get("batch"))
        length = _count(groups.get("batches")) or batches
        if batch is None:
            # An epoch without a batch is the whole epoch: its last step.
            value = None if epoch is None or length is None else (epoch - first_epoch + 1) * length
        else:
            value = batch if epoch is None or length is None else (epoch - first_epoch) * length + batch
    return value if value is not None and 0 <= value < MAX_STEP else None


def full_count(text: str, number: int) -> bool:
    """Whether `14K` may be a short form of `number`: the same but for the digits left out."""
    scale = {"K": 1_000, "k": 1_000, "M": 1_000_000}[text[-1]]
    decimals = len(text[:-1].partition(".")[2])
    return bool(abs(number - (_count(text) or 0)) <= scale / 2 / 10**decimals)


def _count(text: str | None) -> int | None:
    """`1,234`, `1 200`, `00213`, `50K` or `1.2M` as a whole number."""
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    scale = {"K": 1_000, "k": 1_000, "M": 1_000_000, "m": 1_000_000, "B": 10**9, "G": 10**9}.get(text[-1], 1)
    digits = _SEPARATORS.sub("", text[:-1] if scale > 1 else text)
    try:
        return round(float(digits) * scale) if scale > 1 else int(digits)
    except (ValueError, OverflowError):
        return None


def whole(text: str | None) -> int | None:
    """A printed count; None when there is none, or when it cannot be one."""
    value = _count(text) if text and len(text) < 24 else None
    return value if value is not None and 0 <= value < MAX_STEP else None
