"""A format for a log whose steps are the lines of drawn bars.

The bar's elapsed time is its clock: exact, in whole seconds, from the beginning of the bar. The rate that it prints is
smoothed and never the time of a step.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from stepscope.columns.statistics import median
from stepscope.core.message import Message, say
from stepscope.core.redact import redact
from stepscope.infer.bar_series import BarReading, BarSeries, shows_ends_only
from stepscope.infer.drawn_bars import CLOCK, COUNT, ENDLESS, SHARE, Bar, bar_pattern, bar_text, endless_pattern
from stepscope.lines.format import Assumption, Clock, Format, Inferred, Layout, Line, Sample

_NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?(?:\d(?:[\d.,]*\d)?(?:[eE][-+]?\d+)?|nan|NaN|inf)")
_ANY_NUMBER = r"[-+\w.,]{1,24}?"
_LOSS = (
    r"(?:[^\]]{0,400}?(?<![A-Za-z_])(?:train[_/])?loss(?:_step)?\s?[=:]\s?"
    r"(?P<loss>[-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|nan|inf)))?"
)
_WITH_LOSS = {"tqdm", "bare"}
# Of a full bar, the mean: finer than its clock.
_RATE = (
    r"(?:(?:[\d:]{1,12}|\?), {0,3}(?:(?P<took_per_s>\d+(?:\.\d+)?) ?[A-Za-z]\w{0,15}/s"
    r"|(?P<took_mean_s>\d+(?:\.\d+)?) ?s/[A-Za-z]))?"
)
_EPOCH_WORD = re.compile(r"(?i)(?:epochs?|ep)\W*$")
_CLOCK_SURE, _CLOCK_AGREES = 0.8, 0.9
_WITH_REST = {"tqdm", "bare"}
# A bar's rest may follow its last steps, and the first steps may be slow: only a rest this far off is another clock's.
_FAR, _FEW = 3.0, 100
_NEAR = 1.35
_MANY_TOTALS = 8
_LOOKED_AT = 40  # runs of a bar: the others are like them


class EpochOfLabel(NamedTuple):
    """Which number of the label is the epoch, and which the number of epochs."""

    at: int
    total: int | None
    first: int


def bar_format(reading: BarReading, name: str) -> Format | None:
    """The format of a log by its bars."""
    series = reading.training
    epoch = find_epoch(series)
    is_inside = _evaluation_within(reading)
    batches = _validation_inside(reading)
    restarts = len(series.runs) > 1
    if (counted_on := _counted_on(series)) is not None:
        return _by_rest(reading, counted_on, name)
    step = Line("step", _step_pattern(series, epoch, batches, restarts=restarts))
    sample = next((bar for bar in reversed(series.bars) if step.regex.match(_text(bar))), None)
    if sample is None:
        return None
    evaluations = [Line("evaluation", _evaluation_pattern(one)) for one in reading.evaluations]
    # Before it is full, a bar that is an evaluation's for certain says nothing.
    unfinished = [
        Line("chatter", _evaluation_pattern(one, is_full=False))
        for one in reading.evaluations
        if one.role == "evaluation" and not set(one.totals) & set(series.totals)
    ]
    return Format(
        name=name,
        title=name,
        url="",
        lines=(step, *evaluations, *unfinished, *_epochs_line(reading)),
        samples=(Sample(_text(sample), "step"),),
        clock=Clock(
            covers="cumulative",
            includes=("data", "logging", *(("evaluation", "checkpoint") if is_inside else ())),
            note="",
            restarts_with="epoch" if epoch is not None or restarts else None,
        ),
        layout=Layout(
            first_step=1,
            first_epoch=epoch.first if epoch is not None else 0,
            bars_are_epochs=epoch is None and restarts,
            bars_show_ends=epoch is None and restarts and shows_ends_only(series),
        ),
        inferred=_inferred(reading, epoch, restarts=restarts),
    )


def _epochs_line(reading: BarReading) -> list[Line]:
    """The bar around the training's, which says how many epochs there are."""
    if reading.epochs is None:
        return []
    bar = reading.epochs.bars[-1]
    label = _label_pattern(reading.epochs, None)
    count = rf"\d+/(?P<epochs>{bar.total})"
    return [Line("fact", rf"{label}\s*" + bar_pattern(bar.style, share=SHARE, count=count, clock=CLOCK))]


def _counted_on(series: BarSeries) -> Bar | None:
    """The only line of a bar whose clock began long after its count, by the time it says is left; else None.

    A resumed training counts on from where it was, and the clock of its bar begins again.
    """
    bar = series.bars[0]
    if len(series.bars) > 1 or bar.style not in _WITH_REST or not (bar.left_s and 0 < bar.n < bar.total):
        return None
    expected_s = bar.elapsed_s / bar.n * (bar.total - bar.n)
    return bar if bar.n > _FEW and bar.left_s > _FAR * expected_s else None


def _by_rest(reading: BarReading, bar: Bar, name: str) -> Format:
    """The format of a bar that is timed by what it says is left, as its clock does not belong to its count."""
    series = reading.training
    label = _label_pattern(series, None)
    count = rf"(?P<step>[1-9]\d*)/(?P<total>{bar.total})"
    drawn = bar_pattern(bar.style, share=SHARE, count=count, clock=CLOCK) + rf"(?P<left_clock>{CLOCK})"
    text = _text(bar).replace("<?", f"<{_clock(bar.left_s or 0.0)}")
    return Format(
        name=name,
        title=name,
        url="",
        lines=(Line("step", (rf"{label}\s*" if label else r"^") + drawn),),
        samples=(Sample(text, "step"),),
        clock=Clock(covers="step", includes=("data", "logging", "evaluation", "checkpoint"), note=""),
        layout=Layout(first_step=1),
        inferred=_inferred(reading, None, restarts=False),
    )


def _text(bar: Bar) -> str:
    """A line that the patterns are tried on."""
    return bar_text(bar, _clock(bar.elapsed_s))


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def find_epoch(series: BarSeries) -> EpochOfLabel | None:
    """The number of a label that stays within a run of the bar and goes up by one with the next."""
    firsts = [run[0].label_numbers for run in series.runs]
    label = series.runs[0][0].label
    places = [found.span() for found in _NUMBER.finditer(label)]
    for at, (start, end) in enumerate(places):
        values = [row[at] if at < len(row) else "" for row in firsts]
        if not all(value.isdecimal() for value in values):
            continue
        numbers = [int(value) for value in values]
        before, after = label[:start], label[end:]
        total = at + 1 if re.match(r"\s*(?:/|of)\s*\d", after) and at + 1 < len(places) else None
        is_named = bool(_EPOCH_WORD.search(before)) or re.match(r"(?i)\s*epoch", after) is not None
        grows = len(numbers) > 1 and all(later - earlier in {0, 1} for earlier, later in pairwise(numbers))
        grows = grows and numbers[-1] > numbers[0]
        if (is_named and (grows or len(set(numbers)) == 1 or _mostly_up(numbers))) or (
            (grows or total is not None) and _is_steady(series, at)
        ):
            return EpochOfLabel(at, total, 0 if min(numbers) == 0 else 1)
    return None


def _mostly_up(numbers: Sequence[int]) -> bool:
    """Epochs that start again at times: several trainings."""
    falls = sum(later < earlier for earlier, later in pairwise(numbers))
    return falls <= 0.2 * len(numbers) and max(numbers) > min(numbers)


def _is_steady(series: BarSeries, at: int) -> bool:
    """Whether a number of the label is the same in all lines of a run."""
    return all(
        len({tuple(bar.label_numbers[at : at + 1]) for bar in (run[0], run[len(run) // 2], run[-1])}) == 1
        for run in series.runs[:_LOOKED_AT]
    )


def _label_pattern(series: BarSeries, epoch: EpochOfLabel | None) -> str:
    """The label with its words as they are, its numbers as any, and the epoch by its name."""
    label = series.runs[-1][-1].label
    pieces, last = [], 0
    for at, found in enumerate(_NUMBER.finditer(label)):
        pieces.append(_words(label[last : found.start()]))
        if epoch is not None and at == epoch.at:
            pieces.append(r"(?P<epoch>\d+)")
        elif epoch is not None and at == epoch.total:
            pieces.append(r"(?P<epochs>\d+)")
        else:
            pieces.append(_ANY_NUMBER)
        last = found.end()
    pieces.append(_words(label[last:]))
    return "".join(pieces)


def _words(text: str) -> str:
    if not text:
        return ""
    if text.isspace():
        return r"\s+"
    inner = r"\s+".join(re.escape(word) for word in text.split())
    return (r"\s*" if text[0].isspace() else "") + inner + (r"\s*" if text[-1].isspace() else "")


def _step_pattern(series: BarSeries, epoch: EpochOfLabel | None, batches: int | None, *, restarts: bool) -> str:
    label = _label_pattern(series, epoch)
    n = "batch" if epoch is not None or restarts else "step"
    totals = "|".join(str(total) if total else r"\?" for total in series.totals)
    is_short = any(run[0].is_short for run in series.runs)
    whole = rf"(?!0+/){COUNT}" if is_short else r"[1-9]\d*"
    group = "batches" if n == "batch" else "total"
    total = f"(?P<{group}>{COUNT if is_short or len(series.totals) > _MANY_TOTALS else totals})"
    if not any(series.totals):
        total = rf"(?:{totals})"
    if batches is not None:
        # The bar goes on counting through a validation: those batches are no steps.
        whole, total = at_most(batches), f"(?:{totals})"
    count = rf"(?P<{n}>{whole})/{total}"
    style = series.runs[0][0].style
    clock = rf"(?P<elapsed_clock>{CLOCK})"
    start = rf"{label}\s*" if label else r"^"
    if style == ENDLESS:
        return start + endless_pattern(rf"(?P<{n}>{whole})", clock) + _LOSS
    return start + bar_pattern(style, share=SHARE, count=count, clock=clock) + (_LOSS if style in _WITH_LOSS else "")


def at_most(most: int) -> str:
    """A pattern of the whole numbers from 1 to `most`."""
    digits = str(most)
    parts = [rf"[1-9]\d{{0,{len(digits) - 2}}}"] if len(digits) > 1 else []
    for at, digit in enumerate(digits):
        low = "1" if at == 0 else "0"
        if digit > low:
            rest = len(digits) - at - 1
            parts.append(digits[:at] + f"[{low}-{chr(ord(digit) - 1)}]" + (rf"\d{{{rest}}}" if rest else ""))
    return "(?:" + "|".join([*parts, digits]) + r")(?!\d)"


def _evaluation_pattern(series: BarSeries, *, is_full: bool = True) -> str:
    """A bar of an evaluation that is full: its clock is how long the evaluation took. Or one that is not full yet.

    One that does not know when it is full says so by its last state.
    """
    label = _label_pattern(series, None)
    if series.runs[0][0].style == ENDLESS:
        return rf"{label}\s*" + endless_pattern(r"\d+", rf"(?P<took_clock>{CLOCK})")
    total = "|".join(str(total) for total in series.totals)
    start = rf"{label}\s*" if label else r"^"
    full = rf"(?P<took_samples>{total})/(?P=took_samples)(?!\d)"
    style, clock = series.runs[0][0].style, rf"(?P<took_clock>{CLOCK})"
    if not is_full:
        return start + bar_pattern(style, share=SHARE, count=rf"\d+/(?:{total})", clock=CLOCK)
    return start + bar_pattern(style, share="100", count=full, clock=clock) + (_RATE if style in _WITH_REST else "")


def _evaluation_within(reading: BarReading) -> bool:
    """Whether evaluations are drawn inside a run of the training's bar, whose clock then goes on."""
    if _validation_inside(reading) is not None:
        return False
    pairs = (pair for one in reading.evaluations for pair in _around(reading.training, one))
    return any(run[0].number < own[0].number and own[-1].number < run[-1].number for run, own in pairs)


def _around(series: BarSeries, evaluation: BarSeries) -> Iterator[tuple[list[Bar], list[Bar]]]:
    """The first runs of an evaluation's bar, each with the run of the training's bar that began before it."""
    starts = [run[0].number for run in series.runs]
    for own in evaluation.runs[:_LOOKED_AT]:
        at = bisect_left(starts, own[0].number) - 1
        if at >= 0:
            yield series.runs[at], own


def _validation_inside(reading: BarReading) -> int | None:
    """Steps of an epoch where the bar counts the batches of its validation too; None where it does not.

    Older versions of Lightning draw 41 for 27 batches of training and 14 of validation, whose own bar counts to 14.
    """
    series = reading.training
    if len(series.totals) != 1:
        return None
    for one in reading.evaluations:
        steps = series.totals[0] - one.totals[0]
        if one.role != "evaluation" or len(one.totals) != 1 or steps <= 0:
            continue
        pairs = list(_around(series, one))
        if sum(_counts_on(run, own, steps) for run, own in pairs) > 0.5 * len(pairs):
            return steps
    return None


def _counts_on(run: Sequence[Bar], evaluation: Sequence[Bar], steps: int) -> bool:
    """Whether a bar stood at `steps` when an evaluation began, and counted on with it."""
    start, end = evaluation[0].number, evaluation[-1].number
    before = [bar.n for bar in run if bar.number < start]
    after = [bar.n for bar in run if start <= bar.number <= end + 4]
    return bool(before) and bool(after) and abs(before[-1] - steps) <= 1 and after[-1] > steps


def _inferred(reading: BarReading, epoch: EpochOfLabel | None, *, restarts: bool) -> Inferred:
    series = reading.training
    sample = redact(series.bars[-1].label, 40) or f"{series.bars[-1].n}/{series.bars[-1].total}"
    assumptions = [
        Assumption(say("infer-step-bar", text=sample), None, series.sure),
        Assumption(say("infer-time-bar"), *_agreement(series)),
    ]
    if epoch is None and restarts:
        assumptions.append(Assumption(say("infer-bars-are-epochs", count=len(series.runs)), None, 0.7))
    assumptions += [
        Assumption(say("infer-evaluation", text=redact(one.bars[-1].label, 60) or str(one.totals[0])), None, 0.85)
        for one in reading.evaluations
    ]
    return Inferred(round(series.sure * assumptions[1].confidence, 2), tuple(assumptions))


def _agreement(series: BarSeries) -> tuple[Message | None, float]:
    """Whether the time left on the bars is what their clocks and counts make of it, and how sure the clock is then."""
    ratios = []
    for run in series.runs[:_LOOKED_AT]:
        bar = run[len(run) // 2]
        if bar.left_s and bar.n and bar.elapsed_s and bar.n < bar.total:
            ratios.append(bar.left_s / (bar.total - bar.n) * bar.n / bar.elapsed_s)
    if not ratios:
        return None, _CLOCK_SURE
    if 1 / _NEAR < median(ratios) < _NEAR:
        return say("infer-because-left"), _CLOCK_AGREES
    return None, _CLOCK_SURE
