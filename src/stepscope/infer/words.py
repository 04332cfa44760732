"""What trainers call their steps, epochs, times and waits: words and units that mean the same in any log.

The structure of a log needs many lines to show what a number is. A word with a unit (`3.1 sec/step`) needs one.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

from stepscope.infer.time_figures import MOST
from stepscope.lines.figures import parse_clock

_NUMBER = r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
# One program for many data sets of pictures prints "sceonds".
_UNIT = r"(?:ms|msecs?|milliseconds?|s|secs?|seconds?|sceonds|min|mins|minutes?|h|hours?)"
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_BEFORE = r"(?<![A-Za-z\d_.])"
_GLUE = r"[\s:=#\[(\"']{0,4}"
STEP = (
    r"(?<![A-Za-z\d_./])(?i:(?:global[ _]?)?(?:step|iter(?:ation)?s?|itr|batch|update|it(?=[:=])))"
    rf"(?:[ _](?:no|num|idx|id))?\.?{_GLUE}"
    r"(?P<step>\d+)(?![\d.]*\d?\s?(?:%|s\b|ms\b|sec))(?:\s?/\s?(?P<total>\d+))?"
)
# `Epoch 54`, or `54 Epoch`: one, for several of them are an amount
EPOCH = (
    rf"(?:{_BEFORE}(?i:epoch){_GLUE}|(?<![\w./:-])(?=\d+(?:st|nd|rd|th)?[ _](?i:epoch)(?![A-Za-z])))"
    r"(?P<epoch>\d+)(?!\.\d)(?:\s?/\s?(?P<epochs>\d+))?"
)
# `4/411 [....]`: of an epoch, or of the run
FRACTION = r"(?<![\w./:-])(?P<step>\d+)\s?/\s?(?P<batches>\d+)(?![\w./:-])"
_OF_BATCHES = re.compile(rf"{FRACTION} (?:batches|steps|iterations)\b")
BRACKET = r"\[\s{0,3}(?P<step>\d+)\s?/\s?(?P<total>\d+)(?=[\s\](])"
_COUNTED = r"(?i:steps?|its?|itr|iters?|iterations?|batch|batches|updates?)"
# `3.131 sec/step`, `2.94(0.63s r2.27)s/itr`
_PER = rf"{_BEFORE}(?P<value>{_NUMBER})(?:\([^)]{{1,30}}\))?\s?(?P<unit>{_UNIT})\s?(?:/|per)\s?{_COUNTED}\b"
# `ms/batch 31.27`
_NAMED_PER = (
    rf"(?<![A-Za-z\d])(?P<unit>ms|s|secs?|seconds)\s?/\s?{_COUNTED}[\s:=]{{1,6}}(?P<value>{_NUMBER})(?![\w:/%])"
)
# `[0:05:00 < 2:41:40]`: what has passed, and what is left
_BETWEEN = r"[\[(]\s?(?P<value>\d+(?::\d\d){1,2})\s?<\s?\d+(?::\d\d){1,2}\s?[\])]"
# `Epoch 3/20 - 65.2s`, `Epoch 00005: 125.3s`, `Step 4 | 0.61 s`
_EPOCH_TOOK = (
    rf"{_BEFORE}(?i:epoch|step|iter(?:ation)?|batch){_GLUE}\d+(?:\s?/\s?\d+)?[\])]?\s{{0,2}}[:,|-]\s{{0,3}}"
    rf"(?P<value>{_NUMBER})\s?(?P<unit>{_UNIT})\b"
)
# `Train 1792 in 4.387seconds`, of a line with a loss
_IN = rf"\bin (?P<value>{_NUMBER})\s?(?P<unit>{_UNIT})\b"
# `0.67 it/s`, `2.6 iters/sec`
_RATE = rf"{_BEFORE}(?P<value>{_NUMBER})\s?{_COUNTED}\s?/\s?s(?:ec(?:onds?)?)?\b"
# `steps/sec: 0.1`, `global_step/sec: 0.0225`
_NAMED_RATE = (
    rf"(?<![A-Za-z\d])(?:global_)?{_COUNTED}(?:\s?/\s?|[ _]per[ _])s(?:ec(?:onds?)?)?[\s:=]{{1,6}}"
    rf"(?P<value>{_NUMBER})(?![\w:/%])"
)
_NOT_OTHERS = (
    r"(?<![A-Za-z\d])(?<!data )(?<!load )(?<!loading )(?<!val )(?<!eval )(?<!test )(?<!remaining )(?<!read )"
    r"(?<!data_)(?<!load_)(?<!val_)(?<!eval_)(?<!test_)(?<!reader_)"
    r"(?<!forward_)(?<!backward_)(?<!fwd_)(?<!bwd_)(?<!fw_)(?<!bw_)(?<!optim_)(?<!optimizer_)(?<!model_)(?<!comm_)"
)
# What trainers call the time of something they did.
_NAME = (
    r"(?i:(?:(?:iteration|iter|step|batch|epoch|train(?:ing)?(?:[ _]step)?|forward-backward|wall|total)[ _]?)?time"
    r"(?:[ _](?:taken|cost|used|elapsed|diff|(?:this|per|for|of)[ _](?:the[ _])?(?:step|iteration|epoch)))?"
    r"|itime|elapsed?|duration|batch_cost|took|cost[ _]time|used[ _]time|run[ _]?time)[\"']?"
)
# `Iteration time: 29.29s`, `train_step_time: 0.665`, `itime 1.95`, `elapse: 24.194 min`, `time(s): 307.7 s`
_NAMED = (
    rf"{_NOT_OTHERS}{_NAME}(?:\s?\((?P<inner>{_UNIT})\))?[\s:=]{{1,3}}"
    rf"(?P<value>{_NUMBER})(?:\s?(?P<unit>{_UNIT}))?(?![\w:/%])"
)
_CLOCK = r"(?:\d+:\d\d:\d\.\d+|\d+(?::\d\d){1,2}(?:\.\d+)?)"  # `0:00:1.390`, too
# `Time: 0:04:21`
_CLOCKED = rf"{_NOT_OTHERS}{_NAME}[\s:=]{{1,3}}(?P<value>{_CLOCK})(?![\w:/%])"
# `Epoch 17: 57:16`, and nothing else
_EPOCH_CLOCK = rf"^(?i:epoch){_GLUE}\d+\s{{0,2}}[:=-]\s{{0,3}}(?P<value>{_CLOCK})\s*$"
# `ETA: 14:06:50`, `eta: 32 days, 5:13:30`, `ETA: 345s`
_LEFT = (
    r"\b(?i:eta|time[ _]left|remaining)[\"']?[\s:=\"']{1,4}"
    r"(?P<value>(?:\d+ days?,? )?\d+(?::\d\d){1,2}|\d+s|\d+h(?: ?\d+m)?)(?![\w:])"
)
# `Epoch 54 … [172.7 seconds]`: of a line that names an epoch
_IN_BRACKETS = rf"[\[(](?P<value>{_NUMBER})\s?(?P<unit>{_UNIT})[\])]"
# `88.06 s`, and nothing else
_ALONE = rf"^(?P<value>{_NUMBER})\s{{0,3}}(?P<unit>{_UNIT})\s*$"
# `Epoch #1 at 81.6s`: a moment on a clock
_AT = rf"{_BEFORE}at (?P<value>{_NUMBER})\s?(?P<unit>{_UNIT})\b"
_DATA = (
    r"(?<![A-Za-z\d_])(?i:(?:load_?)?data(?:_?load(?:ing|er)?)?(?:[ _](?:time|cost))?|rtime|"
    rf"read(?:er|ing)?[ _](?:time|cost)|load(?:er|ing)?[ _]time)[\s:=]{{1,3}}"
    rf"(?P<value>{_NUMBER})(?:\s?(?P<unit>{_UNIT}))?(?![\w:/%])"
)
_LOSS = r"(?i:(?<![a-z])(?:train(?:ing)?[ _])?(?:total[ _])?loss)[\"']?"
_LOSS += rf"(?:[\s:=]{{1,3}}| is )(?P<loss>[-+]?{_NUMBER}|(?i:nan|inf(?:inity)?))"
_VALIDATION = re.compile(r"(?i)\b(?:val(?:id(?:ation|ate|ating)?)?|eval(?:uation|uating)?|test(?:ing)?)\b")
_TRAINING = re.compile(r"(?i)\btrain")

TimeKind = Literal[
    "per",
    "named_per",
    "named",
    "between",
    "clocked",
    "epoch_clock",
    "epoch_took",
    "rate",
    "named_rate",
    "at",
    "left",
    "in",
    "in_brackets",
    "alone",
]
_TIMES: tuple[tuple[TimeKind, str], ...] = (
    ("per", _PER),
    ("named_per", _NAMED_PER),
    ("named", _NAMED),
    ("between", _BETWEEN),
    ("clocked", _CLOCKED),
    ("epoch_clock", _EPOCH_CLOCK),
    ("epoch_took", _EPOCH_TOOK),
    ("rate", _RATE),
    ("named_rate", _NAMED_RATE),
    ("at", _AT),
    ("left", _LEFT),
    ("in", _IN),
    ("in_brackets", _IN_BRACKETS),
    ("alone", _ALONE),
)
CLOCKS: frozenset[TimeKind] = frozenset({"clocked", "epoch_clock", "between"})
RATES: frozenset[TimeKind] = frozenset({"rate", "named_rate"})
_COUNTERS = {"step": STEP, "bracket": BRACKET, "fraction": FRACTION, "epoch": EPOCH}
_compiled = cache(re.compile)


class TimeWord(NamedTuple):
    """A time on a line: how it is named, its unit in seconds (None where not printed) and its value in that unit."""

    kind: TimeKind
    unit_s: float | None
    value: float
    text: str


_MOST_DIGITS = 15  # of a count
_SLOWEST = 1e-12  # steps a second


class WordedLine(NamedTuple):
    """What the words of a line say. `t_ns` is its timestamp, where it has one."""

    number: int
    text: str
    t_ns: int | None
    step: int | None
    epoch: int | None
    time: TimeWord | None
    data_s: float | None
    data_unit_s: float
    is_validation: bool
    counter: str | None  # "step", "bracket", "fraction" or "epoch": which pattern finds the count


def read_words(number: int, text: str, t_ns: int | None = None) -> WordedLine:
    """What the words of a line say; nothing where there are none."""
    epoch = _counted(_compiled(EPOCH).search(text))
    data = _compiled(_DATA).search(text)
    counter, found = _counter(text)
    if found is not None and _counted(found) is None:
        counter, found = None, None
    if counter is None and epoch is not None:
        counter = "epoch"
    return WordedLine(
        number,
        text,
        t_ns,
        int(found["step"]) if found else None,
        int(epoch["epoch"]) if epoch else None,
        _time(text, found),
        _finite(data["value"]) if data is not None else None,
        _unit_s(data["unit"]) or 1.0 if data is not None else 1.0,
        _VALIDATION.search(text) is not None and _TRAINING.search(text) is None,
        counter,
    )


def _counted(found: re.Match[str] | None) -> re.Match[str] | None:
    """A match whose numbers are short enough to count anything."""
    if found is None:
        return None
    numbers = [text for text in found.groupdict().values() if text]
    return found if all(len(text) <= _MOST_DIGITS for text in numbers) else None


def names_batches(text: str) -> bool:
    """Whether a line counts batches by their word: `200/ 2928 batches`."""
    return _OF_BATCHES.search(text) is not None


def is_of_epoch(text: str) -> bool:
    """Whether a line counts the steps of an epoch: `Epoch 3/30, step 10/951`, where one of the run would be further."""
    epoch, step = _counted(_compiled(EPOCH).search(text)), _counted(_compiled(STEP).search(text))
    if epoch is None or step is None or not epoch["epochs"] or not step["total"]:
        return False
    number, epochs, total = int(epoch["epoch"]), int(epoch["epochs"]), int(step["total"])
    if epochs < 2 or total < 2 or "lobal" in step[0]:
        return False
    return number <= 1 or "batch" in step[0].lower() or abs(int(step["step"]) / total * epochs - number + 0.5) > 1


def _counter(text: str) -> tuple[str | None, re.Match[str] | None]:
    """How the step of a line is written, and where."""
    for counter in ("step", "bracket", "fraction"):
        found = _compiled(_COUNTERS[counter]).search(text)
        is_counted = counter != "fraction" or _compiled(_LEFT).search(text) or _OF_BATCHES.search(text)
        if found is not None and is_counted:
            return counter, found
    return None, None


def _time(text: str, counted: re.Match[str] | None) -> TimeWord | None:
    """The time on a line whose step was found; a time left is one where the line says of how many steps."""
    total = None if counted is None else counted.groupdict().get("total") or counted.groupdict().get("batches")
    for kind, pattern in _TIMES:
        if kind == "left" and (counted is None or total is None or int(total) <= int(counted["step"])):
            continue
        if kind == "in" and not _compiled(_LOSS).search(text):
            continue
        if kind == "in_brackets" and not _compiled(EPOCH).search(text):
            continue
        found = _compiled(pattern).search(text)
        if found is not None:
            groups = found.groupdict()
            value = _value(kind, groups["value"])
            unit = 1.0 if kind in CLOCKS | RATES | {"left"} else _unit_s(groups["unit"] or groups.get("inner"))
            if kind == "left" and value is not None:
                value /= int(total or 0) - int(counted["step"] if counted else 0)
            return None if value is None else TimeWord(kind, unit, value, found[0].strip())
    return None


def _value(kind: TimeKind, text: str) -> float | None:
    if kind in CLOCKS or kind == "left":
        return parse_clock(text)
    value = _finite(text)
    return value if kind not in RATES else 1 / value if value is not None and value > _SLOWEST else None


def _finite(text: str) -> float | None:
    """A number, unless no time or rate can be as much in any unit."""
    value = float(text)
    return value if abs(value) < MOST else None


def _unit_s(text: str | None) -> float | None:
    if not text:
        return None
    if text.startswith(("ms", "milli")):
        return 1e-3
    return {"s": 1.0, "m": 60.0, "h": 3600.0}[text[0]]


def counter_pattern(counter: str, *, is_batch: bool = False, is_epoch: bool = False) -> str:
    """A look ahead for the count of a line. `is_batch`: of an epoch; `is_epoch`: the epochs are the steps."""
    pattern = _COUNTERS[counter]
    if is_batch:
        pattern = pattern.replace("(?P<step>", "(?P<batch>").replace("(?P<total>", "(?P<batches>")
    if is_epoch:
        pattern = pattern.replace("(?P<epoch>", "(?P<step>").replace("(?P<epochs>", "(?P<total>")
    return f"(?=.*?{pattern})"


def time_pattern(kind: TimeKind, group: str) -> str:
    """A look ahead for a time of that kind, as the named group."""
    pattern = dict(_TIMES)[kind].replace("(?P<value>", f"(?P<{group}>")
    pattern = pattern.replace("(?P<unit>", "(?:").replace("(?P<inner>", "(?:")
    return f"(?={pattern})" if pattern.startswith("^") else f"(?=.*?{pattern})"


def data_pattern() -> str:
    """A look ahead for a wait for data, where the line has one."""
    return f"(?:(?=.*?{_DATA.replace('(?P<value>', '(?P<data_s>').replace('(?P<unit>', '(?:')}))?"


def loss_pattern() -> str:
    """A look ahead for a loss, where the line has one."""
    return f"(?:(?=.*?{_LOSS}))?"
