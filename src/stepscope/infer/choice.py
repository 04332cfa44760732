"""What can come out of the choice of a clock: one of them, or the doubt that forbids one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.infer.time_figures import (
    Meaning,
    Reason,
    TimeColumn,
)
from stepscope.lines.format import Covers, Line

LEAST_SURE = 0.5


class StatedWork(NamedTuple):
    """The line that says how much a step works through, and how it prints it."""

    line: Line
    text: str
    amount: int


class Choice(NamedTuple):
    """The clock: a figure read one way, or the timestamps alone (`meaning` None)."""

    covers: Covers
    meaning: Meaning | None
    reason: Reason
    confidence: float
    is_total: bool = False  # the figure is the time of all steps since the last line
    work: StatedWork | None = None  # what a step works through, where the figure is a rate of it


class Doubt(NamedTuple):
    """A figure that can be read in several ways, with nothing in the log to decide between them."""

    column: TimeColumn
    interval: int


def as_one_step(doubt: Doubt) -> Choice:
    """The first of the readings that are in doubt."""
    column = doubt.column
    meaning = Meaning(column, "step", column.unit_s or 1.0, "name", 0.5, float(np.nanmedian(column.values)))
    return Choice("window" if doubt.interval > 1 else "step", meaning, "name", LEAST_SURE)
