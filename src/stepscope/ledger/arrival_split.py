"""What the arrival of its lines says of a row with an evaluation or a checkpoint, in a recording.

Between the line of one step and the line of the next come, in the log's own order: steps that are not printed, the
evaluation and its line, the checkpoint with a line before or after it, the steps up to the next line. We saw all of
these lines come, so each of these stretches is known but for the steps in it, which take what steps take.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stepscope.core.units import NS
from stepscope.run.model import NO_TIME, Run
from stepscope.run.stops import Stop

# An evaluation whose line comes before this share of what the row has beyond its steps is announced by it.
_ANNOUNCED = 0.05
# A printed duration may be this much longer than what passed: other clocks, and seconds that are rounded.
_SLACK_S, _SLACK = 0.05, 0.05
_LEAST_STOPS = 2


class ArrivalSplit(NamedTuple):
    """Seconds of a row with a stop: of the evaluation, of the checkpoint, and of nothing that a line explains."""

    evaluation_s: float
    checkpoint_s: float
    rest_s: float


def split_row(run: Run, row: int, stop: Stop, level_s: float, *, follows_row: bool = False) -> ArrivalSplit | None:
    """The parts of a row beyond its steps, each of which takes `level_s`; None where the arrivals do not say.

    `follows_row`: an evaluation without a number comes right after the step that was printed before it.
    """
    steps = run.steps
    if not run.is_recorded or not run.clock.is_wall or row < 1 or steps.segment[row] != steps.segment[row - 1]:
        return None
    begin, end = int(steps.t_ns[row - 1]), int(steps.t_ns[row])
    before = _steps_before(run, row, stop, follows_row=follows_row)
    if NO_TIME in {begin, end}:
        return None
    excess = (end - begin) / NS - int(steps.span[row]) * level_s
    if excess <= 0:
        return None
    if not stop.evaluated:
        return ArrivalSplit(0.0, excess, 0.0) if stop.saved else None
    evaluated = stop.evaluation_took_s
    is_rounded = evaluated is not None and evaluated.is_integer() and stop.end_ns is not None and before is not None
    if evaluated is not None and not is_rounded:
        if evaluated > excess * (1 + _SLACK) + _SLACK_S:
            return None
        return _shared(stop, min(evaluated, excess), excess)
    if stop.end_ns is None or before is None or not begin < stop.end_ns <= end:
        return None
    saved_first = stop.save_ns is not None and stop.save_ns < stop.end_ns
    if saved_first:
        return None  # where the checkpoint ended and the evaluation began, no line says
    evaluated = min(excess, (stop.end_ns - begin) / NS - before * level_s)
    if evaluated < max(level_s, _ANNOUNCED * excess) and not stop.saved:
        return ArrivalSplit(excess, 0.0, 0.0)
    if evaluated <= 0:
        return None
    return _shared(stop, evaluated, excess)


def _shared(stop: Stop, evaluation_s: float, excess_s: float) -> ArrivalSplit:
    """What the evaluation leaves is the checkpoint, if there was one."""
    rest = excess_s - evaluation_s
    return ArrivalSplit(evaluation_s, rest, 0.0) if stop.saved else ArrivalSplit(evaluation_s, 0.0, rest)


def _steps_before(run: Run, row: int, stop: Stop, *, follows_row: bool) -> int | None:
    """How many of the row's steps came before the evaluation; None where no number says it."""
    span = int(run.steps.span[row])
    if span <= 1:
        return 0
    before = stop.step - int(run.steps.step[row - 1])
    # The number of the next line may be nothing but the number of the next line.
    if before == span and follows_row:
        return 0
    return before if 0 <= before < span else None


def follow_rows(run: Run) -> bool:
    """Whether evaluations come at the steps printed before them: those are multiples of their distance."""
    rows = [stop.row for stop in run.stops if stop.evaluated and stop.row]
    if len(rows) < _LEAST_STOPS:
        return False
    steps = run.steps.step
    before, after = ([int(steps[row - shift]) for row in rows] for shift in (1, 0))
    every = math.gcd(*np.diff(before).tolist())
    return every > 1 and _is_round(before, every) and not _is_round(after, every)


def _is_round(steps: list[int], every: int) -> bool:
    return steps[0] % every in {0, every - 1}
