"""The line that names the epoch of the batches after it, where the lines of the batches do not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np

from stepscope.infer.candidate import MAX_KINDS, Candidate
from stepscope.infer.counter import EPOCH, STROKE, whole
from stepscope.infer.kinds import Kind, SortedKinds
from stepscope.infer.patterns import write_pattern
from stepscope.lines.format import Line

_MOSTLY = 0.8


class EpochLine(NamedTuple):
    """The line as one of a format, and the number of the first epoch."""

    line: Line
    first: int


def find_epoch_line(best: Candidate, found: SortedKinds) -> EpochLine | None:
    """The kind of line that is printed before each epoch's batches and numbers it; None where there is none."""
    batch = best.counter.batch
    if batch is None:
        return None
    values = [whole(entry.shape.fields[batch].text) or 0 for entry in best.kind.entries]
    numbers = [entry.number for entry in best.kind.entries]
    falls = np.flatnonzero(np.diff(values) < 0).tolist()
    stretches = [(numbers[at], numbers[at + 1]) for at in falls]
    for kind in found.kinds[:MAX_KINDS]:
        at = None if kind is best.kind or kind.is_evaluation or kind.is_settings else _epoch_field(kind)
        if at is None or not stretches or _share_between(kind, stretches) < _MOSTLY:
            continue
        # Where several lines name the epoch, the one right before its first batch does not speak of the last one.
        epochs = [whole(entry.shape.fields[at].text) or 0 for entry in kind.entries]
        groups = {at: "epoch"} | ({at + 1: "epochs"} if _has_total(kind, at) else {})
        return EpochLine(Line("fact", write_pattern([kind.shape], groups, anchor=max(groups))), min(1, *epochs))
    return None


def _epoch_field(kind: Kind) -> int | None:
    """The whole number of a line that is called an epoch."""
    for index, field in enumerate(kind.shape.fields):
        if EPOCH.search(field.key) and all(whole(entry.shape.fields[index].text) is not None for entry in kind.entries):
            return index
    return None


def _has_total(kind: Kind, at: int) -> bool:
    """Whether the number of all epochs follows."""
    return at + 1 < len(kind.shape.fields) and STROKE.match(kind.shape.texts[at + 1]) is not None


def _share_between(kind: Kind, stretches: list[tuple[int, int]]) -> float:
    """In how many of the stretches between two epochs' batches a line of the kind is."""
    hits = sum(bisect_left(kind.numbers, last) < bisect_right(kind.numbers, first) for last, first in stretches)
    return hits / len(stretches)
