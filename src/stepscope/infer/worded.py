"""A format for a few pasted lines, by words and units alone.

One line can be enough here. Nothing is taken that its own words do not say: a bare number is never a time.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.message import Message, Seconds, say
from stepscope.core.redact import redact
from stepscope.core.units import NS
from stepscope.infer.time_figures import only_rises
from stepscope.infer.words import (
    CLOCKS,
    RATES,
    TimeKind,
    WordedLine,
    counter_pattern,
    data_pattern,
    is_of_epoch,
    loss_pattern,
    names_batches,
    read_words,
    time_pattern,
)
from stepscope.lines.figures import CLOCK_LEFT
from stepscope.lines.format import Assumption, Clock, Covers, Format, Inferred, Layout, Line, Sample
from stepscope.lines.prefix import split_prefix
from stepscope.lines.runtimes import parse_runtime

MOST_LINES = 200
# More rows than this show by their structure what they are.
_MOST_ROWS = 24
_OF_TRAINING = re.compile(r"(?i)iter|step|batch|epoch|train")
_ELAPSED = re.compile(r"(?i)elapsed|wall|total")
# A time this long for a printed row that is many steps after the one before it is that of all of them.
_LONG_S, _SPACED = 30.0, 10
# One that is shorter than this is that of a single step.
_SHORT_S = 2.0
_EVEN = 0.15
_FIRST_OF_AVERAGE = 3
_LEAST_STAMPED = 2
_LEAST_BEFORE_TOTAL = 3
_UNTIMED_SURE = 0.5
_LEAST_ALONE = 3
_HAS_LOSS = re.compile(loss_pattern().removeprefix("(?:").removesuffix(")?"))
# Timestamps decide where one reading is this near to them (a log of the ratio) and the others are twice as far.
_AGREES = 0.15
_TICKS = 3.0  # seconds between two lines: timestamps mostly count whole ones
# A clock that shows so many times what the steps took did not begin with them.
_DAY_S, _NOT_SINCE = 86_400, 20.0
_Reading = Literal["step", "sum", "clock"]
_UNIT_NAMES = {1e-3: "ms", 1.0: "s", 60.0: "min", 3600.0: "h"}


def worded_format(lines: Sequence[str], name: str) -> Format | None:
    """The format of a short log by its words; None where no word names a time."""
    if sum(bool(line.strip()) for line in lines) > MOST_LINES:
        return None
    read = [_read(number, line.strip()) for number, line in enumerate(lines) if line.strip()]
    timed = [line for line in read if line.time is not None and not line.is_validation and not _is_of_all(line, read)]
    timed = _most_alike(timed)
    if not timed:
        return _by_timestamps(read, name)
    if len(timed) > _MOST_ROWS:
        return None
    own = [line for line in timed if line.counter is not None]
    if len(own) >= max(1, 0.8 * len(timed)):
        return _on_one_line(own, name)
    heads = [line for line in read if line.time is None and line.counter is not None and not line.is_validation]
    if heads and len(heads) >= len(timed) - 1:
        return _on_two_lines(timed, heads, name)
    return _without_number(timed, read, name)


def _is_of_all(line: WordedLine, read: list[WordedLine]) -> bool:
    """Whether one time at the end, `Training time: 0:12:30` after lines with figures, is that of the whole."""
    if line.counter is not None or parse_runtime(line.text) is None:
        return False
    others = [own for own in read if own is not line]
    if any(own.counter or parse_runtime(own.text) for own in others if own.number > line.number):
        return False
    before = [own for own in others if own.number < line.number and re.search(r"\d", own.text)]
    return len(before) >= _LEAST_BEFORE_TOTAL and all(parse_runtime(own.text) is None for own in before)


def _by_timestamps(read: list[WordedLine], name: str) -> Format | None:
    """Lines with a step, a loss and a timestamp, two at least: what passed between them is their time."""
    has_loss = _HAS_LOSS.match
    own = [
        line
        for line in read
        if line.t_ns is not None
        and line.counter in {"step", "epoch"}
        and not line.is_validation
        and has_loss(line.text)
    ]
    if len(own) < _LEAST_STAMPED or len(own) > _MOST_ROWS or len({line.counter for line in own}) > 1:
        return None
    counter = own[0].counter or "step"
    is_epoch = counter == "epoch"
    is_batch = not is_epoch and all(is_of_epoch(line.text) for line in own)
    counts = [(line.epoch if is_epoch else line.step) or 0 for line in own]
    if not any(later > earlier for earlier, later in pairwise(counts)):
        return None
    head = counter_pattern(counter, is_batch=is_batch, is_epoch=is_epoch)
    head = counter_pattern("epoch") + head if is_batch else head
    # Only behind its prefix is a line one of these: with the prefix goes the timestamp.
    starts = "".join(sorted({re.escape(line.text[:1]) for line in own}))
    step = Line("step", rf"(?=[{starts}])" + head + loss_pattern())
    if not all(step.regex.match(line.text) for line in own):
        return None
    text = redact(own[0].text, 40)
    assumptions = (
        Assumption(say("infer-step-word", text=text), None, 0.9),
        Assumption(say("infer-time-stamps"), None, 0.9),
    )
    return Format(
        name=name,
        title=name,
        url="",
        lines=(step,),
        samples=(Sample(own[0].text, "step"),),
        clock=Clock(covers="stamp", includes=("evaluation", "checkpoint", "data", "logging"), note=""),
        layout=Layout(first_step=0 if min(counts) == 0 else 1, first_epoch=_first_epoch(own)),
        inferred=Inferred(0.81, assumptions),
    )


def _read(number: int, text: str) -> WordedLine:
    """A line without its timestamp and logger."""
    prefix = split_prefix(text)
    if prefix is None:
        return read_words(number, text)
    return read_words(number, text[prefix.length :].strip(), prefix.t_ns)


def _most_alike(timed: list[WordedLine]) -> list[WordedLine]:
    """The lines whose time is named and counted alike most often."""
    groups: dict[tuple[object, ...], list[WordedLine]] = {}
    for line in timed:
        assert line.time is not None
        groups.setdefault((line.time.kind, line.time.unit_s, line.counter), []).append(line)
    return max(groups.values(), key=len, default=[])


def _on_one_line(own: list[WordedLine], name: str) -> Format | None:
    counter = own[0].counter or "step"
    is_epoch = counter == "epoch"
    has_epoch = not is_epoch and all(line.epoch is not None for line in own)
    is_batch = counter == "fraction" and all(names_batches(line.text) for line in own)
    is_batch = has_epoch and (is_batch or counter == "bracket" or all(is_of_epoch(line.text) for line in own))
    head = counter_pattern(counter, is_batch=is_batch, is_epoch=is_epoch)
    if is_batch:
        head = counter_pattern("epoch") + head
    steps = np.array([(line.epoch if is_epoch else line.step) or 0 for line in own])
    if is_batch and own[0].time is not None and own[0].time.kind == "left":
        return _untimed(own, head, name)  # what is left of the run or of the epoch: no word says of which
    return _assembled(own, steps, head, name, is_epoch=is_epoch)


def _doubt(line: WordedLine, values: np.ndarray, steps: np.ndarray) -> Message:
    """Which two times a figure may be: that of one step, or of all since the line before."""
    assert line.time is not None
    count, one_s = max(1, int(median(np.diff(steps)))), float(median(values))
    each = Seconds(one_s / count)
    return say("infer-doubt-interval", text=redact(line.time.text, 40), count=count, one=Seconds(one_s), each=each)


def _untimed(own: list[WordedLine], head: str, name: str, because: Message | None = None) -> Format | None:
    """Lines that number their steps, but do not say how long one takes: what is left, or a figure of two meanings."""
    step = Line("step", head + loss_pattern())
    if not all(step.regex.match(line.text) for line in own):
        return None
    first = Assumption(say("infer-step-word", text=redact(own[0].text, 40)), None, 0.95)
    return Format(
        name=name,
        title=name,
        url="",
        lines=(step,),
        samples=(Sample(own[0].text, "step"),),
        clock=Clock(covers="stamp", includes=("evaluation", "checkpoint"), note=""),
        layout=Layout(first_step=1, first_epoch=_first_epoch(own)),
        is_timed=False,
        inferred=Inferred(_UNTIMED_SURE, (first, Assumption(because or say("infer-time-none"), None, _UNTIMED_SURE))),
    )


def _on_two_lines(timed: list[WordedLine], heads: list[WordedLine], name: str) -> Format | None:
    """The count is on the line before the time's."""
    counter = heads[-1].counter or "step"
    heads = [line for line in heads if line.counter == counter]
    is_epoch = counter == "epoch"
    before = [_last_before(heads, line.number) for line in timed]
    if any(head is None for head in before):
        return None
    steps = np.array([(head.epoch if is_epoch else head.step) or 0 for head in before if head is not None])
    fact = Line("fact", counter_pattern(counter, is_epoch=is_epoch))
    found = _assembled(timed, steps, "", name, is_epoch=is_epoch, facts=(fact,))
    return found and dataclasses.replace(found, samples=(*found.samples, Sample(heads[0].text, "fact")))


def _last_before(heads: list[WordedLine], number: int) -> WordedLine | None:
    return next((head for head in reversed(heads) if head.number < number), None)


def _without_number(timed: list[WordedLine], read: list[WordedLine], name: str) -> Format | None:
    """Lines that name no step are counted, if their times are those of a training."""
    is_named = all(line.time is not None and _OF_TRAINING.search(line.time.text) for line in timed)
    if not is_named and not _is_between_losses(timed, read):
        return None
    return _assembled(timed, np.arange(1, len(timed) + 1), "", name, is_epoch=False, is_counted=True)


def _is_between_losses(timed: list[WordedLine], read: list[WordedLine]) -> bool:
    """Whether times stand alone on their lines, and each has a loss on a line of its own: `88.06 s`, `loss 2.31`."""
    losses = [line.number for line in read if _HAS_LOSS.match(line.text)]
    alone = [line.number for line in timed if line.time is not None and line.time.kind == "alone"]
    if len(alone) < max(_LEAST_ALONE, len(timed)) or not losses:
        return False
    return all(any(first < loss < last for loss in losses) for first, last in pairwise(alone))


class _Meaning(NamedTuple):
    """What a time covers, whether it is the mean since the start or a sum, and how sure that is."""

    covers: Covers
    sure: float
    is_mean: bool = False
    is_sum: bool = False
    because: Message | None = None  # what in the log confirms it


def _assembled(
    own: list[WordedLine],
    steps: np.ndarray,
    head: str,
    name: str,
    *,
    is_epoch: bool,
    facts: tuple[Line, ...] = (),
    is_counted: bool = False,
) -> Format | None:
    time = own[0].time
    assert time is not None
    unit = time.unit_s or 1.0
    values = np.array([line.time.value * unit for line in own if line.time is not None])
    meaning = _by_moments(own, values, steps) or _meaning(time.kind, values, steps, is_one_each=is_epoch or is_counted)
    if meaning is None:
        return _untimed(own, head, name, because=_doubt(own[0], values, steps)) if head else None
    is_elapsed = (
        meaning.because is None and _ELAPSED.search(time.text) is not None and bool((np.diff(values) > 0).all())
    )
    if is_elapsed and (len(values) > 1 or (not is_epoch and not is_counted and int(steps[0]) > 1)):
        meaning = _Meaning("cumulative", 0.85)
    group = _group(time.kind, unit, meaning)
    if group is None:
        return None
    pattern = head + time_pattern(time.kind, group) + (data_pattern() if _has_data(own) else "") + loss_pattern()
    step = Line("step", pattern)
    if not all(step.regex.match(line.text) for line in own):
        return None
    return Format(
        name=name,
        title=name,
        url="",
        lines=(step, *facts),
        samples=(Sample(own[0].text, "step"),),
        clock=Clock(
            covers=meaning.covers,
            includes=("logging",) if _waits_outside(own, values) else ("data", "logging"),
            note="",
            is_sum=meaning.is_sum,
            is_mean=meaning.is_mean,
        ),
        layout=Layout(first_step=1, first_epoch=_first_epoch(own), counts_lines=is_counted),
        inferred=_inferred(own[0], meaning, is_counted=is_counted),
    )


def _first_epoch(own: list[WordedLine]) -> int:
    """The number of the first epoch: 1, unless one is 0."""
    return 0 if any(line.epoch == 0 for line in own) else 1


def _group(kind: TimeKind, unit_s: float, meaning: _Meaning) -> str | None:
    """The name of the value in a format's pattern; None where there is none for it."""
    if kind == "left":
        return CLOCK_LEFT
    if kind in RATES:
        return "it_per_s" if meaning.covers in {"step", "window"} and not meaning.is_sum else None
    if meaning.covers == "stamp":
        return "stamp"
    is_clock = meaning.covers == "cumulative" and not meaning.is_mean
    group = f"{'elapsed' if is_clock else 'dur'}_{'clock' if kind in CLOCKS else _UNIT_NAMES[unit_s]}"
    return None if group == "dur_h" else group


def _by_moments(own: list[WordedLine], values: np.ndarray, steps: np.ndarray) -> _Meaning | None:
    """What a time covers by the timestamps of its lines; None where they are missing or fit no reading, or two."""
    moments = np.array([np.nan if line.t_ns is None else line.t_ns / NS for line in own])
    elapsed, spacing = np.diff(moments), np.diff(steps)
    known = np.isfinite(elapsed) & (elapsed >= _TICKS) & (spacing > 0)
    if not known.any():
        return None
    guesses: dict[_Reading, np.ndarray] = {"step": values[1:] * spacing, "sum": values[1:], "clock": np.diff(values)}
    if (spacing[known] == 1).all():
        del guesses["sum"]
    errors = {
        name: float(median(np.abs(np.log(np.maximum(guess[known], 1e-9) / elapsed[known]))))
        for name, guess in guesses.items()
    }
    best, second = sorted(errors, key=errors.__getitem__)[:2]
    if errors[best] > _AGREES or errors[second] < 2 * _AGREES:
        return None
    because = say("infer-because-stamps")
    if best == "clock":
        return _Meaning("cumulative", 0.95, because=because)
    if best == "sum":
        return _Meaning("window", 0.95, is_sum=True, because=because)
    return _Meaning("window" if (spacing[known] > 1).any() else "step", 0.95, because=because)


def _has_data(own: list[WordedLine]) -> bool:
    return sum(line.data_s is not None and line.data_unit_s == 1.0 for line in own) > 0.5 * len(own)


def _waits_outside(own: list[WordedLine], values: np.ndarray) -> bool:
    """Whether a wait is longer than the time next to it: then it is not inside that time."""
    return any(line.data_s is not None and line.data_s > value for line, value in zip(own, values, strict=True))


def _meaning(kind: TimeKind, values: np.ndarray, steps: np.ndarray, *, is_one_each: bool) -> _Meaning | None:
    """What a time covers; None where it may be one step's or that of all since the line before."""
    if kind in {"at", "between"} or _is_running(values, steps):
        return _Meaning("cumulative", 0.9)
    if kind in CLOCKS and only_rises(values):
        return _Meaning("stamp" if _is_time_of_day(values, steps) else "cumulative", 0.85)
    if kind == "left":
        return _Meaning("step", 0.7)  # a mean since the start of the bar
    if kind in RATES:
        return _Meaning("window" if len(steps) > 1 and float(median(np.diff(steps))) > 1 else "step", 0.9)
    if kind in {"per", "named_per"}:
        return _Meaning("cumulative", 0.85, is_mean=True) if _is_average(values, steps) else _Meaning("step", 0.95)
    if is_one_each or len(steps) < 2:
        return _Meaning("step", 0.85)
    spacing, usual = float(median(np.diff(steps))), float(median(values))
    if spacing < 2 or usual < _SHORT_S:
        return _Meaning("step", 0.8)
    if spacing >= _SPACED and usual >= _LONG_S:
        return _Meaning("window", 0.7, is_sum=True)
    return None


def _is_time_of_day(values: np.ndarray, steps: np.ndarray) -> bool:
    """Whether a clock cannot have begun with the first step: it shows far more than the steps before it took."""
    moved = float(steps[-1] - steps[0])
    if moved <= 0 or values[-1] >= _DAY_S:
        return False
    since = float(values[-1] - values[0]) / moved * max(1.0, float(steps[0]))
    return bool(values[0] > _NOT_SINCE * since)


def _is_running(values: np.ndarray, steps: np.ndarray) -> bool:
    """Whether times are those of a clock that began with the first step: growing durations are none by themselves."""
    if len(values) < 2 or steps[0] <= 0 or (np.diff(values) <= 0).any() or (np.diff(steps) <= 0).any():
        return False
    each = np.diff(values) / np.diff(steps)
    is_even = bool(each.max() < (1 + _EVEN) * each.min())  # never so where they are too small or large to be told apart
    return is_even and bool(abs(values[0] / steps[0] / each.mean() - 1) < _EVEN)


def _is_average(values: np.ndarray, steps: np.ndarray) -> bool:
    """Whether seconds a step are the mean since the first: their sum grows though they fall from step to step."""
    if len(values) < 4 or steps[0] > _FIRST_OF_AVERAGE or (np.diff(steps) <= 0).any():
        return False
    sums = values * (steps - steps[0] + 1)
    return bool((np.diff(values) < 0).all() and (np.diff(sums) > 0).all() and values[0] > 3 * values[-1])


def _inferred(line: WordedLine, meaning: _Meaning, *, is_counted: bool) -> Inferred:
    """What is taken for granted, and how sure that is."""
    time = line.time
    assert time is not None
    key = "infer-time-clock" if meaning.covers == "cumulative" else "infer-time-step"
    key = "infer-time-mean" if meaning.is_mean else "infer-time-total" if meaning.is_sum else key
    has_unit = time.unit_s is not None
    sure = round(meaning.sure * (0.95 if has_unit else 0.7), 2)
    because = meaning.because or (say("infer-because-unit") if has_unit else say("infer-because-name"))
    if meaning.because is not None:
        sure = meaning.sure
    first = say("infer-step-counted" if is_counted else "infer-step-word", text=redact(line.text, 40))
    unit = _UNIT_NAMES[time.unit_s or 1.0]
    assumptions = (
        Assumption(first, None, 0.8 if is_counted else 0.95),
        Assumption(say(key, text=redact(time.text, 40), unit=unit), because, sure),
    )
    return Inferred(round(assumptions[0].confidence * sure, 2), assumptions)
