"""Logs in which every row holds an evaluation: one row per epoch with its validation, a table with `val_` columns.

The row is the unit then. What an evaluation took inside it is known only where the log prints it; else the typical
row, its evaluation included, is what a step of this log is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import seconds_to_ns
from stepscope.run.model import Run
from stepscope.run.stops import Stop

_LEAST_ROWS = 2
# Rows without an evaluation, if there are any, are too few to be the level, and no shorter than the others.
_MOST_OTHERS = 0.05
_SHORTER = 1.5


def hold_every_row(run: Run, stops: Sequence[Stop]) -> bool:
    """Whether there is no row without an evaluation to compare the others with."""
    held = np.zeros(len(run), dtype=bool)
    held[[stop.row for stop in stops if stop.row is not None and stop.evaluated and stop.evaluation_inside]] = True
    timed = run.steps.span > 0
    timed[run.steps.first_rows] = False
    own, others = held & timed, ~held & timed
    if int(own.sum()) < _LEAST_ROWS or int(others.sum()) > max(1, _MOST_OTHERS * len(run)):
        return False
    if run.clock.is_per_step and not bool((np.diff(run.steps.step) <= 1).all()):
        return False  # single steps, of which only those with an evaluation were printed
    if not others.any():
        return True
    return float(median(run.steps.dur_ns[own])) < _SHORTER * float(median(run.steps.dur_ns[others]))


def by_whole_rows(run: Run, stops: Sequence[Stop]) -> Run:
    """The run with rows as its steps: printed evaluations are taken out of them, others are parts of them."""
    printed: dict[int, float] = {}
    for stop in stops:
        if stop.row is not None and stop.evaluation_inside and stop.evaluation_took_s is not None:
            printed[stop.row] = printed.get(stop.row, 0.0) + stop.evaluation_took_s
    dur = run.steps.dur_ns.copy()
    for row, seconds in printed.items():
        dur[row] -= min(int(dur[row]), seconds_to_ns(seconds) // max(1, int(run.steps.span[row])))
    beside = tuple(
        stop._replace(evaluation_inside=False)
        for stop in stops
        if stop.evaluation_took_s is not None or not (stop.evaluated and stop.evaluation_inside)
    )
    return dataclasses.replace(run, steps=dataclasses.replace(run.steps, kept_dur=dur)).with_stops(beside)
