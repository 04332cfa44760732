"""The bars of an unknown log sorted into series, and which of them is the training's.

One series has one label (numbers aside), one unit and one total; each time it starts from the beginning is a run of
it. Losses on the bar or between its lines, its words, its place and its extent say what it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from stepscope.infer.drawn_bars import ENDLESS, Bar, find_endless
from stepscope.infer.series_words import Role, has_loss, is_batch, role_of

# How sure it is that a series is the training's: it has a loss, its label says so, losses are printed between its
# lines, or nothing but its being there.
_SURE = {"loss": 0.95, "label": 0.85, "between": 0.85, "trainer": 0.7, "alone": 0.45}
_MOSTLY_BARS = 0.5
# Of a few pasted lines, the rest may be a question in words: a bar among them is what is asked about.
_EXCERPT_LINES, _BRIEF_S = 80, 60.0
_ALL_BUT_FULL = 99
_FIGURES_ON_LABEL = 2
_WIDEST = 1000  # characters of a line that are looked at
_REDRAWN_LINES = 2
_MAX_EVALUATIONS = 8
_LEAST_FIGURES = 8
_LOOKED_AT = 50
_CHANGES = 0.3
_FIGURE = re.compile(r"[A-Za-z_]\w{0,40}\s?[:=]\s?([-+]?\d{1,12}\.\d{1,18}(?:[eE][-+]?\d+)?)")
# A bar without a label may have a heading: the line before it, where most runs have one that says the same.
_HEADING_LINES, _HEADING_CHARS, _HEADED = 3, 60, 0.8
_ENDS = 2
_RESULT = re.compile(r"\d\.\d")
# What only a program that trains says: its own files in warnings and tracebacks, what it does to the gradients.
_TRAINER = re.compile(
    r"(?i)[/\\.]trainers?(?:[/\\._]|\.py)|_trainer\.py|lr_scheduler|gradient[ _]checkpointing|optimizer\.(?:step|zero)|"
    r"\bgrad_?scaler\b|\.backward\(|\btrainer\.train\("
)
_LARGEST = 0.8  # of the seconds of all bars
_EPOCH_NUMBER = re.compile(r"(?i)^\W{0,4}epochs?\W{0,3}(\d+)\b")
_SETS = re.compile(r"(?i)(?<![a-z])(?:train|val|eval|test|dev)")
_LEAST_EPOCHS, _BOTH = 3, 2
_HALF = 0.5  # of an epoch's time at least: the rest may be its evaluation
_SMALL = 0.02  # of the longest series: too short to be the training next to it


class BarSeries(NamedTuple):
    """Bars of one label and total, in the order of the file."""

    skeleton: str
    unit: str
    totals: tuple[int, ...]
    runs: list[list[Bar]]  # each from its beginning to its end
    role: Role
    sure: float
    is_named: bool = False  # the bar itself says what it is, not only what is printed around it

    @property
    def bars(self) -> list[Bar]:
        """All its lines."""
        return [bar for run in self.runs for bar in run]

    @property
    def seconds(self) -> float:
        """How long all its runs took, by their own clocks."""
        return sum(run[-1].elapsed_s for run in self.runs)

    @property
    def first(self) -> int:
        """The number of its first line."""
        return self.runs[0][0].number

    @property
    def last(self) -> int:
        """The number of its last line."""
        return self.runs[-1][-1].number


class BarReading(NamedTuple):
    """The training's bars, those of its evaluations, and the one that counts how often the training's are drawn."""

    training: BarSeries
    evaluations: list[BarSeries]
    epochs: BarSeries | None = None


def read_bars(bars: Sequence[Bar], lines: Sequence[str]) -> BarReading | None:
    """Which bars are the training's; None where none of them is."""
    shown = {bar.number for bar in bars}
    glued = {bar.number for bar in bars if bar.rest and has_loss(bar.rest)}
    losses = [
        number for number, line in enumerate(lines) if number in glued or (number not in shown and has_loss(line[:400]))
    ]
    num_lines = sum(1 for line in lines if line.strip())
    series = _sort(bars)
    # One bar that the log consists of may be the training's; one of many that nothing is known of is not.
    asked = _asked_about(series) if num_lines <= _EXCERPT_LINES else None
    is_all = len(bars) > _MOSTLY_BARS * num_lines or asked is not None
    is_all = is_all and sum(not one.skeleton for one in series) == 1
    judged = [_judge(_with_heading(one, lines, shown), losses, is_all=is_all or one is asked) for one in series]
    judged = [
        one._replace(role="evaluation", is_named=False) if _is_of_results(one, lines, losses) else one for one in judged
    ]
    if not any(one.role == "training" for one in judged):
        judged = [_judge_by_log(one, judged, lines, shown) for one in judged]
    judged = [one._replace(role="evaluation") if _is_held_by(one, judged) else one for one in judged]
    candidates = [one for one in judged if one.role == "training" and any(run[-1].n for run in one.runs)]
    if not candidates:
        return None
    longest = max(one.seconds for one in candidates)
    candidates = [one for one in candidates if one.seconds >= _SMALL * longest]
    best = outer = max(candidates, key=lambda one: (_tier(one), one.seconds, len(one.bars)))
    if (inner := _inside(outer, candidates)) is not None:
        best = inner
    # Bars of one label that alternate are the training's and its evaluation's: the training counts further.
    same = [one for one in candidates if one.skeleton == best.skeleton and (one is best or _alternates(one, best))]
    best = _with_other_totals(max(same, key=lambda one: max(one.totals)), candidates)
    others = [one for one in judged if not set(one.totals) & set(best.totals) or one.skeleton != best.skeleton]
    endless = [] if bars[0].style == ENDLESS else find_endless(lines)
    others += [one for one in (_sort(endless) if endless else ()) if one.role == "evaluation"]
    evaluations = [one for one in others if _is_evaluation(one, best)]
    evaluations += [one for one in others if one not in evaluations and _is_beside(one, evaluations, best)]
    if evaluations:
        evaluations += [one for one in others if one not in evaluations and _is_last_test(one, best)]
    evaluations = sorted(evaluations, key=lambda one: -one.seconds)[:_MAX_EVALUATIONS]
    return BarReading(best, evaluations, None if outer is best or inner is None else outer)


def _asked_about(series: Sequence[BarSeries]) -> BarSeries | None:
    """The one bar of an excerpt that goes on or took long; None where none or several do."""
    found = [one for one in series if one.role not in {"evaluation", "preparation"} and _takes_long(one)]
    if len(found) > 1:  # one that was all but full when the next began is over
        latest = max(one.last for one in found)
        found = [one for one in found if one.last == latest or one.runs[-1][-1].share < _ALL_BUT_FULL]
    return found[0] if len(found) == 1 else None


def _takes_long(one: BarSeries) -> bool:
    last = one.runs[-1][-1]
    return (0 < last.n < last.total and last.elapsed_s > 0) or one.seconds >= _BRIEF_S


def _inside(outer: BarSeries, candidates: Sequence[BarSeries]) -> BarSeries | None:
    """The training's bar that is drawn to its end inside each step of another: that one counts epochs, this steps."""
    if len(outer.runs) > 1:
        return None
    inner = [
        one
        for one in candidates
        if len(one.runs) >= max(_BOTH, outer.runs[0][-1].n)
        and _tier(one) >= _tier(outer)
        and one.first >= outer.first
        and one.seconds >= _HALF * outer.seconds
        and all(run[-1].n == run[-1].total for run in one.runs[:-1])
    ]
    return max(inner, key=lambda one: one.seconds, default=None)


def _tier(series: BarSeries) -> float:
    return 1.0 if series.sure >= _SURE["label"] else 0.0


def _sort(bars: Sequence[Bar]) -> list[BarSeries]:
    """Series by label, unit and total; a unit that a first line does not show is the one of the others."""
    groups: dict[tuple[str, str, int], list[Bar]] = {}
    for bar in bars:
        groups.setdefault((bar.style, bar.skeleton, bar.total), []).append(bar)
    found = []
    for (_, skeleton, total), own in groups.items():
        units = [bar.unit for bar in own if bar.unit]
        unit = max(set(units), key=units.count) if units else ""
        post = next((bar.post for bar in reversed(own) if bar.post), "")
        role = role_of(own[-1].label, unit, post)
        found.append(BarSeries(skeleton, unit, (total,), _runs(own), role, 0.0))
    return found


def _runs(bars: Sequence[Bar]) -> list[list[Bar]]:
    """The lines from each beginning of the bar to its end."""
    runs = [[bars[0]]]
    for before, bar in pairwise(bars):
        begins = bar.n < before.n or (bar.elapsed_s < before.elapsed_s and bar.n <= before.n)
        # A full bar that is drawn again after other lines is the next one, of which only the end is shown.
        is_drawn_anew = bar.number > before.number + _REDRAWN_LINES and bar.total > 1
        begins = begins or (bar.n == before.n == bar.total and is_drawn_anew)
        if begins or bar.leading != before.leading:
            runs.append([bar])
        else:
            runs[-1].append(bar)
    return runs


def _judge(series: BarSeries, losses: Sequence[int], *, is_all: bool) -> BarSeries:
    """The series with its role and how sure that is."""
    if series.role in {"evaluation", "preparation"}:
        return series._replace(sure=0.9)
    last = series.runs[-1][-1]
    if series.role == "training":
        on_it = has_loss(last.post) or has_loss(last.label)
        return series._replace(sure=_SURE["loss" if on_it else "label"], is_named=True)
    if re.match(r"#/# ", series.skeleton):  # `12/300 8.3G 0.041 0.92:`, the epoch and its figures
        return series._replace(role="training", sure=_SURE["label"], is_named=True)
    if len(series.bars) >= _LEAST_FIGURES and _carries_figures(series):
        return series._replace(role="training", sure=_SURE["label"], is_named=True)
    within = bisect_left(losses, series.last + 3) - bisect_left(losses, series.first)
    if within >= min(3, max(1, len(series.bars) // 3)):
        return series._replace(role="training", sure=_SURE["between"])
    if len(_FIGURE.findall(last.label)) >= _FIGURES_ON_LABEL:
        return series._replace(role="training", sure=_SURE["alone"])
    if is_all and not series.skeleton:
        return series._replace(role="training", sure=_SURE["alone"])
    return series


def _is_of_results(one: BarSeries, lines: Sequence[str], losses: Sequence[int]) -> bool:
    """Whether a bar without a label lies between each epoch's training loss and its validation loss.

    `Epoch 2, train loss: 0.25`, the bar, `Epoch 2, val loss: 0.24`: what it counts is the validation.
    """
    if one.skeleton or one.is_named or len(one.runs) < _LEAST_EPOCHS:
        return False
    num = 0
    for run in one.runs:
        before, after = bisect_left(losses, run[0].number) - 1, bisect_left(losses, run[-1].number + 1)
        if before < 0 or after >= len(losses):
            continue
        train, result = lines[losses[before]].strip(), lines[losses[after]].strip()
        epochs = [_EPOCH_NUMBER.match(text) for text in (train, result)]
        numbers = [found[1] for found in epochs if found is not None]
        is_same = len(numbers) == _BOTH and numbers[0] == numbers[1]
        num += is_same and _names(train) == {"train"} and _names(result) == {"val"}
    return num >= _HEADED * (len(one.runs) - 1)


def _is_held_by(one: BarSeries, judged: Sequence[BarSeries]) -> bool:
    """Whether another bar of the training, which says no less of itself, stops for this one now and then.

    A bar inside each step of another counts the batches of an epoch; one inside few of them is an evaluation.
    """
    if one.is_named or one.role != "training":
        return False
    outers = [other for other in judged if other is not one and other.role == "training" and len(other.runs) == 1]
    return any(_stops_for(outer.runs[0], one) for outer in outers if outer.skeleton == one.skeleton)


def _stops_for(outer: Sequence[Bar], inner: BarSeries) -> bool:
    """Whether the inner bar lies inside some steps of the outer one, by lines and clock, and most have none inside."""
    numbers = [bar.number for bar in inner.bars]
    spent_s, num_free, num_held = 0.0, 0, 0
    for before, after in pairwise(outer):
        is_held = bisect_left(numbers, before.number + 1) < bisect_left(numbers, after.number)
        spent_s += (after.elapsed_s - before.elapsed_s) * is_held
        num_held += is_held
        num_free += not is_held and after.n == before.n + 1
    is_inside = outer[0].number < inner.first and inner.last < outer[-1].number
    return is_inside and num_free > _LEAST_EPOCHS + num_held and spent_s >= _LARGEST * inner.seconds


def _names(text: str) -> set[str]:
    """Which of the two sets of data the figures of a line are of."""
    found = {found[0].lower()[:3] for found in _SETS.finditer(text)}
    return {"train" if name == "tra" else "val" for name in found}


def _judge_by_log(one: BarSeries, judged: Sequence[BarSeries], lines: Sequence[str], shown: set[int]) -> BarSeries:
    """A series that says nothing of itself by what the log prints beside it: epochs, or the words of a trainer."""
    if one.role != "unknown" or one.unit not in {"it", ""}:
        return one
    if _counts_epochs(one, lines, shown):
        return one._replace(role="training", sure=_SURE["between"])
    others = sum(other.seconds for other in judged if other is not one)
    if one.seconds < max(_BRIEF_S, _LARGEST * (one.seconds + others)) or len(one.bars) < _LEAST_FIGURES:
        return one
    is_labelled = is_batch(one.runs[-1][-1].label) and len(one.runs) >= _LEAST_EPOCHS
    is_trainers = not one.skeleton and any(
        _TRAINER.search(line[:_WIDEST]) for number, line in enumerate(lines) if number not in shown
    )
    return one._replace(role="training", sure=_SURE["trainer"]) if is_labelled or is_trainers else one


def _counts_epochs(one: BarSeries, lines: Sequence[str], shown: set[int]) -> bool:
    """Whether the log numbers as many epochs as a bar counts: `7/100 [...]` and `Epoch 7: ...`, perhaps later."""
    beside = {bar.number: bar.rest for bar in one.bars if bar.rest}
    texts = (beside.get(at, "" if at in shown else line) for at, line in enumerate(lines))
    numbers = [int(found[1]) for text in texts if (found := _EPOCH_NUMBER.match(text.strip())) is not None]
    last = one.runs[-1][-1].n
    if len(one.runs) > 1 or len(numbers) < _LEAST_EPOCHS or abs(numbers[-1] - last) > 1:
        return False
    return all(after - before in {0, 1} for before, after in pairwise(numbers))


def _with_heading(series: BarSeries, lines: Sequence[str], shown: set[int]) -> BarSeries:
    """A series without a label with the role that the lines before its runs give it: `Epoch 3`, `Evaluation`."""
    if series.skeleton or series.role != "unknown":
        return series
    runs = series.runs[:_LOOKED_AT]
    headings = [_heading(run[0].number, lines, shown) for run in runs]
    roles = [role_of(text, series.unit, "") for text in headings]
    said: tuple[Role, ...] = ("training", "evaluation")
    role = next((role for role in said if roles.count(role) > _HEADED * len(roles)), None)
    return series if role is None else series._replace(role=role)


def _heading(number: int, lines: Sequence[str], shown: set[int]) -> str:
    """The words right before a bar, where they are no result of what came before; empty where there are none."""
    for at in range(number - 1, max(-1, number - 1 - _HEADING_LINES), -1):
        text = lines[at].strip()
        if text and at not in shown:
            return text if len(text) <= _HEADING_CHARS and not _RESULT.search(text) else ""
    return ""


def shows_ends_only(series: BarSeries) -> bool:
    """Whether a bar is there in its last states only, as recorders of a screen keep it."""
    return sum(len(run) <= _ENDS for run in series.runs) > _HEADED * len(series.runs)


def _carries_figures(series: BarSeries) -> bool:
    """Whether the label is written again with each step, `d: 0.008; g: 0.019:`: results that have no name we know."""
    figures = [_FIGURE.findall(bar.label) for bar in series.bars[:: max(1, len(series.bars) // _LOOKED_AT)]]
    return all(figures) and len({tuple(values) for values in figures}) > _CHANGES * len(figures)


def _with_other_totals(best: BarSeries, candidates: Sequence[BarSeries]) -> BarSeries:
    """The series with those of the same label that count to another total one after the other: not an evaluation's."""
    same = [one for one in candidates if one is not best and (one.skeleton, one.unit) == (best.skeleton, best.unit)]
    same = [one for one in same if not _alternates(one, best)]
    if not same:
        return best
    runs = sorted((run for one in [best, *same] for run in one.runs), key=lambda run: run[0].number)
    totals = tuple(dict.fromkeys(run[0].total for run in runs))
    return best._replace(totals=totals, runs=runs)


def _alternates(one: BarSeries, main: BarSeries) -> bool:
    """Whether the runs of one series lie between or inside those of the other, again and again."""
    starts = [run[0].number for run in main.runs]
    within = [run for run in one.runs if main.first < run[0].number and run[-1].number < main.last + 1]
    if main.first < one.first and one.last < main.last and len(main.runs) == 1:
        return True
    gaps = {bisect_left(starts, run[0].number) for run in one.runs}
    is_regular = len(gaps) >= min(2, len(main.runs)) and len(main.runs) >= 2
    # The label names the same epoch twice, once for each bar.
    own = {run[0].leading for run in one.runs} - {""}
    shared = own & {run[0].leading for run in main.runs}
    return (is_regular and len(within) >= len(one.runs) - 1 and len(shared) == len(own)) or bool(shared)


def _is_beside(one: BarSeries, evaluations: Sequence[BarSeries], main: BarSeries) -> bool:
    """Whether a bar is drawn with an evaluation's between the training's, again and again: it is part of it.

    What is prepared for an evaluation, features or generated texts, is done for each; for a training, once.
    """
    if one.role == "training" or len(one.runs) < _LEAST_EPOCHS:
        return False
    ends = [run[-1].number for run in main.runs]
    starts = [run[0].number for run in main.runs[1:]]

    def gaps(series: BarSeries) -> set[int]:
        """The runs of the training's bar after which a bar is drawn before the next."""
        places = [(bisect_left(ends, run[0].number) - 1, run[-1].number) for run in series.runs]
        return {at for at, last in places if at >= 0 and (at == len(starts) or last < starts[at])}

    own = gaps(one)
    return len(own) >= _HEADED * len(one.runs) and len(own & set().union(*map(gaps, evaluations))) >= _HEADED * len(own)


def _is_last_test(one: BarSeries, main: BarSeries) -> bool:
    """Whether a bar that looks like the training's evaluations is drawn once, when the training is over."""
    return one.role == "unknown" and one.skeleton == main.skeleton and len(one.runs) == 1 and one.first > main.last


def _is_evaluation(one: BarSeries, main: BarSeries) -> bool:
    """Whether a series is an evaluation of the training: it says so, or it is drawn between the training's bars."""
    if one.last < main.first:
        return False
    if one.role == "evaluation":
        return True
    return one.role != "preparation" and one.skeleton == main.skeleton and _alternates(one, main)
