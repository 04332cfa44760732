"""What no printed time covers, in pieces, and the places of rows and stops that its parts share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from stepscope.ledger.baseline import Baseline
from stepscope.run.model import NO_TIME, Floats, Run
from stepscope.run.stops import Stop

OutsidePhase = Literal["step", "warmup", "gap", "evaluation", "checkpoint"]


class Outside(NamedTuple):
    """Seconds outside every printed time. Negative where the rows around a stop were stamped unevenly: sums count."""

    seconds: float
    phase: OutsidePhase
    is_last: bool = False  # after the last step, where a run does more than usual
    num: int = 1
    doubt_s: float = 0.0  # of a checkpoint: how much may as well be the evaluation's that follows it
    less_s: float = 0.0  # how much shorter it may be, as no line says how many steps came before it
    open_s: float = 0.0  # seconds next to it that may be its as well, or another stop's


def is_after_last_row(run: Run, stop: Stop) -> bool:
    """Whether a stop comes after the last step of a log whose timestamps then show how long it took."""
    if row_after(run, stop) < len(run) or run.stamps is None or run.steps.t_ns[-1] == NO_TIME:
        return False
    return run.clock.is_wall or not stop.is_inside


def row_after(run: Run, stop: Stop) -> int:
    """The first row that was written after a stop."""
    return stop.next_row + (1 if run.format.layout.events_follow_step else 0)


def begin_ns(run: Run) -> int:
    """When the log begins: at its first timestamp, or where the time of its first row reaches back to."""
    assert run.stamps is not None
    steps = run.steps
    if steps.t_ns[0] == NO_TIME or takes_stamps_of_others(run):
        return run.stamps.first_ns
    return min(run.stamps.first_ns, int(steps.t_ns[0]) - int(steps.dur_ns[0] * steps.span[0]))


def takes_stamps_of_others(run: Run) -> bool:
    """Whether rows have the timestamps of lines before them, as not every row has one: they were printed later."""
    return run.clock.is_running and bool((run.steps.t_ns == NO_TIME).any())


def expected_s(run: Run, baseline: Baseline) -> Floats:
    """Seconds between each row and the one before by the printed times: the row's own steps and the silent ones."""
    steps = run.steps
    silent = np.maximum(np.diff(steps.step) - steps.span[1:], 0)
    expected: Floats = steps.seconds[1:] + silent * baseline.level[1:]
    return expected


def stopped_rows(run: Run, stops: Sequence[Stop]) -> dict[int, list[Stop]]:
    """The rows before which the log's clock was stopped, with the stops that caused it."""
    found: dict[int, list[Stop]] = {}
    for stop in stops:
        if (stop.evaluated and not stop.evaluation_inside) or (stop.saved and not stop.save_inside):
            found.setdefault(row_after(run, stop), []).append(stop)
    return found
