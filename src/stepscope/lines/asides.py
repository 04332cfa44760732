"""What a step line says besides its step and its time: the trainer's own time left, and a rate of samples.

Trainers word these alike whatever else they print, so they are looked for by their words and units in any format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from stepscope.core.lazy_pattern import LazyPattern
from stepscope.lines.figures import parse_clock

_CLOCK = r"(?:\d+ days?,? )?\d+:\d\d(?::\d\d)?"
_WORDED = r"(?:\d+(?:\.\d+)?\s?(?:d|h|m|min|s|days?|hours?|minutes?|seconds?)\b,?\s*(?:and\s+)?){1,4}"
_LEFT = tuple(
    LazyPattern(pattern, re.IGNORECASE)
    for pattern in (
        # `eta: 1 day, 4:39:18`, `ETA: 10721s`, `time left: 3h 12m`, `remaining: 00:12:44`
        rf"\b(?:eta|time[ _]left|(?:time )?remaining|estimated time to finish|left_?time|remain_?time)\b[\s:=]{{1,3}}"
        rf"(?P<clock>{_CLOCK}|{_WORDED})",
        # `30.5 hours left`
        r"(?<!\d)(?P<number>\d+(?:\.\d+)?) (?P<unit>days|hours|minutes|seconds) (?:left|remaining)\b",
        # a bar of tqdm, `[04:39<77:27:00, 279.10s/it`, and of a notebook, `[ 12/900 04:39 < 77:27:00, 0.01 it/s`
        rf"\[\s{{0,3}}(?:\d+/\d+\s+)?(?:{_CLOCK})\s?<\s?(?P<clock>{_CLOCK}),",
        # nerfstudio: `14 h, 32 m, 13 s`
        r"\s(?P<clock>(?:\d+ d, )?(?:\d+ h, )?\d+ m, \d+ s)\s",
    )
)
_NEGATIVE_LEFT = LazyPattern(r"(?i)\b(?:eta|remaining|time[ _]left)[\"']?[\s:=]{1,3}-\d")
_SHARE = LazyPattern(r"\d \((\d{1,5}(?:\.\d+)?)%\)")
_BAR = LazyPattern(r"(?<![\d.])(?P<n>\d{1,15})/(?P<total>\d{1,15}) (?=\[[\d=>.]|\d+(?::\d\d){1,2} < )")
# fairseq, before its figures: `epoch 001:    100 / 12603 loss=`
_OF_EPOCH = LazyPattern(r"\bepoch \d+: {1,8}(?P<n>\d{1,15}) / (?P<total>\d{1,15}) ")
# Nobody trains that long: a time worked out from no step at all.
_NEVER_S = 10 * 365 * 86_400.0
_OF_BAR = 2  # the place of the bar's pattern
_KERAS = LazyPattern(r"(?<!\d)\d+/\d+ (?:\[[=>.\s]+\]|[\u2500-\u257f\u2501]+ )")
_UNITS = {"days": 86_400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
_RATE = LazyPattern(
    r"(?<!\d)(?P<number>\d+(?:\.\d+)?)\s?\(?(?P<unit>samples?|images?|imgs?|examples?|sentences?|words?|tokens?|frames?|"
    r"sequences?|clips?|s)\s?/\s?s(?:ec(?:ond)?)?\b",
    re.IGNORECASE,
)
_NAMED_RATE = LazyPattern(
    r"\b(?P<unit>samples?|images?|imgs?|examples?|sentences?|words?|tokens?|frames?)[_ ]?(?:/|per)[_ ]?s(?:ec(?:ond)?)?"
    r"[\"']?\s?[:=]\s?(?P<number>\d+(?:\.\d+)?)|\bSamplesPerSec=(?P<plain>\d+(?:\.\d+)?)",
    re.IGNORECASE,
)


# `Epoch 1/20`, `epoch: [1/500]`; and the rows of YOLO, which count from 0: `0/299  5.2G`
_EPOCHS = LazyPattern(r"(?i)\bepochs?[\"']?[\s:=#\[(\"']{0,4}(?P<epoch>\d+)\s?/\s?(?P<epochs>\d+)")
_YOLO_EPOCHS = LazyPattern(r"^\s*(?P<epoch>\d+)/(?P<last>\d+)\s+[\d.]+G\b")


# The meters of PyTorch's examples: `[5760/10010]  Time 0.427 (2.773)  Data 0.000 (2.393)`, in brackets the mean so far
_METERS = LazyPattern(
    r"\[\s{0,6}(?P<n>\d+)/\d+\].{0,80}?\b(?:batch[_ ])?time:?\s+[\d.]+s?\s{0,3}\(\s{0,3}(?P<mean>\d+(?:\.\d+)?)s?\)"
    r".{0,20}?\bdata(?:[_ ]time)?:?\s+[\d.]+s?\s{0,3}\(\s{0,3}(?P<wait>\d+(?:\.\d+)?)s?\)",
    re.IGNORECASE,
)


# What trainers print of the parts of a step: verl's `timing_s/gen:74.02`, ESPnet's `forward_time=0.156`, and in words
# `collection time: 3.1s`. Waiting for data is told apart.
_PARTS = LazyPattern(
    r"\btiming_s/(?P<timing>\w+)[\"']?\s?[:=]\s?(?:np\.float\d+\()?(?P<a>\d+(?:\.\d+)?)"
    r"|\b(?P<named>forward|fwd|backward|bwd|optim(?:izer)?(?:_step)?|generat(?:e|ion)|rollout|collection|learning|sampling"
    r"|reward|update)[_ ]time[\"']?\s?[:=]\s?(?P<b>\d+(?:\.\d+)?(?:[eE]-?\d+)?)(?!\s?m)",
    re.IGNORECASE,
)
_WHOLES = frozenset({"step", "total", "iteration", "iter", "training", "testing"})


# The same of pose estimators that print no single step: `itr 104/3489: lr: 0.0001 speed: 2.94(0.63s r2.27)s/itr`, the
# means of a step, of the work in it and of reading its batch
_SPEEDS = LazyPattern(
    r"\bitr (?P<n>\d+)/\d+:.{0,60}?\bspeed: (?P<mean>\d+(?:\.\d+)?)\([\d.]+s r(?P<wait>\d+(?:\.\d+)?)s?\)s/itr"
)


class Left(NamedTuple):
    """The seconds that a line says are left; `is_bar` where they are those of a progress bar, perhaps of an epoch."""

    seconds: float
    is_bar: bool


class Rate(NamedTuple):
    """How much was done in a second, and of what: "samples", "tokens" and the like."""

    value: float
    unit: str


class Means(NamedTuple):
    """How many steps of an epoch are done, and the means over them: of a step, and of its wait for data, in seconds."""

    num: int
    step_s: float
    wait_s: float


def means_in(text: str) -> Means | None:
    """The means since the beginning of an epoch that a line's meters show in brackets; None where it has none."""
    if "(" not in text:
        return None
    found = _METERS.search(text) or _SPEEDS.search(text)
    return None if found is None else Means(int(found["n"]) + 1, float(found["mean"]), float(found["wait"]))


def parts_in(text: str) -> dict[str, float]:
    """The parts of a step that a line times by name, in seconds; empty where it times none or one."""
    if "tim" not in text:
        return {}
    found = {
        own["timing"] or own["named"]: float(own["a"] or own["b"])
        for own in _PARTS.finditer(text)
        if own["timing"] not in _WHOLES
    }
    return found if len(found) > 1 else {}


def left_in(text: str) -> Left | None:
    """The seconds that a line says are left; None where it does not say, or only a dash."""
    if is_past_total(text):
        return None
    for index, pattern in enumerate(_LEFT):
        found = pattern.search(text)
        if found is None:
            continue
        groups = found.groupdict()
        if groups.get("clock"):
            clock = groups["clock"]
            seconds = parse_clock(clock if ":" in clock else clock.replace(",", ""))
        else:
            seconds = float(groups["number"]) * _UNITS[groups["unit"].lower()]
        return (
            None
            if seconds is None or seconds > _NEVER_S
            else Left(seconds, index == _OF_BAR or _KERAS.search(text) is not None)
        )
    return None


def is_past_total(text: str) -> bool:
    """Whether a line says that it is past 100 %, or less than nothing left: what it prints as left means nothing."""
    if _NEGATIVE_LEFT.search(text) is not None:
        return True
    found = _SHARE.search(text)
    return found is not None and float(found[1]) > 100


def bar_left_in(text: str) -> int | None:
    """What the progress bar, or the epoch, of a line has still to count; None where the line shows none."""
    of_epoch = _OF_EPOCH.search(text)
    if of_epoch is not None:
        return max(0, int(of_epoch["total"]) - int(of_epoch["n"]))
    bars = [(int(found["n"]), int(found["total"])) for found in _BAR.finditer(text)]
    return bars[-1][1] - bars[-1][0] if bars and bars[-1][0] <= bars[-1][1] else None


def rate_in(text: str) -> Rate | None:
    """The rate of samples or the like that a line prints; None where it prints none."""
    if "/" not in text and "per" not in text.lower():
        return None  # most lines
    found = _RATE.search(text) or _NAMED_RATE.search(text)
    if found is None:
        return None
    groups = found.groupdict()
    number, unit = groups.get("number") or groups.get("plain") or "", (groups.get("unit") or "samples").lower()
    value = float(number)
    unit = "samples" if unit == "s" else unit.rstrip("s") + "s"
    return Rate(value, "images" if unit == "imgs" else unit) if value > 0 else None


def epochs_in(texts: Iterable[str]) -> int | None:
    """How many epochs the training has, where its lines say so and agree on it."""
    found = set()
    for text in texts:
        if own := _EPOCHS.search(text):
            found.add(int(own["epochs"]))
        elif own := _YOLO_EPOCHS.search(text):
            found.add(int(own["last"]) + 1)
    return found.pop() if len(found) == 1 else None
