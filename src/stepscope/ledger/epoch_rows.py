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
# Of this many rows at most, each may be an epoch whose line says what its evaluation found.
_FEW_ROWS = 2
# Rows without an evaluation, if there are any, are too few to be the level, and no shorter than the others.
_MOST_OTHERS = 0.05
_SHORTER = 1.5


def hold_every_row(run: Run, stops: Sequence[Stop]) -> bool:
    """Whether there is no row without an evaluation to compare the others with."""
    if _are_few_epochs(run, stops):
        return True
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


def _are_few_epochs(run: Run, stops: Sequence[Stop]) -> bool:
    """Whether one or two rows are all there is, each an epoch: its own line says what an evaluation found, or saves."""
    timed = np.flatnonzero(run.steps.span > 0)
    if not 0 < len(timed) <= _FEW_ROWS or len(timed) < len(run):
        return False
    on_lines = {stop.row for stop in stops if stop.evaluated and stop.row is not None and _is_on_line(run, stop)}
    saving = {stop.row for stop in stops if stop.row is not None and stop.is_inside and not stop.evaluated}
    evaluating = {stop.row for stop in stops if stop.row is not None and stop.is_inside and stop.evaluated}
    if not evaluating <= on_lines:
        return False
    return set(timed.tolist()) <= (on_lines | saving)


def _is_on_line(run: Run, stop: Stop) -> bool:
    """Whether the result of an evaluation stands on the line of the row that holds it."""
    return stop.row is not None and stop.evaluation_inside and stop.line == int(run.steps.line[stop.row])


def by_whole_rows(run: Run, stops: Sequence[Stop]) -> Run:
    """The run with rows as its steps: printed evaluations are taken out of them, others are parts of them."""
    printed: dict[int, float] = {}
    for stop in stops:
        if stop.row is not None and stop.evaluation_inside and stop.evaluation_took_s is not None:
            printed[stop.row] = printed.get(stop.row, 0.0) + stop.evaluation_took_s
    dur = run.steps.dur_ns.copy()
    for row, seconds in printed.items():
        dur[row] -= min(int(dur[row]), seconds_to_ns(seconds) // max(1, int(run.steps.span[row])))
    is_few = _are_few_epochs(run, stops)
    beside = tuple(
        stop._replace(evaluation_inside=False, save_inside=stop.save_inside and not is_few)
        for stop in stops
        if stop.evaluation_took_s is not None
        or not ((stop.evaluated and stop.evaluation_inside) or (is_few and stop.saved))
    )
    return dataclasses.replace(run, steps=dataclasses.replace(run.steps, kept_dur=dur)).with_stops(beside)
