"""A number that counts the steps through the whole run; its total may follow a slash, or its share in percent."""

from __future__ import annotations

import math
import re
from collections import Counter as Tally

import numpy as np

from stepscope.columns.statistics import median
from stepscope.infer.count_of_epochs import of_nameless_epochs
from stepscope.infer.counter import (
    EPOCH,
    NAMED,
    CountColumn,
    Counter,
    Ints,
    first_number,
    total_after,
    values_of,
    weigh,
)
from stepscope.infer.kinds import Kind, SeenLine

_TRAIN_LOSS = re.compile(r"(?:^|[_ ])(?:train(?:ing)?|batch|mean|avg)?[_ ]?loss$")
_IN_TRAINING = re.compile(r"(?i)\]:? train(?:ing)?\b")  # `[500] train: loss=…`
LEAST_SHARES = 3
_COUNTS_AFTER = re.compile(r"(?i)(?:st|nd|rd|th)?[ _](?:epoch|step|iteration)(?![A-Za-z])")  # `3 epoch loss=…`
_LEAST_DIFFERENT = 3  # numbers of a count that starts again
_TWICE = 0.55  # of the moves of a count whose lines are all printed twice: they repeat it
_ON_SEVERAL = 0.8  # times as sure of epochs that stand on several lines each: others may say more of them
LEAST_ROWS = 4
MOSTLY = 0.8


def through_the_run(kind: Kind, column: CountColumn, columns: list[CountColumn]) -> Counter | None:
    """The counter of a column that goes on through the run, else None."""
    values, num_different = column.values, len(set(column.values.tolist()))
    if num_different < _LEAST_DIFFERENT:
        return None
    steps = np.diff(values)
    downs, ups = int((steps < 0).sum()), int((steps > 0).sum())
    total = total_after(kind, column, columns)
    has_share = _has_share(kind, column)
    # Behind the time that has passed, as a logger may print it: `0:00:47 -   200 - 256.7 equations/s`.
    is_first = all(field.kind in {"clock", "stamp"} and not field.key for field in kind.shape.fields[: column.at])
    weight = weigh(column, has_total=total is not None or has_share, at_start=is_first)
    after = kind.shape.texts[column.at + 1]
    if (
        (column.at == 0 and _IN_TRAINING.match(after))
        or (is_first and _COUNTS_AFTER.match(after))
        or _numbers_a_loss(kind, column)
    ):
        weight = max(weight, NAMED)
    is_abbreviated = any(entry.shape.fields[column.at].text[-1:] in "KM" for entry in kind.entries)
    is_epoch = bool(EPOCH.search(column.field.key))
    if total is not None and weight and not is_epoch and _restarts_often(values, steps):
        return of_nameless_epochs(column, total, columns, weight)
    is_on_several = is_epoch and total is not None and _is_even(values)
    if (
        not weight
        or num_different < LEAST_ROWS
        or (downs > 0.02 * len(steps) + 2 and not (is_epoch and _starts_again(values, steps)))
        or downs * 3 > ups
        or (not is_abbreviated and ups < 0.3 * len(steps) and not is_on_several)
    ):
        return None
    if weight < NAMED and not _is_regular(steps):
        return None  # without a word that says step, the number must at least grow like one
    if is_on_several and ups < 0.3 * len(steps):
        weight *= _ON_SEVERAL
    same_end = downs >= 2 and len({int(value) for value in values[:-1][steps < 0]}) == 1
    if same_end and total is None and not is_epoch:
        weight *= 0.5  # the count starts again at the same number each time: epochs, and no line says which
    return Counter(
        step=column.at,
        epoch=None,
        batch=None,
        total=total,
        epochs=None,
        numbers=values,
        first_step=first_number(values, None if total is None else values_of(columns, total)),
        first_epoch=0,
        key=column.field.key,
        weight=weight,
        counts_epochs=is_epoch,
        is_abbreviated=is_abbreviated,
        has_share=has_share,
    )


def _numbers_a_loss(kind: Kind, column: CountColumn) -> bool:
    """`Train loss 12 33.118`: behind the word comes the step's number, and then the loss itself, without a name."""
    fields, after = kind.shape.fields, column.at + 1
    if not _TRAIN_LOSS.search(column.field.key) or after >= len(fields) or fields[after].key or fields[after].unit:
        return False
    shows_decimals = all("." in entry.shape.fields[after].text for entry in kind.entries if _is_finite(entry, after))
    return shows_decimals and not kind.shape.texts[after].strip(" :") and _is_regular(np.diff(column.values))


def _is_finite(entry: SeenLine, at: int) -> bool:
    return bool(math.isfinite(_share(entry.shape.fields[at].text)))


def _has_share(kind: Kind, column: CountColumn) -> bool:
    """Whether a percentage follows a number and is its share of a total that no line prints: `(5000 6%)`."""
    at = column.at + 1
    fields = kind.shape.fields
    if at >= len(fields) or fields[at].unit != "%" or kind.shape.texts[at].strip(" :-,("):
        return False
    shares = np.array([_share(entry.shape.fields[at].text) for entry in kind.entries])
    if len(shares) < LEAST_SHARES or not np.isfinite(shares).all() or (np.diff(shares) < 0).any():
        return False
    # Each share is rounded down or to the nearest: the totals that all of them allow must overlap.
    places = max(len(entry.shape.fields[at].text.partition(".")[2]) for entry in kind.entries)
    step = 10.0**-places
    least = 100 * column.values / (shares + step)
    most = 100 * column.values / np.maximum(shares - step / 2, 1e-9)
    return bool(least.max() <= most.min()) and float(shares[-1]) > float(shares[0])


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _is_even(values: Ints) -> bool:
    """Whether each number of a count stands on about as many lines as the others, and they go up by one."""
    runs = np.diff(np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1, [len(values)]]))
    moves = np.diff(values)
    inner = runs[1:-1]
    return len(inner) >= 2 and bool((moves[moves != 0] == 1).all()) and int(inner.max()) - int(inner.min()) <= 1


def _restarts_often(values: Ints, steps: Ints) -> bool:
    """Whether a count goes back to its beginning too often for launches: those are epochs, which no number names."""
    downs, ups = steps < 0, steps[steps > 0]
    if int(downs.sum()) <= 0.02 * len(steps) + 2 or len(ups) < int(downs.sum()):
        return False
    if int(downs.sum()) * 3 > len(ups):
        return len(set(values[1:][downs].tolist())) == 1  # few lines of each: all begin with the same number
    return float((values[1:][downs] <= int(values.min()) + 2 * median(ups)).mean()) >= MOSTLY


def _starts_again(values: Ints, steps: Ints) -> bool:
    """Whether a count that falls falls to its beginning, or goes up evenly but for that: other launches, not noise."""
    if _is_regular(steps):
        return True
    after, ups = values[1:][steps < 0], steps[steps > 0]
    falls_far = float((after <= int(values.min()) + 1).mean())
    return falls_far >= MOSTLY and float((ups <= 2 * median(ups)).mean()) > MOSTLY


def _is_regular(steps: Ints) -> bool:
    """Whether a count goes up evenly. A line that two handlers print stands twice, and does not move it."""
    moves = steps[steps != 0] if (steps == 0).sum() <= _TWICE * len(steps) else steps
    ups = moves[moves > 0].tolist()
    return bool(ups) and Tally(ups).most_common(1)[0][1] >= 0.8 * len(moves)
