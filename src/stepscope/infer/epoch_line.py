"""The line that names the epoch of the batches after it, where the lines of the batches do not."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepscope.infer.counter import EPOCH, STROKE, whole
from stepscope.infer.kinds import MAX_KINDS, Kind, SortedKinds
from stepscope.infer.patterns import write_pattern
from stepscope.lines.format import Line

_MOSTLY = 0.8
# `This is the 8-th epoch`
_ORDINAL = re.compile(r"-?(?:st|nd|rd|th)[ -]epoch\b")


class EpochLine(NamedTuple):
    """The line as one of a format, and the number of the first epoch."""

    line: Line
    first: int


def find_epoch_line(
    first: int, stretches: Sequence[tuple[int, int]], found: SortedKinds, own: Kind | None
) -> EpochLine | None:
    """The kind of line that is printed before each epoch's batches and numbers it; None where there is none.

    first: the number of the first line of a batch
    stretches: the numbers of the last line of one epoch and of the first of the next
    own: the kind of the batches' lines
    """
    for kind in found.kinds[:MAX_KINDS]:
        at = None if kind is own or kind.is_evaluation or kind.is_settings else _epoch_field(kind)
        if at is None or not stretches or _share_between(kind, stretches) < _MOSTLY:
            continue
        if kind.numbers[0] > first:
            continue  # what is printed after an epoch speaks of that one
        epochs = [whole(entry.shape.fields[at].text) or 0 for entry in kind.entries]
        groups = {at: "epoch"} | ({at + 1: "epochs"} if _has_total(kind, at) else {})
        return EpochLine(Line("fact", write_pattern([kind.shape], groups, anchor=max(groups))), min(1, *epochs))
    return None


def stretches_between(kind: Kind, batch: int) -> list[tuple[int, int]]:
    """Where the batches of one epoch end and those of the next begin, by the field `batch` of their lines."""
    values = [whole(entry.shape.fields[batch].text) or 0 for entry in kind.entries]
    numbers = [entry.number for entry in kind.entries]
    return [(numbers[at], numbers[at + 1]) for at in np.flatnonzero(np.diff(values) < 0).tolist()]


def _epoch_field(kind: Kind) -> int | None:
    """The whole number of a line that is called an epoch."""
    for index, field in enumerate(kind.shape.fields):
        is_epoch = EPOCH.search(field.key) or _ORDINAL.match(kind.shape.texts[index + 1])
        if is_epoch and all(whole(entry.shape.fields[index].text) is not None for entry in kind.entries):
            return index
    return None


def _has_total(kind: Kind, at: int) -> bool:
    """Whether the number of all epochs follows: `3/600`, and in brackets `[3 | 600]` too."""
    texts = kind.shape.texts
    if at + 1 >= len(kind.shape.fields):
        return False
    in_brackets = texts[at].endswith("[") and texts[at + 1].strip() == "|" and texts[at + 2].startswith("]")
    return in_brackets or STROKE.match(texts[at + 1]) is not None


def _share_between(kind: Kind, stretches: Sequence[tuple[int, int]]) -> float:
    """In how many of the stretches between two epochs' batches a line of the kind is."""
    hits = sum(bisect_left(kind.numbers, last) < bisect_right(kind.numbers, first) for last, first in stretches)
    return hits / len(stretches)
