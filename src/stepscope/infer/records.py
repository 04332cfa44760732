"""Records of several lines: the step is numbered on one kind of line, and another kind holds its time.

Both kinds alternate, so each line with a time belongs to one with a number: the next one or the one before.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.infer.choice import Choice, Doubt
from stepscope.infer.clock_choice import choose
from stepscope.infer.count_of_run import LEAST_ROWS
from stepscope.infer.figure_meaning import CONFIDENCE
from stepscope.infer.kinds import Kind, SeenLine, SortedKinds
from stepscope.infer.step_rows import StepLines
from stepscope.infer.time_figures import Floats, Meaning, TimeColumn, find_columns

_LOOKED_AT = 80
_REGULAR = 0.8
_ALONE = 0.9  # of the lines with a time: they are the only one between two steps


# Lines that time something else than steps.
_OTHER_WORK = re.compile(r"(?i)(?<![a-z])(?:sav\w*|checkpoint\w*|ckpt|load\w*|download\w*|restor\w*|compil\w*|init\w*)")


class Companion(NamedTuple):
    """A kind of line that holds the time of the steps numbered on another; before that line or after it."""

    kind: Kind
    is_ahead: bool
    clock: Choice
    batches: tuple[int, str] | None = (
        None  # the field and the text of `300/300`: all batches of an epoch, where the steps are epochs
    )


def find_companion(
    numbers: Sequence[int], rows: StepLines, own: Sequence[Kind], found: SortedKinds
) -> Companion | None:
    """The kind of line that times the steps on the lines with these numbers; None where there is none."""
    companions: list[Companion] = []
    for kind in found.kinds[:_LOOKED_AT]:
        if any(kind is other for other in own) or len(kind.entries) < LEAST_ROWS or kind.is_settings:
            continue
        if kind.is_evaluation or _OTHER_WORK.search(kind.words):
            continue
        companion = _companion(kind, numbers, rows)
        if companion is not None:
            companions.append(companion)
    # Of times that are as sure, the longest is the whole, and the others are its parts.
    return max(companions, key=lambda companion: (companion.clock.confidence, _pace_s(companion)), default=None)


def _pace_s(companion: Companion) -> float:
    return companion.clock.meaning.pace_s if companion.clock.meaning is not None else 0.0


def _companion(kind: Kind, numbers: Sequence[int], rows: StepLines) -> Companion | None:
    placed = _place(kind, numbers, rows.steps)
    if placed is None:
        return None
    entries, at, is_ahead = placed
    texts = [[field.text for field in entry.shape.fields] for entry in entries]
    columns = find_columns(kind.shape.fields, kind.shape.texts, texts, set())
    # `s:250 tel:3.1` between steps 249 and 250: the same count again, no time.
    columns = [column for column in columns if not _is_count(column, rows.steps[at])]
    if rows.counts_epochs:
        columns = [column for column in columns if "/" not in column.field.unit]  # `3s/step` times no epoch
    if not any(column.readings != ("left",) for column in columns):
        return None
    steps = rows.steps[at]
    unknown = np.full(len(steps), math.nan)
    own = StepLines(steps, unknown, unknown, np.diff(steps) < 0, 0, rows.counts_epochs, is_abbreviated=False)
    clock = choose(columns, own)
    if isinstance(clock, Doubt):
        clock = _of_all_since(clock.column, own, np.diff(at))
    elif isinstance(clock, Choice) and clock.meaning is not None and clock.meaning.reading == "step":
        # By itself it could be one step's; printed so much less often than the steps, it is hardly that.
        is_weak = clock.reason in {"spacing", "growth", "unit", "name", "size"}
        clock = (_of_all_since(clock.meaning.column, own, np.diff(at)) if is_weak else None) or clock
    if not isinstance(clock, Choice) or clock.meaning is None:
        return None
    batches = _whole_epoch(kind, texts) if rows.counts_epochs and not is_ahead else None
    if batches is not None and clock.covers == "step":
        clock = clock._replace(covers="window", is_total=True)
    return Companion(kind, is_ahead, clock, batches)


def _is_count(column: TimeColumn, steps: Floats) -> bool:
    """Whether a figure is the number of the step that it is printed next to."""
    return bool((np.abs(column.values - steps) <= 1).mean() >= _REGULAR)


def _whole_epoch(kind: Kind, texts: Sequence[Sequence[str]]) -> tuple[int, str] | None:
    """The field of a count that has reached its total on every line, `300/300`, and the usual total."""
    for at, between in enumerate(kind.shape.texts[1:-1]):
        if between == "/" and all(row[at] == row[at + 1] and row[at].isdecimal() for row in texts):
            return at, Tally(row[at] for row in texts).most_common(1)[0][0]
    return None


def _place(kind: Kind, numbers: Sequence[int], steps: Floats) -> tuple[list[SeenLine], list[int], bool] | None:
    """The lines of a kind with the place of the step of each; None where they do not alternate with the steps."""
    # Of many steps only the first are looked at; one line may follow the last of them.
    within = bisect_left([entry.number for entry in kind.entries], numbers[-1]) + 1
    seen = kind.entries[:within]
    gaps = [bisect_left(numbers, entry.number) for entry in seen]
    if len(set(gaps)) < _ALONE * len(gaps) or len(set(gaps)) < LEAST_ROWS:
        return None
    before = [steps[gap - 1] for gap in gaps if gap]
    if not _is_regular(gaps) and not (np.isfinite(before).all() and _is_regular([int(step) for step in before])):
        return None
    is_ahead = _is_ahead(seen, numbers, gaps, steps)
    pairs = [(entry, gap if is_ahead else gap - 1) for entry, gap in zip(seen, gaps, strict=True)]
    kept = [(entry, at) for entry, at in pairs if 0 <= at < len(numbers)]
    if len(kept) < LEAST_ROWS:
        return None
    return [entry for entry, _ in kept], [at for _, at in kept], is_ahead


def _is_regular(places: Sequence[int]) -> bool:
    """Whether places are equally far apart, or a multiple of that where pieces of the log are left out between them."""
    apart = [after - before for before, after in pairwise(places)]
    usual = Tally(apart).most_common(1)[0][0] if apart else 0
    return usual > 0 and sum(one > 0 and one % usual == 0 for one in apart) >= _REGULAR * len(apart)


def _is_ahead(seen: Sequence[SeenLine], numbers: Sequence[int], gaps: Sequence[int], steps: Floats) -> bool:
    """Whether the lines belong to the step that follows them.

    One for every step: whichever comes first in the log begins the record. Less often: the rounder step is theirs
    (every 1,000th), or the nearer.
    """
    if len(set(gaps)) > _ALONE * (gaps[-1] - gaps[0]):
        return gaps[0] == 0
    inner = [(entry.number, gap) for entry, gap in zip(seen, gaps, strict=True) if 0 < gap < len(numbers)]
    if not inner:
        return gaps[0] == 0
    every = float(median(np.diff([steps[gap] for _, gap in inner]))) if len(inner) > 1 else 0.0
    if every > 1:
        is_round = [float(np.mean([steps[gap + move] % every == 0 for _, gap in inner])) for move in (-1, 0)]
        if max(is_round) >= _REGULAR and min(is_round) < 1 - _REGULAR:
            return is_round[1] > is_round[0]
    before = float(median([number - numbers[gap - 1] for number, gap in inner]))
    after = float(median([numbers[gap] - number for number, gap in inner]))
    return after < before if after != before else gaps[0] == 0


def _of_all_since(column: TimeColumn, rows: StepLines, apart: np.ndarray) -> Choice | None:
    """A duration on a line that is printed less often than the steps is that of all steps since the last such line."""
    if float(median(apart)) <= 1 or column.unit_s is None or "interval" not in column.readings:
        return None
    pace = float(np.nanmedian(column.values)) * column.unit_s / max(1.0, float(median(rows.since)))
    meaning = Meaning(column, "interval", column.unit_s, "spacing", CONFIDENCE["size"], pace)
    return Choice("window", meaning, "spacing", CONFIDENCE["size"], is_total=True)
