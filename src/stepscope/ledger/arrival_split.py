"""What the arrival of its lines says of a row with an evaluation or a checkpoint, in a recording.

Between the line of one step and the line of the next come, in the log's own order: steps that are not printed, the
evaluation and its line, the checkpoint with a line before or after it, the steps up to the next line. We saw all of
these lines come, so each of these stretches is known but for the steps in it, which take what steps take.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.run.model import NO_TIME, Run
from stepscope.run.stops import Stop

# An evaluation whose line comes before this share of what the row has beyond its steps is announced by it.
_ANNOUNCED = 0.05
# A printed duration may be this much longer than what passed: other clocks, and seconds that are rounded.
_SLACK_S, _SLACK = 0.05, 0.05
_LEAST_STOPS = 2
# What a clock of whole seconds may be off: the arrivals know more where the steps around are shorter than that.
_TICK_S = 1.0
# The line of a checkpoint ends it where, of all of them, most of the time passed before it: this much at least, with
# none shorter than this share of the usual.
_LEAST_SAVE_S, _ALIKE = 0.02, 0.5


class ArrivalSplit(NamedTuple):
    """Seconds of a row with a stop: of the evaluation, of the checkpoint, and of nothing that a line explains.

    `slack_s`: how far off the evaluation may be where nothing says how many steps came before it.
    """

    evaluation_s: float
    checkpoint_s: float
    rest_s: float
    slack_s: float = 0.0


def split_row(
    run: Run, row: int, stop: Stop, level_s: float, *, follow_rows: Set[str] = frozenset(), ends_save: bool = False
) -> ArrivalSplit | None:
    """The parts of a row beyond its steps, each of which takes `level_s`; None where the arrivals do not say.

    `follow_rows`: what, of evaluations and checkpoints without a number, comes right after the step printed before it.
    `ends_save`: the line of a checkpoint comes when it has been written.
    """
    steps = run.steps
    if row < 1 or steps.segment[row] != steps.segment[row - 1] or not _came_as_timed(run, row):
        return None
    begin, end = int(steps.t_ns[row - 1]), int(steps.t_ns[row])
    before = _steps_before(run, row, stop, follow_rows)
    if NO_TIME in {begin, end}:
        return None
    excess = (end - begin) / NS - int(steps.span[row]) * level_s
    if excess <= 0:
        return None
    save_s = _until_its_line(run, row, stop, before, level_s) if ends_save else None
    if not stop.evaluated:
        save_s = excess - _before_the_line_before(run, row, stop, before, level_s) if save_s is None else save_s
        save_s = min(save_s, excess)
        return ArrivalSplit(0.0, save_s, excess - save_s) if stop.saved else None
    evaluated = stop.evaluation_took_s
    is_close = before is not None or int(steps.span[row]) * level_s < _TICK_S
    is_rounded = evaluated is not None and evaluated.is_integer() and stop.end_ns is not None and is_close
    if evaluated is not None and not is_rounded:
        if evaluated > excess * (1 + _SLACK) + _SLACK_S:
            return None
        return _shared(stop, min(evaluated, excess), excess, save_s)
    if stop.end_ns is None or not begin < stop.end_ns <= end:
        return None
    slack_s = 0.0 if before is not None else int(steps.span[row]) / 2 * level_s
    before_s = slack_s if before is None else before * level_s  # else anywhere in the row
    saved_first = stop.save_ns is not None and stop.save_ns < stop.end_ns
    if saved_first and save_s is None:
        return None  # where the checkpoint ended and the evaluation began, no line says
    evaluated = min(excess, (stop.end_ns - begin) / NS - before_s - (save_s or 0.0) * saved_first)
    if evaluated < max(level_s, _ANNOUNCED * excess) and not stop.saved:
        return ArrivalSplit(excess, 0.0, 0.0)
    if evaluated <= 0:
        return None
    return _shared(stop, evaluated, excess, save_s)._replace(slack_s=slack_s)


def _came_as_timed(run: Run, row: int) -> bool:
    """Whether the arrivals of a row's line and of the one before are its time: the clock, or as far apart."""
    if not run.is_recorded or run.clock.is_wall:
        return run.is_recorded
    between, timed = (int(run.steps.t_ns[row]) - int(run.steps.t_ns[row - 1])) / NS, float(run.steps.seconds[row])
    return abs(between - timed) <= _SLACK * timed + run.tick_ns / NS


def _shared(stop: Stop, evaluation_s: float, excess_s: float, save_s: float | None) -> ArrivalSplit:
    """What the evaluation leaves is the checkpoint, if there was one, up to its line if that ends it."""
    rest = excess_s - evaluation_s
    own = 0.0 if not stop.saved else rest if save_s is None else min(save_s, rest)
    return ArrivalSplit(evaluation_s, own, rest - own)


def _until_its_line(run: Run, row: int, stop: Stop, before: int | None, level_s: float) -> float | None:
    """Seconds from what came before a checkpoint to its own line; None where no line shows either."""
    if not stop.saved or stop.save_ns is None:
        return None
    if stop.evaluated and stop.end_ns is not None and stop.end_ns <= stop.save_ns:
        return (stop.save_ns - stop.end_ns) / NS
    begin = int(run.steps.t_ns[row - 1])
    if before is None or not begin <= stop.save_ns <= int(run.steps.t_ns[row]):
        return None
    since_s = max(0.0, (stop.save_ns - begin) / NS - before * level_s)
    return since_s if stop.begin_ns is None else min(since_s, (stop.save_ns - stop.begin_ns) / NS)


def _before_the_line_before(run: Run, row: int, stop: Stop, before: int | None, level_s: float) -> float:
    """Seconds that passed before the line right before a checkpoint's own: they are none of it.

    That is something else's line: a result, a warning.
    """
    if stop.begin_ns is None or before is None:
        return 0.0
    return max(0.0, (stop.begin_ns - int(run.steps.t_ns[row - 1])) / NS - before * level_s)


class SaveLines(NamedTuple):
    """What the rows with a checkpoint say of all: whether its line comes when it has been written, and not before; the
    longest time before such a line; and what a checkpoint usually takes, None where no row has one.
    """

    end: bool
    most_before_s: float
    usual_s: float | None


def save_lines(run: Run, level_s: Callable[[int], float], follow_rows: Set[str]) -> SaveLines:
    """Where the lines of checkpoints come, by all rows that hold one."""
    if not run.is_recorded:
        return SaveLines(end=False, most_before_s=0.0, usual_s=None)
    rows = [(stop.row, stop) for stop in run.stops if stop.saved and stop.row]
    rows = [
        (row, stop)
        for row, stop in rows
        if run.steps.segment[row] == run.steps.segment[row - 1] and _came_as_timed(run, row)
    ]
    before: list[float] = []
    for row, stop in rows:
        seconds = _until_its_line(run, row, stop, _steps_before(run, row, stop, follow_rows), level_s(row))
        before += [] if seconds is None else [seconds]
    usual = float(median(np.array(before))) if before else 0.0
    end = usual >= _LEAST_SAVE_S and min(before) >= _ALIKE * usual
    splits = [split_row(run, row, stop, level_s(row), follow_rows=follow_rows, ends_save=end) for row, stop in rows]
    seconds_each = sorted(split.checkpoint_s for split in splits if split is not None)
    # Of two, the longer one is the one that may hold something else.
    middle = seconds_each[(len(seconds_each) - 1) // 2] if seconds_each else None
    return SaveLines(end, max(before, default=0.0), middle)


def _steps_before(run: Run, row: int, stop: Stop, follow_rows: Set[str]) -> int | None:
    """How many of the row's steps came before the stop; None where no number says it."""
    span = int(run.steps.span[row])
    if span <= 1:
        return 0
    before = stop.step - int(run.steps.step[row - 1])
    # The number of the next line may be nothing but the number of the next line.
    if before == span and ("evaluation" if stop.evaluated else "checkpoint") in follow_rows:
        return 0
    return before if 0 <= before < span else None


def following_rows(run: Run) -> Set[str]:
    """What of evaluations and checkpoints comes at the steps printed before it: those are multiples of its distance."""
    found = set()
    kinds = {"evaluation": [stop for stop in run.stops if stop.evaluated]}
    kinds["checkpoint"] = [stop for stop in run.stops if stop.saved and not stop.evaluated]
    for kind, stops in kinds.items():
        rows = [stop.row for stop in stops if stop.row]
        if not run.is_recorded or len(rows) < _LEAST_STOPS:
            continue
        before, after = ([int(run.steps.step[row - shift]) for row in rows] for shift in (1, 0))
        every = math.gcd(*np.diff(before).tolist())
        if every > 1 and _is_round(before, every) and not _is_round(after, every):
            found.add(kind)
    return found


def _is_round(steps: list[int], every: int) -> bool:
    return steps[0] % every in {0, every - 1}
