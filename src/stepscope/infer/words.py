"""What trainers call their steps, epochs, times and waits: words and units that mean the same in any log.

The structure of a log needs many lines to show what a number is. A word with a unit (`3.1 sec/step`) needs one.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

_NUMBER = r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_UNIT = r"(?:ms|msecs?|milliseconds?|s|secs?|seconds?|min|mins|minutes?|h|hours?)"
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_BEFORE = r"(?<![A-Za-z\d_.])"
_GLUE = r"[\s:=#\[(\"']{0,4}"
STEP = (
    rf"{_BEFORE}(?i:(?:global[ _]?)?(?:step|iter(?:ation)?s?|batch|update))(?:[ _](?:no|num|idx))?\.?{_GLUE}"
    r"(?P<step>\d+)(?![\d.]*\d?\s?(?:%|s\b|ms\b|sec))(?:\s?/\s?(?P<total>\d+))?"
)
EPOCH = rf"{_BEFORE}(?i:epoch){_GLUE}(?P<epoch>\d+)(?!\.\d)(?:\s?/\s?(?P<epochs>\d+))?"
BRACKET = r"\[\s{0,3}(?P<step>\d+)\s?/\s?(?P<total>\d+)(?=[\s\](])"
# `3.131 sec/step`
_PER = (
    rf"{_BEFORE}(?P<value>{_NUMBER})\s?(?P<unit>{_UNIT})\s?(?:/|per)\s?(?i:steps?|it|iters?|iterations?|batch|update)\b"
)
# `Iteration time: 29.29s`, `train_step_time: 0.665`, `itime 1.95`, `elapse: 24.194 min`, `time(s): 307.7 s`
_NAMED = (
    r"(?<![A-Za-z\d])(?<!data )(?<!load )(?<!loading )(?<!val )(?<!eval )(?<!test )(?<!remaining )(?<!read )"
    r"(?<!data_)(?<!load_)(?<!val_)(?<!eval_)(?<!test_)(?<!reader_)"
    r"(?i:(?:(?:iteration|iter|step|batch|epoch|train(?:ing)?(?:[ _]step)?|forward-backward|wall)[ _]?)?time"
    r"(?:[ _](?:taken|cost|used|elapsed|per (?:step|iteration|epoch)))?|itime|elapsed?|duration|batch_cost|took)"
    rf"(?:\s?\((?P<inner>{_UNIT})\))?[\s:=]{{1,3}}(?P<value>{_NUMBER})(?:\s?(?P<unit>{_UNIT}))?(?![\w:/%])"
)
# `Epoch #1 at 81.6s`: a moment on a clock
_AT = rf"{_BEFORE}at (?P<value>{_NUMBER})\s?(?P<unit>{_UNIT})\b"
_DATA = (
    r"(?<![A-Za-z\d_])(?i:(?:load_?)?data(?:_?load(?:ing|er)?)?(?:[ _](?:time|cost))?|rtime|"
    rf"read(?:er|ing)?[ _](?:time|cost)|load(?:er|ing)?[ _]time)[\s:=]{{1,3}}"
    rf"(?P<value>{_NUMBER})(?:\s?(?P<unit>{_UNIT}))?(?![\w:/%])"
)
_VALIDATION = re.compile(r"(?i)\b(?:val(?:id(?:ation|ate|ating)?)?|eval(?:uation|uating)?|test(?:ing)?)\b")
_TRAINING = re.compile(r"(?i)\btrain")

TimeKind = Literal["per", "named", "at"]
_TIMES: tuple[tuple[TimeKind, str], ...] = (("per", _PER), ("named", _NAMED), ("at", _AT))
_COUNTERS = {"step": STEP, "bracket": BRACKET, "epoch": EPOCH}
_compiled = {pattern: re.compile(pattern) for pattern in (_PER, _NAMED, _AT, _DATA, STEP, EPOCH, BRACKET)}


class TimeWord(NamedTuple):
    """A time on a line: how it is named, its unit in seconds (None where not printed) and its value."""

    kind: TimeKind
    unit_s: float | None
    value: float
    text: str


class WordedLine(NamedTuple):
    """What the words of a line say."""

    number: int
    text: str
    step: int | None
    epoch: int | None
    time: TimeWord | None
    data_s: float | None
    data_unit_s: float
    is_validation: bool
    counter: str | None  # "step", "bracket" or "epoch": which pattern finds the count


def read_words(number: int, text: str) -> WordedLine:
    """What the words of a line say; nothing where there are none."""
    step = _compiled[STEP].search(text)
    epoch = _compiled[EPOCH].search(text)
    bracket = _compiled[BRACKET].search(text) if step is None else None
    data = _compiled[_DATA].search(text)
    counter = "step" if step else "bracket" if bracket else "epoch" if epoch else None
    found = step or bracket
    return WordedLine(
        number,
        text,
        int(found["step"]) if found else None,
        int(epoch["epoch"]) if epoch else None,
        _time(text),
        float(data["value"]) if data is not None else None,
        _unit_s(data["unit"]) or 1.0 if data is not None else 1.0,
        _VALIDATION.search(text) is not None and _TRAINING.search(text) is None,
        counter,
    )


def _time(text: str) -> TimeWord | None:
    for kind, pattern in _TIMES:
        found = _compiled[pattern].search(text)
        if found is not None:
            groups = found.groupdict()
            unit = _unit_s(groups["unit"] or groups.get("inner"))
            return TimeWord(kind, unit, float(groups["value"]), found[0].strip())
    return None


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
    return f"(?=.*?{pattern.replace('(?P<unit>', '(?:').replace('(?P<inner>', '(?:')})"


def data_pattern() -> str:
    """A look ahead for a wait for data, where the line has one."""
    return f"(?:(?=.*?{_DATA.replace('(?P<value>', '(?P<data_s>').replace('(?P<unit>', '(?:')}))?"
