"""Which steps the lines are of, where the lines have no number and are counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from stepscope.core.settings import Settings, Value
from stepscope.lines.figures import MAX_STEP
from stepscope.run.model import Ints

_ENOUGH_LINES = 3
_RATE_TICK = 0.001  # the Trainer rounds its mean rate to this
_SHORT = 0.5  # of the usual share of an epoch: the first line is of less than a whole interval


class CountedLines(NamedTuple):
    """How many steps lie between two lines, and whether the first line is of the first step alone."""

    interval: int = 1
    has_first_step: bool = False

    def steps(self, numbers: Ints) -> Ints:
        """The steps of the lines with these numbers, from 1."""
        if self.interval == 1:
            return numbers
        return np.maximum((numbers - self.has_first_step) * self.interval, 1)


def counted_lines(
    settings: Settings, stated: Mapping[str, Value], *, epochs_done: list[float], num_lines: int
) -> CountedLines:
    """The interval of logging: as a setting, by the epochs done so far, or by all steps once the training is over.

    `epochs_done` are those of the first three lines and of the last. 1 where nothing says, or what it says leads beyond
    any training: the lines themselves are counted then.
    """
    has_first = _has_first_step(epochs_done)
    interval = settings.count("log_interval")
    if interval:
        return CountedLines(interval, has_first) if interval * num_lines < MAX_STEP else CountedLines()
    steps = _by_epochs(settings, stated, epochs_done) or _by_rate(stated)
    if steps is None or num_lines < _ENOUGH_LINES or not steps < MAX_STEP:
        return CountedLines()
    return CountedLines(max(1, round(steps / (num_lines - has_first))), has_first)


def all_steps(stated: Mapping[str, Value], counted: CountedLines, num_lines: int) -> int | None:
    """How many steps a training that is over had, by its mean rate: those after the last line have none of their own.

    None where the lines may already come to all of them, as far as the rate is printed, or to fewer than that by a
    whole interval.
    """
    found, last = _by_rate(stated), counted.interval * (num_lines - counted.has_first_step)
    if found is None or not found < MAX_STEP or num_lines < _ENOUGH_LINES or counted.interval == 1:
        return None
    return round(found) if _rounded_away(stated) < found - last < counted.interval else None


def _rounded_away(stated: Mapping[str, Value]) -> float:
    """How many steps the digits that the mean rate lacks may come to, at most."""
    seconds = stated.get("train_runtime_s")
    return _RATE_TICK / 2 * seconds if isinstance(seconds, (int, float)) else 0.0


def _has_first_step(epochs_done: list[float]) -> bool:
    """Whether the first line came after far less of an epoch than lies between the next two: `logging_first_step`."""
    if len(epochs_done) < _ENOUGH_LINES:
        return False
    first, second, third = epochs_done[:3]
    return first < _SHORT * (third - second)


def _by_epochs(settings: Settings, stated: Mapping[str, Value], epochs_done: list[float]) -> float | None:
    """Steps up to the last line: its share of the epochs, and all steps of all epochs."""
    total, epochs = settings.count("max_steps"), stated.get("num_epochs")
    if not total or not epochs_done or not isinstance(epochs, (int, float)) or not epochs:
        return None
    return epochs_done[-1] * total / epochs


def _by_rate(stated: Mapping[str, Value]) -> float | None:
    """All steps of a training that is over, by its time and its mean rate."""
    seconds, rate = stated.get("train_runtime_s"), stated.get("train_steps_per_s")
    if not isinstance(seconds, (int, float)) or not isinstance(rate, (int, float)):
        return None
    return seconds * rate or None
