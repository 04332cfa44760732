"""Lines of one shape that count to two totals in turn, `step 20/614` and `step 20/88`: a training's and a validation's.

The longer count is the training's, as with bars. Lines of the shorter one become a kind of their own.
"""

from __future__ import annotations

import re
from itertools import groupby, pairwise

from stepscope.infer.counter import STROKE, whole
from stepscope.infer.kinds import EVALUATION, Kind, SeenLine, SortedKinds
from stepscope.infer.patterns import write_pattern
from stepscope.lines.format import Line

_LEAST_LINES, _LEAST_TURNS = 8, 3
_PER_BATCH = re.compile(r"(?P<unit>ms|s)/(?:step|it|iter|batch)$")


def split_totals(found: SortedKinds) -> SortedKinds:
    """The kinds, with those that count to two totals in turn split into two."""
    kinds: list[Kind] = []
    for kind in found.kinds:
        parts = _parts(kind)
        kinds += parts or [kind]
    kinds.sort(key=lambda kind: (-len(kind.numbers), kind.numbers[0]))
    return found._replace(kinds=kinds)


def total_at(kind: Kind) -> int | None:
    """The field of the total that a count of a kind of line goes up to: the first whole number behind a stroke."""
    fields = kind.shape.fields
    for at in range(1, len(fields)):
        is_pair = STROKE.match(kind.shape.texts[at]) is not None and fields[at - 1].kind == fields[at].kind == "number"
        if is_pair and whole(fields[at].text) is not None and whole(fields[at - 1].text) is not None:
            return at
    return None


def with_total(pattern: str, kind: Kind) -> str:
    """The pattern of a kind that was split, which takes no other total."""
    if not kind.total:
        return pattern
    return re.sub(r"(\(\?P<(?:batches|total|took_batches)>)[^)]*\)", rf"\g<1>{kind.total})(?!\\d)", pattern)


def validation_line(kind: Kind) -> Line | None:
    """The line of a validation that counts like the training: how far it is, and the mean time of its batches."""
    at = total_at(kind)
    if at is None or not kind.is_validation:
        return None
    groups = {at - 1: "took_batch", at: "took_batches"}
    for index, field in enumerate(kind.shape.fields):
        unit = _PER_BATCH.match(field.unit)
        if unit is not None and index > at:
            groups[index] = "took_mean_ms" if unit["unit"] == "ms" else "took_mean_s"
            break
    return Line("evaluation", with_total(write_pattern([kind.shape], groups, anchor=max(groups)), kind))


def _parts(kind: Kind) -> list[Kind]:
    at = total_at(kind)
    if at is None or len(kind.entries) < _LEAST_LINES or len(kind.entries) != len(kind.numbers):
        return []
    if kind.is_settings or EVALUATION.search(kind.lead):
        return []
    # Where lines of the log are left out, another turn begins.
    keyed = groupby(kind.entries, key=lambda entry: (entry.shape.fields[at].text, entry.piece))
    turns = [(total, list(own)) for (total, _), own in keyed]
    totals = sorted({whole(total) or 0 for total, _ in turns})
    if len(totals) != 2 or len(turns) < _LEAST_TURNS or not all(_counts_up(own, at) for _, own in turns):
        return []
    if not _starts_again([own for _, own in turns], at):
        return []
    parts = []
    for total in totals:
        entries = [entry for text, own in turns if whole(text) == total for entry in own]
        text = entries[0].shape.fields[at].text
        numbers = [entry.number for entry in entries]
        parts.append(kind._replace(entries=entries, numbers=numbers, total=text, is_validation=total == totals[0]))
    return parts


def _counts_up(entries: list[SeenLine], at: int) -> bool:
    counts = [whole(entry.shape.fields[at - 1].text) or 0 for entry in entries]
    return all(before < after for before, after in pairwise(counts))


def _starts_again(turns: list[list[SeenLine]], at: int) -> bool:
    """Whether each turn begins below where the one before it ended, as far as the log shows that."""
    return all(
        (whole(after[0].shape.fields[at - 1].text) or 0) <= (whole(before[-1].shape.fields[at - 1].text) or 0)
        for before, after in pairwise(turns)
        if before[-1].piece == after[0].piece
    )
