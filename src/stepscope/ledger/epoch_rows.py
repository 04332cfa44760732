"""Logs in which every row holds an evaluation or a checkpoint: one row per epoch with its validation.

The row is the unit then. What a stop took inside it is known only where the log prints it; else the typical row, the
stop included, is what a step of this log is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS, seconds_to_ns
from stepscope.run.model import NO_TIME, Run
from stepscope.run.stops import Stop

_LEAST_ROWS = 2
# Of this many rows at most, each may be an epoch whose line says what its evaluation found.
_FEW_ROWS = 2
# Rows without a stop, if there are any, are too few to be the level, and no shorter than the others.
_MOST_OTHERS = 0.05
_SHORTER = 1.5
# A row's share that may be its evaluation's.
_LEAST_PART, _MOST_PART = 0.005, 0.9
# More than these shares of the steps are most of them, and many; and how much less than the others' time shows that
# these hold something.
_MOST_STEPS, _MANY_STEPS, _FASTER = 0.55, 0.3, 0.8
# Of more than this, most is the epoch itself, whose line is its heading, if another line came between.
_HEADED = 0.5


def hold_every_row(run: Run, stops: Sequence[Stop]) -> bool:
    """Whether there is no row without a stop to compare the others with."""
    if _are_few_epochs(run, stops):
        return True
    held = np.zeros(len(run), dtype=bool)
    held[[stop.row for stop in stops if stop.row is not None and stop.is_inside]] = True
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


def hold_most_steps(run: Run, stops: Sequence[Stop]) -> bool:
    """Whether rows with an evaluation, each of which says how long it took, tell the level as well as the others do.

    They are where they have most of the steps, or are faster without it: then there is something else in the others,
    such as the slow beginning of an epoch.
    """
    inside = [stop for stop in stops if stop.row is not None and stop.is_inside]
    if not inside or any(stop.evaluated and stop.evaluation_took_s is None for stop in inside):
        return False
    took_s, span = np.zeros(len(run)), run.steps.span
    for stop in inside:
        took_s[stop.row] += stop.evaluation_took_s or 0.0
    own = (took_s > 0) & (span > 0)
    others = (took_s == 0) & (span > 0)
    share = float(span[own].sum() / max(1, span.sum()))
    per_step_s = (run.steps.seconds - took_s) / np.maximum(span, 1)
    if share <= _MANY_STEPS or not others.any():
        return False
    return share > _MOST_STEPS or float(median(per_step_s[own])) < _FASTER * float(median(per_step_s[others]))


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
    """Whether the result of an evaluation stands on the line of the row that holds it, or next to it in its epoch."""
    if stop.row is None or not stop.evaluation_inside:
        return False
    return run.format.counts_epochs or stop.line == int(run.steps.line[stop.row])


def by_whole_rows(run: Run, stops: Sequence[Stop]) -> Run:
    """The run with rows as its steps: printed stops are taken out of them, others are parts of them."""
    printed: dict[int, float] = {}
    beside = []
    by_timestamps = _between_timestamps(run, stops)
    for stop in stops:
        found = since_trained(run, stop) or by_timestamps.get(stop.line, Parts(None, None))
        took_s = found.evaluation_s if stop.evaluation_took_s is None else stop.evaluation_took_s
        save_took_s = found.save_s if stop.save_took_s is None else stop.save_took_s
        evaluation_s = took_s if stop.evaluated and stop.evaluation_inside else 0.0
        save_s = save_took_s if stop.saved and stop.save_inside else 0.0
        if stop.row is not None and (evaluation_s or save_s):
            printed[stop.row] = printed.get(stop.row, 0.0) + (evaluation_s or 0.0) + (save_s or 0.0)
        known = stop._replace(
            evaluated=stop.evaluated and evaluation_s is not None,
            saved=stop.saved and save_s is not None,
            evaluation_took_s=took_s,
            save_took_s=save_took_s,
            evaluation_inside=False,
            save_inside=False,
        )
        if known.evaluated or known.saved:
            beside.append(known)
    dur = run.steps.dur_ns.copy()
    first_rows = set(run.steps.first_rows.tolist()) if run.clock.is_wall else set()
    others = [seconds for row, seconds in printed.items() if row not in first_rows]
    for row, own_s in printed.items():
        # No line came before a first row: it is as long as the others are, and so is its stop.
        seconds = float(median(np.array(others))) if row in first_rows and others else own_s
        dur[row] -= min(int(dur[row]), seconds_to_ns(seconds) // max(1, int(run.steps.span[row])))
    return dataclasses.replace(run, steps=dataclasses.replace(run.steps, kept_dur=dur)).with_stops(tuple(beside))


class Parts(NamedTuple):
    """Seconds of a stop's parts; None where they are unknown."""

    evaluation_s: float | None
    save_s: float | None


def since_trained(run: Run, stop: Stop) -> Parts | None:
    """What an evaluation took whose result is on the row's own line, from when the log says that training is done.

    A checkpoint between them ends it, by its own line.
    """
    if stop.begin_ns is None or stop.end_ns is None or not stop.evaluation_inside:
        return None
    if stop.row is None or stop.line != int(run.steps.line[stop.row]):
        return None  # a line of its own, which says nothing of when training was done
    is_between = stop.saved and stop.save_ns is not None and stop.begin_ns <= stop.save_ns <= stop.end_ns
    until = stop.save_ns if is_between and stop.save_ns is not None else stop.end_ns
    if until <= stop.begin_ns:
        return None  # both came at once: held back
    return Parts((until - stop.begin_ns) / NS, (stop.end_ns - until) / NS if is_between else None)


def _between_timestamps(run: Run, stops: Sequence[Stop]) -> dict[int, Parts]:
    """What stops took by the timestamps of their own lines, by line.

    Each row is one step. Its own line comes first, then the evaluation's, the checkpoint's, and the next row's, each
    after its work. Where two of them come at one moment, nothing tells that part from the steps. A heading comes before
    its epoch: then another line, of what the training gave, stands before the evaluation's.
    """
    t_ns = run.steps.t_ns
    if float(median(run.steps.span)) > 1 or not len(t_ns):
        return {}  # of rows of several steps, some may come between the row's line and the evaluation
    evaluations: dict[int, float] = {}
    headed: dict[int, float] = {}
    saves: dict[int, float] = {}
    row_s: dict[int, float] = {}
    for stop in stops:
        if not stop.row or t_ns[stop.row - 1] == NO_TIME:
            continue
        begin_ns = int(t_ns[stop.row - 1])  # of the row's line: an evaluation may have printed others since
        row_s[stop.line] = float(run.steps.seconds[stop.row]) * max(1, int(run.steps.span[stop.row]))
        if stop.evaluated and stop.end_ns is not None:
            evaluations[stop.line] = (stop.end_ns - begin_ns) / NS
            headed[stop.line] = (stop.end_ns - (begin_ns if stop.begin_ns is None else stop.begin_ns)) / NS
        before_ns = stop.end_ns if stop.evaluated else begin_ns
        if stop.saved and stop.save_ns is not None and before_ns is not None:
            saves[stop.line] = (stop.save_ns - before_ns) / NS
    if _share(evaluations, row_s) > _HEADED:
        evaluations = headed
    evaluations, saves = (_telling(found, row_s) for found in (evaluations, saves))
    return {line: Parts(evaluations.get(line), saves.get(line)) for line in row_s}


def _share(seconds: dict[int, float], row_s: dict[int, float]) -> float:
    """What these are of their rows, mostly."""
    shares = [seconds[line] / row_s[line] for line in seconds if row_s[line] > 0]
    return float(median(np.array(shares))) if shares else 0.0


def _telling(seconds: dict[int, float], row_s: dict[int, float]) -> dict[int, float]:
    """The seconds, if they are mostly a part of the row that leaves time for its steps."""
    shares = [seconds[line] / row_s[line] for line in seconds if row_s[line] > 0]
    if len(shares) < _LEAST_ROWS or not _LEAST_PART <= float(median(np.array(shares))) <= _MOST_PART:
        return {}
    return {line: found for line, found in seconds.items() if 0 <= found <= row_s[line]}
