"""A number that counts the batches of each epoch, next to the epoch's number or without one."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from stepscope.columns.statistics import median
from stepscope.infer.counter import (
    EPOCH,
    GLOBAL,
    NEVER,
    NOT_NOW,
    CountColumn,
    Counter,
    Ints,
    total_after,
    values_of,
    weigh,
    whole_columns,
)
from stepscope.infer.kinds import Kind

_NAMELESS = 0.9  # times as sure of epochs that are only told apart by their batches


def of_nameless_epochs(column: CountColumn, total: int, columns: list[CountColumn], weight: float) -> Counter:
    """A counter of the batches of epochs that are told apart by their starting again."""
    values = column.values
    epoch = np.concatenate([[0], np.cumsum(np.diff(values) < 0)])
    return Counter(
        step=None,
        epoch=None,
        batch=column.at,
        total=total,
        epochs=None,
        numbers=epoch * int(median(values_of(columns, total))) + values,
        first_step=1,
        first_epoch=1,
        key=column.field.key,
        weight=weight * _NAMELESS,
        epochs_seen=int(epoch[-1]) + 1,
    )


def of_headed_epochs(kind: Kind, counter: Counter) -> Counter | None:
    """A count of steps with a total as one of the batches of epochs."""
    columns = whole_columns(kind)
    own = next((column for column in columns if column.at == counter.step), None)
    if own is None or counter.total is None:
        return None
    return of_nameless_epochs(own, counter.total, columns, counter.weight)


def by_epoch(kind: Kind, columns: list[CountColumn]) -> list[Counter]:
    """Counters that start again with each epoch, next to the epoch's number."""
    found = []
    totals = {total_after(kind, column, columns) for column in columns}
    for batch in columns:
        total = total_after(kind, batch, columns)
        weight = weigh(batch, has_total=total is not None, at_start=False)
        is_bare = not batch.field.key and batch.at > 0 and (total is not None or _follows_bracketed(kind, batch))
        if (weight < 0.6 and not is_bare) or batch.at in totals:
            continue
        for epoch in columns:
            counter = _epoch_and_batch(kind, columns, epoch, batch, weight)
            if counter is not None:
                found.append(counter)
    return found


def _epoch_and_batch(
    kind: Kind, columns: list[CountColumn], epoch: CountColumn, batch: CountColumn, weight: float
) -> Counter | None:
    """The counter of two columns, if one numbers the epochs and the other the batches of each (of this `weight`)."""
    total, epochs = total_after(kind, batch, columns), total_after(kind, epoch, columns)
    is_within = total is not None and epochs is not None and EPOCH.search(epoch.field.key) is not None
    if is_within and total is not None and epochs is not None:
        is_within = _is_within_epoch(epoch, batch, values_of(columns, epochs), values_of(columns, total))
    if epoch.at in {batch.at, total} or not (
        _fits_epoch(epoch, batch, _follow(kind)) or (is_within and _stays(epoch, batch))
    ):
        return None
    is_named = bool(EPOCH.search(epoch.field.key)) or _says_epoch(kind, epoch) or _is_pair(kind, epoch, batch)
    is_named = is_named and not NOT_NOW.search(epoch.field.key)
    if not is_named and (total is None or (epochs is None and not _turns_with(epoch, batch))):
        return None
    length = _epoch_length(batch, total, columns)
    if length is None:
        return None
    first_epoch = 0 if int(epoch.values.min()) == 0 else 1
    starts_again = bool((np.diff(batch.values) < 0).any())
    return Counter(
        step=None,
        epoch=epoch.at,
        batch=batch.at,
        total=total,
        epochs=epochs,
        numbers=(epoch.values - first_epoch) * length + batch.values,
        first_step=0 if int(batch.values.min()) == 0 else 1,
        first_epoch=first_epoch,
        key=batch.field.key or epoch.field.key,
        epochs_seen=int(epoch.values.max()) - first_epoch + 1,
        # Batches that start again just where the epoch goes on can hardly be anything else.
        # So are those of one epoch where both say how far they count, and a count of the run would be further on.
        weight=1.05 if starts_again or (is_within and weight >= 0.8) else 0.95 if is_named and weight >= 0.8 else 0.7,
    )


def _is_within_epoch(epoch: CountColumn, batch: CountColumn, epochs: Ints, totals: Ints) -> bool:
    """Whether `Epoch: 3/30, Step: 10/951` counts the steps of an epoch: those of the run would not be in this one."""
    if (epochs < 2).any() or (totals < 2).any() or GLOBAL.search(batch.field.key):
        return False
    if (epoch.values <= 1).all():
        return True  # in the first epoch a count of the run would say the same; few trainers print one there
    of_run = batch.values / totals * epochs
    return not bool((np.abs(of_run - epoch.values + 0.5) <= 1.0).all())


def _stays(epoch: CountColumn, batch: CountColumn) -> bool:
    """Whether all lines are of one epoch, and its batches go on."""
    return not np.diff(epoch.values).any() and not bool((np.diff(batch.values) < 0).any())


def _turns_with(epoch: CountColumn, batch: CountColumn) -> bool:
    """Whether a number goes up by one just where the batches start again: `iteration:2 step:8/652`."""
    up, down = np.diff(epoch.values), np.diff(batch.values) < 0
    is_before = epoch.at < batch.at and not NEVER.search(epoch.field.key)
    return is_before and int(down.sum()) >= 2 and bool((up == down).all())


def _is_pair(kind: Kind, epoch: CountColumn, batch: CountColumn) -> bool:
    """`[3, 2000]`, `[3, 2000/4440]`: the batches start again just where the number before them goes up by one."""
    if epoch.at != batch.at - 1 or not _follows_bracketed(kind, batch):
        return False
    return int((np.diff(epoch.values) > 0).sum()) > 0 or int(epoch.values[0]) <= 1


def _follows_bracketed(kind: Kind, batch: CountColumn) -> bool:
    """Whether a number comes after a comma and another one that a bracket opens before."""
    texts = kind.shape.texts
    return batch.at > 0 and texts[batch.at].strip() == "," and texts[batch.at - 1].rstrip().endswith(("[", "("))


def _says_epoch(kind: Kind, epoch: CountColumn) -> bool:
    """`in 0 epoch`: the word follows the number, or opens the line."""
    before, after = kind.shape.texts[epoch.at], kind.shape.texts[epoch.at + 1]
    return bool(re.match(r"\s*epochs?\b", after, re.IGNORECASE)) or bool(
        re.search(r"(?i)\b(?:epoch|train)\b\W*(?:train\W*)?$", before)
    )


def _follow(kind: Kind) -> npt.NDArray[np.bool_]:
    """For each two lines of a kind, whether the log has none of that kind between them."""
    pieces = np.array([entry.piece for entry in kind.entries], dtype=np.int64)
    return np.asarray(np.diff(pieces) == 0)


def _fits_epoch(epoch: CountColumn, batch: CountColumn, follow: npt.NDArray[np.bool_]) -> bool:
    """The epoch goes up by one where the batches start again, and stays otherwise."""
    if len(set(batch.values.tolist())) < 3:
        # One line per epoch, at the same batch.
        return len(set(batch.values.tolist())) == 1 and bool((np.diff(epoch.values) >= 0).mean() > 0.9)
    up, down, after = np.diff(epoch.values)[follow], (np.diff(batch.values) < 0)[follow], epoch.values[1:][follow]
    falls = up < 0
    if falls.sum() > 0.02 * len(up) + 2 and (after[falls] > int(epoch.values.min()) + 1).any():
        return False  # not even another launch each time
    if not (np.diff(epoch.values) > 0).any():
        # One epoch only, so far: the batches must not have started again.
        return not down.any() and int(epoch.values[0]) <= 1
    if not up.any() and not down.any():
        # Pieces of a long log, each of one epoch: the batches go on in each, and the epochs from piece to piece.
        return bool(EPOCH.search(epoch.field.key)) and bool((np.diff(epoch.values) >= 0).all())
    return bool((up[down] == 1).sum() >= 0.8 * max(1, down.sum())) and bool(
        (down[up > 0]).sum() >= 0.8 * (up > 0).sum()
    )


def _epoch_length(batch: CountColumn, total: int | None, columns: list[CountColumn]) -> int | None:
    if total is not None:
        return int(median(values_of(columns, total)))
    downs = np.flatnonzero(np.diff(batch.values) < 0)
    if not len(downs):
        return int(batch.values.max()) + 1
    return int(median(batch.values[downs])) or None
