"""Which number of an unknown log's line counts the steps: a whole number that grows, under a word that says so.

It may count through the run, or through each epoch next to the epoch's number; lines with a loss and no number count
themselves.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.infer.count_of_epochs import by_epoch
from stepscope.infer.count_of_run import MOSTLY, through_the_run
from stepscope.infer.counter import EPOCH, NEVER, NOT_NOW, STEP, CountColumn, Counter, weigh, whole_columns
from stepscope.infer.kinds import Kind

# Lines with a loss and no number: more of them are needed, and less is sure.
LEAST_UNNUMBERED = 8
_UNNUMBERED = 0.65
_LOSS = re.compile(r"(?:^|[_ /])(?:train_|training_|mean_|avg_|total_)?loss$")


def find_counter(kind: Kind) -> Counter | None:
    """The best counter of a kind of line, or None when nothing in it counts."""
    columns = whole_columns(kind)
    found = [counter for column in columns if (counter := through_the_run(kind, column, columns)) is not None]
    found += by_epoch(kind, columns)
    return max(found, key=lambda counter: counter.weight, default=None)


def names_a_count(kind: Kind) -> bool:
    """Whether a number of a kind of line stands under a word that says step or epoch."""
    keys = [field.key for field in kind.shape.fields if not NOT_NOW.search(field.key)]
    return any(EPOCH.search(key) or (STEP.search(key) and not NEVER.search(key)) for key in keys)


def count_lines(kind: Kind) -> Counter | None:
    """A counter for lines that have a loss and no number: each is one step more than the one before it."""
    losses = [index for index, field in enumerate(kind.shape.fields) if _LOSS.search(field.key)]
    if not losses or len(kind.entries) < LEAST_UNNUMBERED or any(map(_counts_something, whole_columns(kind))):
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


def _counts_something(column: CountColumn) -> bool:
    """Whether a whole number is named like a count of steps, or grows nearly always: then the lines are numbered."""
    if weigh(column, has_total=False, at_start=False) > 0:
        return True
    moves = np.diff(column.values)
    return bool((moves >= 0).mean() > MOSTLY) and int(column.values[-1]) > int(column.values[0])
