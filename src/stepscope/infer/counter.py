"""Which number of an unknown log's line counts the steps: a whole number that grows, under a word that says so.

It may count through the run, or through each epoch next to the epoch's number; the total may follow a slash.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.statistics import median
from stepscope.infer.kinds import Kind
from stepscope.infer.line_parts import Field

Ints = npt.NDArray[np.int64]
_STEP = re.compile(
    r"(?:^|[_ /.-])(?:global_?step|steps?|iters?|iterations?|itr|it|updates?|upd|num_updates|"
    r"n_iter|episodes?|rounds?|rollouts?|batch(?:_?idx|es)?|"
    r"minibatch|mini-batch|mb)(?:[_ ](?:no|num|number|n|idx|index))?$"
)
_GLOBAL = re.compile(r"global|num_updates|total_it")
_BATCH = re.compile(r"(?:^|[_ /.-])(?:batch\w*|minibatch|mini-batch|mb)(?:[_ ](?:no|num|number|n|idx|index))?$")
EPOCH = re.compile(r"(?:^|[_ /.-])(?:epochs?|ep|e)(?:[_ ](?:no|num|number|n))?$")
# `start_epoch`, `max_epoch`, `best epoch`: numbers of epochs that are not the one at hand.
_NOT_NOW = re.compile(
    r"(?:^|[_ /.-])(?:start|max|num|total|end|stop|best|last|warm\w*|decay|every|per|from|until|n)[_ -]?epochs?$"
)
_IN_TRAINING = re.compile(r"(?i)\]:? train(?:ing)?\b")  # `[500] train: loss=…`
# All steps so far, if it grows; a total that is to be reached does not.
_SO_FAR = re.compile(r"^total[_ ]?(?:time|env[_ ]?)?(?:steps|iters|iterations|updates|batches)$")
_TOTAL_WEIGHT = 0.8
_LETTER = re.compile(r"(?:^|\s)[sitkn]$")
# Names of whole numbers that grow and do not count steps.
_NEVER = re.compile(
    r"warm|sav|skip|nan|max|total|every|interval|micro|val|eval|test|remain|left|line|pid|port|seq|ttl|seed|rank|worker|"
    r"gpu|mem|byte|tok|sampl|exampl|consum|param|lr|loss|size|dim|layer|patien|best|fold|resum|attempt|retr"
)
# `Minibatch loss at step 100`: what is counted is the step, not the loss.
_LOSS_AT = re.compile(r"^(?!.*(?:val|eval|test))(?:.*[_ /])?loss (?:at|after|for|in|on) (?:the )?")
STROKE = re.compile(r"\s*(?:/|of|out of)\s*$")
_MAX_STEP = 1 << 53
LEAST_ROWS = 4
LEAST_SHARES = 3
_LEAST_DIFFERENT = 3  # numbers of a count that starts again
# Lines with a loss and no number: more of them are needed, and less is sure.
LEAST_UNNUMBERED = 8
_UNNUMBERED = 0.65
_MOSTLY = 0.8
_TWICE = 0.55  # of the moves of a count whose lines are all printed twice: they repeat it
_ON_SEVERAL = 0.8  # times as sure of epochs that stand on several lines each: others may say more of them
_NAMELESS = 0.9  # times as sure of epochs that are only told apart by their batches
_NAMED = 0.75  # a counter under a word that says epoch or step
_LOSS = re.compile(r"(?:^|[_ /])(?:train_|training_|mean_|avg_|total_)?loss$")


class Counter(NamedTuple):
    """The fields (by index) that number a step, and the numbers themselves, one per line of the kind."""

    step: int | None
    epoch: int | None
    batch: int | None
    total: int | None
    epochs: int | None
    numbers: Ints
    first_step: int
    first_epoch: int
    key: str
    weight: float
    counts_epochs: bool = False
    is_abbreviated: bool = False
    epochs_seen: int = 0
    has_share: bool = False  # a percentage follows that is its share of one total
    loss: int | None = None  # nothing numbers the lines: the field of the loss that makes each of them a step

    @property
    def at(self) -> int:
        """The field that all lines of the kind share up to."""
        if self.loss is not None:
            return self.loss
        return max(index for index in (self.step, self.epoch, self.batch) if index is not None)


def whole(text: str) -> int | None:
    """`1,234`, `00213` or `50K` as a whole number."""
    scale = {"K": 1_000, "M": 1_000_000}.get(text[-1:], 1)
    digits = (text[:-1] if scale > 1 else text).replace(",", "")
    if not digits.replace(".", "", 1 if scale > 1 else 0).isdecimal() or len(digits) > 15:
        return None
    value = round(float(digits) * scale) if scale > 1 else int(digits)
    return value if value < _MAX_STEP else None


class _CountColumn(NamedTuple):
    at: int
    field: Field
    values: Ints


def find_counter(kind: Kind) -> Counter | None:
    """The best counter of a kind of line, or None when nothing in it counts."""
    columns = _whole_columns(kind)
    found = [counter for column in columns if (counter := _through_the_run(kind, column, columns)) is not None]
    found += _by_epoch(kind, columns)
    return max(found, key=lambda counter: counter.weight, default=None)


def names_a_count(kind: Kind) -> bool:
    """Whether a number of a kind of line stands under a word that says step or epoch."""
    keys = [field.key for field in kind.shape.fields if not _NOT_NOW.search(field.key)]
    return any(EPOCH.search(key) or (_STEP.search(key) and not _NEVER.search(key)) for key in keys)


def count_lines(kind: Kind) -> Counter | None:
    """A counter for lines that have a loss and no number: each is one step more than the one before it."""
    losses = [index for index, field in enumerate(kind.shape.fields) if _LOSS.search(field.key)]
    if not losses or len(kind.entries) < LEAST_UNNUMBERED or any(map(_counts_something, _whole_columns(kind))):
        return None
    return Counter(
        step=None,
        epoch=None,
        batch=None,
        total=None,
        epochs=None,
        numbers=np.arange(1, len(kind.entries) + 1),
        first_step=1,
        first_epoch=0,
        key=kind.shape.fields[losses[0]].key,
        weight=_UNNUMBERED,
        loss=losses[0],
    )


def _counts_something(column: _CountColumn) -> bool:
    """Whether a whole number is named like a count of steps, or grows nearly always: then the lines are numbered."""
    if _weigh(column, has_total=False, at_start=False) > 0:
        return True
    moves = np.diff(column.values)
    return bool((moves >= 0).mean() > _MOSTLY) and int(column.values[-1]) > int(column.values[0])


def _whole_columns(kind: Kind) -> list[_CountColumn]:
    columns = []
    for index, field in enumerate(kind.shape.fields):
        if field.kind != "number" or field.unit:
            continue
        values = [whole(entry.shape.fields[index].text) for entry in kind.entries]
        if all(value is not None for value in values):
            columns.append(_CountColumn(index, field, np.array(values, dtype=np.int64)))
    return columns


def _total_after(kind: Kind, column: _CountColumn, columns: list[_CountColumn]) -> int | None:
    """The index of the total after a slash: it is never less than the count, and hardly ever changes."""
    follower = next((other for other in columns if other.at == column.at + 1), None)
    if follower is None or not STROKE.match(kind.shape.texts[column.at + 1]):
        return None
    if (follower.values < column.values).any() or len(set(follower.values.tolist())) > max(3, len(kind.entries) // 20):
        return None
    return follower.at


def _weigh(column: _CountColumn, *, has_total: bool, at_start: bool) -> float:
    """How much the word before a number speaks for a step counter: 1 says it, 0 says nothing."""
    key = column.field.key
    if _NOT_NOW.search(key):
        return 0.0
    if has_total and "/" in key:
        key = key.split("/")[0]  # `step/max_steps: 12/500`
    key = _LOSS_AT.sub("", key)
    if _STEP.search(key) and not _NEVER.search(key):
        return 1.1 if _GLOBAL.search(key) else 0.9 if _BATCH.search(key) else 1.0
    if _SO_FAR.search(key):
        return _TOTAL_WEIGHT
    if _NEVER.search(key) and not EPOCH.search(key):
        return 0.0
    if EPOCH.search(key):
        return 0.75
    if has_total:
        return 0.8
    if re.search(r"(?:^|\s)train(?:ing)?$", key):
        return 0.7
    if _LETTER.search(key):
        return 0.6
    return 0.5 if at_start and not key else 0.0


def _through_the_run(kind: Kind, column: _CountColumn, columns: list[_CountColumn]) -> Counter | None:
    values, num_different = column.values, len(set(column.values.tolist()))
    if num_different < _LEAST_DIFFERENT:
        return None
    steps = np.diff(values)
    downs, ups = int((steps < 0).sum()), int((steps > 0).sum())
    total = _total_after(kind, column, columns)
    has_share = _has_share(kind, column)
    # Behind the time that has passed, as a logger may print it: `0:00:47 -   200 - 256.7 equations/s`.
    is_first = all(field.kind in {"clock", "stamp"} and not field.key for field in kind.shape.fields[: column.at])
    weight = _weigh(column, has_total=total is not None or has_share, at_start=is_first)
    if column.at == 0 and _IN_TRAINING.match(kind.shape.texts[1]):
        weight = max(weight, _NAMED)
    is_abbreviated = any(entry.shape.fields[column.at].text[-1:] in "KM" for entry in kind.entries)
    is_epoch = bool(EPOCH.search(column.field.key))
    if total is not None and weight and not is_epoch and _restarts_often(values, steps):
        return _of_nameless_epochs(column, total, columns, weight)
    is_on_several = is_epoch and total is not None and _is_even(values)
    if (
        not weight
        or num_different < LEAST_ROWS
        or (downs > 0.02 * len(steps) + 2 and not (is_epoch and _starts_again(values, steps)))
        or downs * 3 > ups
        or (not is_abbreviated and ups < 0.3 * len(steps) and not is_on_several)
    ):
        return None
    if weight < _NAMED and not _is_regular(steps):
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
        first_step=first_number(values, None if total is None else _values(columns, total)),
        first_epoch=0,
        key=column.field.key,
        weight=weight,
        counts_epochs=is_epoch,
        is_abbreviated=is_abbreviated,
        has_share=has_share,
    )


def _has_share(kind: Kind, column: _CountColumn) -> bool:
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
    return float((values[1:][downs] <= int(values.min()) + 2 * median(ups)).mean()) >= _MOSTLY


def _of_nameless_epochs(column: _CountColumn, total: int, columns: list[_CountColumn], weight: float) -> Counter:
    """A counter of the batches of epochs that are told apart by their starting again."""
    values = column.values
    epoch = np.concatenate([[0], np.cumsum(np.diff(values) < 0)])
    return Counter(
        step=None,
        epoch=None,
        batch=column.at,
        total=total,
        epochs=None,
        numbers=epoch * int(median(_values(columns, total))) + values,
        first_step=1,
        first_epoch=1,
        key=column.field.key,
        weight=weight * _NAMELESS,
        epochs_seen=int(epoch[-1]) + 1,
    )


def of_headed_epochs(kind: Kind, counter: Counter) -> Counter | None:
    """A count of steps with a total as one of the batches of epochs."""
    columns = _whole_columns(kind)
    own = next((column for column in columns if column.at == counter.step), None)
    if own is None or counter.total is None:
        return None
    return _of_nameless_epochs(own, counter.total, columns, counter.weight)


def _starts_again(values: Ints, steps: Ints) -> bool:
    """Whether a count that falls falls to its beginning, or goes up evenly but for that: other launches, not noise."""
    if _is_regular(steps):
        return True
    after, ups = values[1:][steps < 0], steps[steps > 0]
    falls_far = float((after <= int(values.min()) + 1).mean())
    return falls_far >= _MOSTLY and float((ups <= 2 * median(ups)).mean()) > _MOSTLY


def _is_regular(steps: Ints) -> bool:
    """Whether a count goes up evenly. A line that two handlers print stands twice, and does not move it."""
    moves = steps[steps != 0] if (steps == 0).sum() <= _TWICE * len(steps) else steps
    ups = moves[moves > 0].tolist()
    return bool(ups) and Tally(ups).most_common(1)[0][1] >= 0.8 * len(moves)


def first_number(values: npt.NDArray[Any], totals: npt.NDArray[Any] | None) -> int:
    """The number of the first step: 0 when it was seen, unless the count then reaches its total."""
    if totals is not None and (values == totals).any():
        return 1
    return 0 if int(values.min()) == 0 else 1


def _values(columns: list[_CountColumn], at: int) -> Ints:
    return next(column.values for column in columns if column.at == at)


def _by_epoch(kind: Kind, columns: list[_CountColumn]) -> list[Counter]:
    """Counters that start again with each epoch, next to the epoch's number."""
    found = []
    totals = {_total_after(kind, column, columns) for column in columns}
    for batch in columns:
        total = _total_after(kind, batch, columns)
        weight = _weigh(batch, has_total=total is not None, at_start=False)
        is_bare = not batch.field.key and batch.at > 0 and (total is not None or _follows_bracketed(kind, batch))
        if (weight < 0.6 and not is_bare) or batch.at in totals:
            continue
        for epoch in columns:
            counter = _epoch_and_batch(kind, columns, epoch, batch, weight)
            if counter is not None:
                found.append(counter)
    return found


def _epoch_and_batch(
    kind: Kind, columns: list[_CountColumn], epoch: _CountColumn, batch: _CountColumn, weight: float
) -> Counter | None:
    """The counter of two columns, if one numbers the epochs and the other the batches of each (of this `weight`)."""
    total, epochs = _total_after(kind, batch, columns), _total_after(kind, epoch, columns)
    is_within = total is not None and epochs is not None and EPOCH.search(epoch.field.key) is not None
    if is_within and total is not None and epochs is not None:
        is_within = _is_within_epoch(epoch, batch, _values(columns, epochs), _values(columns, total))
    if epoch.at in {batch.at, total} or not (
        _fits_epoch(epoch, batch, _follow(kind)) or (is_within and _stays(epoch, batch))
    ):
        return None
    is_named = bool(EPOCH.search(epoch.field.key)) or _says_epoch(kind, epoch) or _is_pair(kind, epoch, batch)
    is_named = is_named and not _NOT_NOW.search(epoch.field.key)
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


def _is_within_epoch(epoch: _CountColumn, batch: _CountColumn, epochs: Ints, totals: Ints) -> bool:
    """Whether `Epoch: 3/30, Step: 10/951` counts the steps of an epoch: those of the run would not be in this one."""
    if (epochs < 2).any() or (totals < 2).any() or _GLOBAL.search(batch.field.key):
        return False
    if (epoch.values <= 1).all():
        return True  # in the first epoch a count of the run would say the same; few trainers print one there
    of_run = batch.values / totals * epochs
    return not bool((np.abs(of_run - epoch.values + 0.5) <= 1.0).all())


def _stays(epoch: _CountColumn, batch: _CountColumn) -> bool:
    """Whether all lines are of one epoch, and its batches go on."""
    return not np.diff(epoch.values).any() and not bool((np.diff(batch.values) < 0).any())


def _turns_with(epoch: _CountColumn, batch: _CountColumn) -> bool:
    """Whether a number goes up by one just where the batches start again: `iteration:2 step:8/652`."""
    up, down = np.diff(epoch.values), np.diff(batch.values) < 0
    is_before = epoch.at < batch.at and not _NEVER.search(epoch.field.key)
    return is_before and int(down.sum()) >= 2 and bool((up == down).all())


def _is_pair(kind: Kind, epoch: _CountColumn, batch: _CountColumn) -> bool:
    """`[3, 2000]`, `[3, 2000/4440]`: the batches start again just where the number before them goes up by one."""
    if epoch.at != batch.at - 1 or not _follows_bracketed(kind, batch):
        return False
    return int((np.diff(epoch.values) > 0).sum()) > 0 or int(epoch.values[0]) <= 1


def _follows_bracketed(kind: Kind, batch: _CountColumn) -> bool:
    """Whether a number comes after a comma and another one that a bracket opens before."""
    texts = kind.shape.texts
    return batch.at > 0 and texts[batch.at].strip() == "," and texts[batch.at - 1].rstrip().endswith(("[", "("))


def _says_epoch(kind: Kind, epoch: _CountColumn) -> bool:
    """`in 0 epoch`: the word follows the number, or opens the line."""
    before, after = kind.shape.texts[epoch.at], kind.shape.texts[epoch.at + 1]
    return bool(re.match(r"\s*epochs?\b", after, re.IGNORECASE)) or bool(
        re.search(r"(?i)\b(?:epoch|train)\b\W*(?:train\W*)?$", before)
    )


def _follow(kind: Kind) -> npt.NDArray[np.bool_]:
    """For each two lines of a kind, whether the log has none of that kind between them."""
    pieces = np.array([entry.piece for entry in kind.entries], dtype=np.int64)
    return np.asarray(np.diff(pieces) == 0)


def _fits_epoch(epoch: _CountColumn, batch: _CountColumn, follow: npt.NDArray[np.bool_]) -> bool:
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


def _epoch_length(batch: _CountColumn, total: int | None, columns: list[_CountColumn]) -> int | None:
    if total is not None:
        return int(median(_values(columns, total)))
    downs = np.flatnonzero(np.diff(batch.values) < 0)
    if not len(downs):
        return int(batch.values.max()) + 1
    return int(median(batch.values[downs])) or None
