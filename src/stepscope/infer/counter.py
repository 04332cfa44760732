"""What counts the steps of an unknown log's lines: whole numbers in columns, and how much their names speak for it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.infer.kinds import Kind
from stepscope.infer.line_parts import Field

Ints = npt.NDArray[np.int64]
STEP = re.compile(
    r"(?:^|[_ /.-])(?:global_?step|steps?|iters?|iterations?|itr|it|updates?|upd|num_updates|"
    r"n_iter|episodes?|rounds?|rollouts?|batch(?:_?idx|es)?|"
    r"minibatch|mini-batch|mb)(?:[_ ](?:no|num|number|n|idx|index))?$"
)
GLOBAL = re.compile(r"global|num_updates|total_it")
_BATCH = re.compile(r"(?:^|[_ /.-])(?:batch\w*|minibatch|mini-batch|mb)(?:[_ ](?:no|num|number|n|idx|index))?$")
EPOCH = re.compile(r"(?:^|[_ /.-])(?:epochs?|ep|e)(?:[_ ](?:no|num|number|n))?$")
# `start_epoch`, `max_epoch`, `best epoch`: numbers of epochs that are not the one at hand.
NOT_NOW = re.compile(
    r"(?:^|[_ /.-])(?:start|max|num|total|end|stop|best|last|warm\w*|decay|every|per|from|until|n)[_ -]?epochs?$"
)
# All steps so far, if it grows; a total that is to be reached does not.
_SO_FAR = re.compile(r"^total[_ ]?(?:time|env[_ ]?)?(?:steps|iters|iterations|updates|batches)$")
_TOTAL_WEIGHT = 0.8
_LETTER = re.compile(r"(?:^|\s)[sitkn]$")
# Names of whole numbers that grow and do not count steps.
NEVER = re.compile(
    r"warm|sav|skip|nan|max|total|every|interval|micro|val|eval|test|remain|left|line|pid|port|seq|ttl|seed|rank|worker|"
    r"gpu|mem|byte|tok|sampl|exampl|consum|param|lr|loss|size|dim|layer|patien|best|fold|resum|attempt|retr"
)
# `Minibatch loss at step 100`: what is counted is the step, not the loss.
_LOSS_AT = re.compile(r"^(?!.*(?:val|eval|test))(?:.*[_ /])?loss (?:at|after|for|in|on) (?:the )?")
STROKE = re.compile(r"\s*(?:/|of|out of)\s*$")
_MAX_STEP = 1 << 53
NAMED = 0.75  # a counter under a word that says epoch or step


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


class CountColumn(NamedTuple):
    """A number that is whole on every line of a kind: where it is, what stands around it, its values."""

    at: int
    field: Field
    values: Ints


def whole_columns(kind: Kind) -> list[CountColumn]:
    """The numbers of a kind of line that are whole on all of its lines."""
    columns = []
    for index, field in enumerate(kind.shape.fields):
        if field.kind != "number" or field.unit:
            continue
        values = [whole(entry.shape.fields[index].text) for entry in kind.entries]
        if all(value is not None for value in values):
            columns.append(CountColumn(index, field, np.array(values, dtype=np.int64)))
    return columns


def total_after(kind: Kind, column: CountColumn, columns: list[CountColumn]) -> int | None:
    """The index of the total after a slash: it is never less than the count, and hardly ever changes."""
    follower = next((other for other in columns if other.at == column.at + 1), None)
    if follower is None or not STROKE.match(kind.shape.texts[column.at + 1]):
        return None
    if (follower.values < column.values).any() or len(set(follower.values.tolist())) > max(3, len(kind.entries) // 20):
        return None
    return follower.at


def weigh(column: CountColumn, *, has_total: bool, at_start: bool) -> float:
    """How much the word before a number speaks for a step counter: 1 says it, 0 says nothing."""
    key = column.field.key
    if NOT_NOW.search(key):
        return 0.0
    if has_total and "/" in key:
        key = key.split("/")[0]  # `step/max_steps: 12/500`
    key = _LOSS_AT.sub("", key)
    if STEP.search(key) and not NEVER.search(key):
        return 1.1 if GLOBAL.search(key) else 0.9 if _BATCH.search(key) else 1.0
    if _SO_FAR.search(key):
        return _TOTAL_WEIGHT
    if NEVER.search(key) and not EPOCH.search(key):
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


def values_of(columns: list[CountColumn], at: int) -> Ints:
    """The values of the field at an index."""
    return next(column.values for column in columns if column.at == at)


def first_number(values: npt.NDArray[Any], totals: npt.NDArray[Any] | None) -> int:
    """The number of the first step: 0 when it was seen, unless the count then reaches its total."""
    if totals is not None and (values == totals).any():
        return 1
    return 0 if int(values.min()) == 0 else 1
