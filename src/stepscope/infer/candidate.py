"""The lines of an unknown log that may be its step lines: what counts in them, what times them, how likely each is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.infer.choice import Choice, Doubt
from stepscope.infer.clock_choice import choose
from stepscope.infer.count_of_epochs import of_headed_epochs
from stepscope.infer.count_of_run import LEAST_ROWS
from stepscope.infer.counter import Counter, first_number, whole
from stepscope.infer.epoch_line import find_epoch_line, stretches_between
from stepscope.infer.find_counter import count_lines, find_counter, names_a_count
from stepscope.infer.kinds import EVALUATION, MAX_KINDS, Days, Kind, SeenLine, SortedKinds
from stepscope.infer.line_parts import Field
from stepscope.infer.records import Companion, find_companion
from stepscope.infer.step_rows import StepLines
from stepscope.infer.time_figures import Floats, find_columns
from stepscope.infer.work_rate import work_clock
from stepscope.lines.prefix import split_prefix
from stepscope.lines.runtimes import parse_runtime

_TRIED = 4
_LEAST_HEADINGS, _HEADED = 2, 0.95
# Times the steps' own: an epoch that took less or more than this speaks of something else than they do.
_LEAST_OF_EPOCH, _MOST_OF_EPOCH, _PER_EPOCH = 0.5, 5.0, 1.3
_CONFIRMED = frozenset({"stamps", "clock", "rate", "left", "total"})
# A counting line that is this rare compared with another one is not the step line.
_LEAST_SHARE = 0.05
_MANY = 30
_UNNUMBERED_VALUE = 0.5
_EVALUATED_SURE = 0.6
# Of a training that prints nothing else, its checkpoints, with timestamps: at least so many.
_SAVED_AT = re.compile(
    r"^(?:.{0,60}\b(?:checkpoint|ckpt|model|weights)\b.{0,60}\bsav(?:ed|ing)"
    r"|sav(?:ed|ing)\b.{0,60}(?:checkpoint|ckpt|model)) "
    r"(?:at|after|for) (?:the )?"
)
_LEAST_SAVED, _SAVED_NAMED, _SAVED_SURE = 5, 0.75, 0.75
_MOST_EPOCHS = 100_000  # what goes up faster is called epoch and counts something else
_LENT_SURE = 0.7  # times the confidence in timestamps of their own
_METRIC_KEY = re.compile(r"(?:^|[_ /])(?:loss\w*|lr|learning_rate|accuracy|acc|ppl|rewards?|returns?)$")
_MOSTLY = 0.8
_NEARLY_ALL = 0.6
_VERY_MANY = 1000
_NEARLY_ALL_SURE = 0.6, 0.85  # of the steps, with times; without them, where there is less to be wrong about
# Counts of the optimizer's work; those of an environment's or a data set's go up much faster.
_UPDATES = re.compile(r"^(?!.*(?:time|env|global|total|frame|warm|max)).*(?:steps?|updates?|iters?|iterations?)$")
_UNIX = {"unix_s": (1.2e9, 2.2e9), "unix_ms": (1.2e12, 2.2e12)}


class Candidate(NamedTuple):
    """A kind of line read as the step line."""

    kind: Kind
    counter: Counter
    entries: list[SeenLine]
    numbers: list[int]  # line numbers of all its lines, including those that are not in `entries`
    rows: StepLines
    moment: tuple[int, str] | None  # the field that holds a timestamp inside the line, and its group
    clock: Choice | Doubt | None
    step_sure: float
    value: float
    companion: Companion | None = None  # another kind of line of the same record, which holds the time


def find_candidates(found: SortedKinds) -> list[Candidate]:
    """The kinds of line that may be the step line, with their clocks: the few likeliest."""
    has_metrics = any(
        len(kind.numbers) >= 3 and any(_METRIC_KEY.search(field.key) for field in kind.shape.fields)
        for kind in found.kinds
    )
    counted: list[tuple[float, Kind, Counter]] = []
    most = 0  # lines of one kind that count something, training or not
    for kind in _likely(found.kinds):
        if len(kind.entries) < LEAST_ROWS or len(counted) >= MAX_KINDS:
            continue
        counter = find_counter(kind)
        if counter is None or kind.is_evaluation or kind.is_settings:
            continue
        counter = _with_headings(kind, counter, found)
        most = max(most, len(kind.numbers))
        # A bar, or a line with the time alone, says nothing of training itself, but other lines of its log may.
        is_other = has_metrics and len(kind.numbers) >= _MANY and (counter.total is not None or counter.weight >= 0.9)
        is_known = kind.is_training or is_other or _is_nearly_all(kind, found) or counter.has_share
        if not is_known or len(kind.numbers) < _LEAST_SHARE * most:
            continue
        sure = min(0.95, counter.weight) * _likeness(kind)
        if counter.weight < 0.7 and len(kind.entries) < 2 * LEAST_ROWS:
            continue
        many = 0.7 + 0.3 * min(1.0, math.log10(len(kind.numbers)) / 2)
        counted.append((sure * many, kind, counter))
    counted.sort(key=lambda item: -item[0])
    timed = [_time(kind, counter, value, found) for value, kind, counter in counted[:_TRIED]]
    if any(isinstance(candidate.clock, Choice) for candidate in timed):
        return timed
    return [*timed, *_unnumbered(found), *_evaluated_epochs(found)] or _saved_steps(found)


def contradicted_by_epochs(best: Candidate, candidates: Sequence[Candidate]) -> Candidate:
    """The best candidate, or the lines with each epoch's own total where those contradict the times of its steps.

    `Epoch 1[1616/5011]: time 0.31` and `Epoch 1 ends, total 98 s`: what counts to 5,011 are no steps of 0.31 s.
    """
    pace_s, at = _own_pace(best), best.counter.total
    if pace_s is None or at is None or best.counter.batch is None or best.clock is None:
        return best
    length = float(median([_float(entry.shape.fields[at].text) for entry in best.kind.entries]))
    for other in candidates:
        epoch_s = _own_pace(other) if other.counter.counts_epochs else None
        if epoch_s is None or _has_only_validation_losses(other.kind):
            continue
        if best.counter.epochs_seen > _PER_EPOCH * len(other.kind.numbers):
            continue
        if not _LEAST_OF_EPOCH < epoch_s / (pace_s * length) < _MOST_OF_EPOCH:
            return other
    return best


def _has_only_validation_losses(kind: Kind) -> bool:
    """Whether each loss of a line is an evaluation's: so is its time then, and not the epoch's."""
    losses = [field.key.replace("_", " ") for field in kind.shape.fields if "loss" in field.key]
    return bool(losses) and all(EVALUATION.search(key) for key in losses)


def _own_pace(candidate: Candidate) -> float | None:
    """Seconds of a step as a figure on its line says, with nothing else in the log to confirm it."""
    clock = candidate.clock
    is_figure = isinstance(clock, Choice) and clock.meaning is not None and clock.meaning.reading == "step"
    if not is_figure or not isinstance(clock, Choice) or clock.meaning is None or clock.reason in _CONFIRMED:
        return None
    return clock.meaning.pace_s


def _with_headings(kind: Kind, counter: Counter, found: SortedKinds) -> Counter:
    """The counter as one of batches, where it starts again below lines that number the epochs: `Epoch 3/10`."""
    at = counter.batch if counter.step is None else counter.step
    if at is None or counter.epoch is not None or counter.total is None or counter.counts_epochs:
        return counter
    stretches = stretches_between(kind, at)
    if len(stretches) < _LEAST_HEADINGS or find_epoch_line(kind.numbers[0], stretches, found, kind) is None:
        return counter
    if counter.step is not None:
        return of_headed_epochs(kind, counter) or counter
    return counter._replace(weight=max(counter.weight, _HEADED))


def _likely(kinds: list[Kind]) -> list[Kind]:
    """The most frequent kinds, and those of the rest that count by their word: printed tensors are many kinds."""
    rare = (kind for kind in kinds[MAX_KINDS * 4 :] if len(kind.entries) >= LEAST_ROWS)
    return [*kinds[: MAX_KINDS * 4], *(kind for kind in rare if names_a_count(kind))]


def _unnumbered(found: SortedKinds) -> list[Candidate]:
    """Lines with a loss, a time and no number, where no lines with a number have a time."""
    for kind in found.kinds[:MAX_KINDS]:
        counter = None if kind.is_evaluation or kind.is_settings else count_lines(kind)
        if counter is not None:
            candidate = _time(kind, counter, _UNNUMBERED_VALUE, found)
            return [candidate] if isinstance(candidate.clock, Choice) else []
    return []


def _evaluated_epochs(found: SortedKinds) -> list[Candidate]:
    """Lines of evaluations that number the epochs, where nothing else counts: one row per epoch."""
    for kind in found.kinds[:MAX_KINDS]:
        if len(kind.entries) < LEAST_ROWS or not kind.is_evaluation or kind.is_settings:
            continue
        counter = find_counter(kind)
        if counter is not None and counter.counts_epochs and int(counter.numbers.max()) < _MOST_EPOCHS:
            candidate = _time(kind, counter, _UNNUMBERED_VALUE, found)
            if isinstance(candidate.clock, Choice):
                return [candidate._replace(step_sure=_EVALUATED_SURE)]
    return []


def _saved_steps(found: SortedKinds) -> list[Candidate]:
    """Stamped lines of checkpoints that number the steps, where nothing else counts: a row per checkpoint."""
    for kind in found.kinds[:MAX_KINDS]:
        keys = [_SAVED_AT.sub("", field.key) for field in kind.shape.fields]
        if len(kind.entries) < _LEAST_SAVED or kind.is_settings or keys == [field.key for field in kind.shape.fields]:
            continue
        fields = tuple(field._replace(key=key) for field, key in zip(kind.shape.fields, keys, strict=True))
        first = kind.entries[0]._replace(shape=kind.shape._replace(fields=fields))
        counter = find_counter(kind._replace(entries=[first, *kind.entries[1:]]))
        if counter is None or counter.step is None or counter.weight < _SAVED_NAMED:
            continue
        candidate = _time(kind, counter, _UNNUMBERED_VALUE, found)
        if isinstance(candidate.clock, Choice) and candidate.clock.covers == "stamp":
            return [candidate._replace(step_sure=_SAVED_SURE)]
    return []


def _is_nearly_all(kind: Kind, found: SortedKinds) -> bool:
    """Whether a log consists of such lines, each with a count and a fraction: what else should it be.

    Without timestamps it takes very many of them.
    """
    if len(kind.numbers) < max(_MANY, _NEARLY_ALL * found.num_lines):
        return False
    has_fraction = any("." in field.text for field in kind.shape.fields if field.kind == "number")
    is_stamped = all(entry.t_ns is not None for entry in kind.entries[:_MANY])
    return has_fraction and (is_stamped or len(kind.numbers) >= _VERY_MANY)


def _likeness(kind: Kind) -> float:
    """How much a line looks like one of a training: it has a loss, or at least another word of training."""
    if any("loss" in field.key for field in kind.shape.fields):
        return 1.0
    return 0.8 if kind.is_training else 0.6


def _time(kind: Kind, counter: Counter, value: float, found: SortedKinds) -> Candidate:
    kinds = [kind, *(_siblings(kind, counter, found) if counter.loss is None else ())]
    entries = _once(sorted((entry for own in kinds for entry in own.entries), key=lambda entry: entry.number))
    numbers = sorted(number for own in kinds for number in own.numbers)
    fields = kind.shape.fields
    texts = [_texts(kind, entry) for entry in entries]
    moment, t_ns, resolution = _moments(kind, entries, texts, found.resolution_ns)
    is_lent = not np.isfinite(t_ns).any()
    if is_lent:
        t_ns, resolution = _lent_moments(entries, found)
    steps = _numbers(counter, texts)
    taken = {
        index
        for index in (counter.step, counter.epoch, counter.batch, counter.total, counter.epochs)
        if index is not None
    }
    if moment is not None:
        taken.add(moment[0])
    own = counter.batch if counter.batch is not None else counter.step
    if counter.step is not None:
        totals = None if counter.total is None else np.array([_float(row[counter.total]) for row in texts])
        counter = counter._replace(first_step=first_number(steps, totals))
    left = np.full(len(entries), math.nan)
    if counter.total is not None and own is not None:
        left = np.array([_float(row[counter.total]) - _float(row[own]) for row in texts])
        left[left <= 0] = math.nan
    rows = StepLines(
        steps,
        t_ns,
        left,
        _resets(counter, steps, texts),
        resolution,
        counter.counts_epochs,
        counter.is_abbreviated,
        num_updates=_num_updates(fields, texts, taken),
        interrupted=np.diff([entry.number for entry in entries], prepend=entries[0].number - 2) > 1,
        run_s=_stated_run_s(found, after=numbers[-1]),
    )
    clock = choose(find_columns(fields, kind.shape.texts, texts, taken), rows)
    companion = None
    if isinstance(clock, Choice) and clock.covers == "stamp" and is_lent:
        clock = clock._replace(confidence=round(clock.confidence * _LENT_SURE, 2))
    elif not isinstance(clock, Choice) and counter.loss is None:
        companion = find_companion([entry.number for entry in entries], rows, kinds, found)
        clock = companion.clock if companion is not None else clock
    if clock is None and counter.loss is None:
        clock = work_clock(kind, texts, rows, found)
    sure = min(0.95, counter.weight) * (1.0 if kind.is_training else 0.8)
    if counter.loss is None and _is_nearly_all(kind, found):
        sure = max(sure, _NEARLY_ALL_SURE[clock is None])
    # The kind that counts best is the step line, even where its time is in doubt: the time of another kind would
    # answer another question.
    timed = 1.0 if isinstance(clock, Choice) else 0.9 if isinstance(clock, Doubt) else 0.7
    return Candidate(kind, counter, entries, numbers, rows, moment, clock, sure, value * timed, companion)


def _stated_run_s(found: SortedKinds, *, after: int) -> float:
    """What a line after the last step says that the whole run took; 0 where none does, or two disagree."""
    last = (entry for kind in found.kinds if kind.numbers[-1] > after for entry in kind.entries)
    stated = {told[1] for entry in last if entry.number > after and (told := parse_runtime(entry.text)) is not None}
    return stated.pop() if len(stated) == 1 else 0.0


def _once(entries: list[SeenLine]) -> list[SeenLine]:
    """The lines without those that two handlers print, where only one of them prints a timestamp."""
    if all((entry.t_ns is None) == (entries[0].t_ns is None) for entry in entries):
        return entries
    copies = {
        bare.number
        for pair in pairwise(entries)
        for bare, stamped in (pair, pair[::-1])
        if bare.t_ns is None and stamped.t_ns is not None and bare.text == stamped.text
    }
    return [entry for entry in entries if entry.number not in copies]


def _num_updates(fields: Sequence[Field], texts: list[list[str]], taken: set[int]) -> float:
    """By how much the fastest count of updates went up, the step's own aside; 0 without one."""
    most = 0.0
    for index, field in enumerate(fields):
        if index not in taken and field.kind == "number" and _UPDATES.search(field.key):
            most = max(most, _float(texts[-1][index]) - _float(texts[0][index]))
    return most


def _siblings(kind: Kind, counter: Counter, found: SortedKinds) -> list[Kind]:
    """Other kinds whose lines begin alike and count the steps that these leave out."""
    upto = counter.at + 1
    own = {_number_of(counter, entry) for entry in kind.entries}
    siblings = []
    for other in found.kinds:
        if other is kind or other.skeleton[:upto] != kind.skeleton[:upto] or len(other.shape.fields) < upto:
            continue
        if other.is_evaluation or other.is_training != kind.is_training:
            continue
        extra = [entry for entry in other.entries if _number_of(counter, entry) is not None]
        repeated = sum(_number_of(counter, entry) in own for entry in extra)
        if len(extra) == len(other.entries) and repeated <= 0.2 * len(extra):
            siblings.append(other)
    return siblings


def _number_of(counter: Counter, entry: SeenLine) -> tuple[int | None, ...] | None:
    indices = [index for index in (counter.epoch, counter.batch, counter.step) if index is not None]
    numbers = tuple(whole(entry.shape.fields[index].text) for index in indices)
    return None if None in numbers else numbers


def _texts(kind: Kind, entry: SeenLine) -> list[str]:
    """The texts of a line's fields in the order of its kind; empty where a line of another kind lacks one."""
    fields = entry.shape.fields
    if entry.shape.skeleton == kind.skeleton:
        return [field.text for field in fields]
    texts = []
    for index, wanted in enumerate(kind.shape.fields):
        same = entry.shape.skeleton[: index + 1] == kind.skeleton[: index + 1]
        found = fields[index] if same and index < len(fields) else _like(wanted, fields)
        texts.append(found.text if found else "")
    return texts


def _like(wanted: Field, fields: Sequence[Field]) -> Field | None:
    """The field of the same name; where it has none, of the same unit: `3.12 it/s` after a word that changes."""
    if wanted.key:
        return next((field for field in fields if (field.key, field.kind) == (wanted.key, wanted.kind)), None)
    if not wanted.unit:
        return None
    alike = [field for field in fields if (field.key, field.unit, field.kind) == ("", wanted.unit, wanted.kind)]
    return alike[0] if len(alike) == 1 else None


def _resets(counter: Counter, steps: Floats, texts: list[list[str]]) -> np.ndarray:
    """Between which lines a clock may start again: where the count goes back, or another epoch begins."""
    if counter.step is not None or counter.batch is None or counter.epoch is not None:
        return np.asarray(np.diff(steps) < 0)
    return np.asarray(np.diff([_float(row[counter.batch]) for row in texts]) < 0)


def _numbers(counter: Counter, texts: list[list[str]]) -> Floats:
    if counter.loss is not None:
        return np.arange(1.0, len(texts) + 1)
    if counter.step is not None:
        return np.array([_float(row[counter.step]) for row in texts])
    assert counter.batch is not None
    batch = np.array([_float(row[counter.batch]) for row in texts])
    if counter.epoch is None:
        epoch = counter.first_epoch + np.concatenate([[0.0], np.cumsum(np.diff(batch) < 0)])
    else:
        epoch = np.array([_float(row[counter.epoch]) for row in texts])
    if counter.total is not None:
        length = float(median([_float(row[counter.total]) for row in texts]))
    else:
        ends = batch[:-1][np.diff(batch) < 0]
        length = float(median(ends)) if len(ends) else float(batch.max()) + 1
    numbers: Floats = (epoch - counter.first_epoch) * length + batch
    return numbers


def _float(text: str) -> float:
    value = whole(text)
    return math.nan if value is None else float(value)


def _moments(
    kind: Kind, entries: list[SeenLine], texts: list[list[str]], resolution_ns: int
) -> tuple[tuple[int, str] | None, Floats, int]:
    """The timestamps of the lines: before them, or inside."""
    t_ns = np.array([math.nan if entry.t_ns is None else float(entry.t_ns) for entry in entries])
    if np.isfinite(t_ns).mean() > 0.8:
        return None, t_ns - np.nanmin(t_ns), resolution_ns
    for index, field in enumerate(kind.shape.fields):
        if field.kind == "stamp" or _is_time_of_day(kind, index):
            days = Days()
            stamps = [days.take(prefix) if (prefix := split_prefix(f"{row[index]} ")) else None for row in texts]
            inside = np.array([math.nan if stamp is None else float(stamp) for stamp in stamps])
            if np.isfinite(inside).mean() > 0.8:
                return (index, "stamp"), inside - np.nanmin(inside), days.resolution_ns
        elif field.kind == "number" and not field.unit:
            values = np.array([_seconds(row[index]) for row in texts])
            for group, (low, high) in _UNIX.items():
                scale = NS if group == "unix_s" else NS // 1000
                if ((values > low) & (values < high)).all():
                    has_decimals = group == "unix_ms" or "." in field.text
                    return (index, group), (values - values.min()) * scale, NS // 1000 if has_decimals else NS
    return None, np.full(len(entries), math.nan), 0


def _lent_moments(entries: list[SeenLine], found: SortedKinds) -> tuple[Floats, int]:
    """The timestamps of the last lines before each that have one, where nearly every line has a new one before it."""
    unknown = np.full(len(entries), math.nan)
    if not found.stamps:
        return unknown, 0
    at = np.searchsorted([number for number, _ in found.stamps], [entry.number for entry in entries]) - 1
    is_new = at > np.concatenate([[-1], at[:-1]])
    if is_new.mean() < _MOSTLY:
        return unknown, 0
    moments = np.array([float(t_ns) for _, t_ns in found.stamps])
    lent = np.where(is_new, moments[np.maximum(at, 0)], math.nan)
    return lent - np.nanmin(lent), found.resolution_ns


def _is_time_of_day(kind: Kind, index: int) -> bool:
    """A clock right after a date of another form than the prefix reader knows: `21-09-27 21:26:52`."""
    texts, field = kind.shape.texts, kind.shape.fields[index]
    return field.kind == "clock" and index >= 2 and texts[index].isspace() and texts[index - 1] in {"-", "/", "."}


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
