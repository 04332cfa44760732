"""Seconds that no printed time covers, by the timestamps: start-up, pauses between processes, stops outside the clock.

Stops that the log's clock does not run for are what the timestamps of two rows have between them beyond the printed
times. Several stops may share such a stretch, and not every row has a timestamp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger.baseline import Baseline
from stepscope.lines.notices import FATAL
from stepscope.run.model import NO_TIME, Floats, Run
from stepscope.run.stops import Stop

# A rate needs at least this many stretches between timestamps, each at least this many ticks long.
_ENOUGH_STRETCHES = 8
_TICKS = 10
OutsidePhase = Literal["warmup", "gap", "evaluation", "checkpoint"]


class Outside(NamedTuple):
    """Seconds outside every printed time. Negative where the rows around a stop were stamped unevenly: sums count."""

    seconds: float
    phase: OutsidePhase
    is_last: bool = False  # after the last step, where a run does more than usual


def find_outside(run: Run, stops: Sequence[Stop], baseline: Baseline) -> list[Outside]:
    """Everything that the timestamps show and no printed time covers."""
    found = [*_between_processes(run), *_after_last_row(run, stops)]
    stopped = _stopped_clock(run, stops, baseline)
    for phase in ("evaluation", "checkpoint"):
        own = [outside for outside in stopped if outside.phase == phase]
        if sum(outside.seconds for outside in own) > 0:
            found += own
    return found


def is_after_last_row(run: Run, stop: Stop) -> bool:
    """Whether a stop comes after the last step of a log whose timestamps then show how long it took."""
    if _row_after(run, stop) < len(run) or run.stamps is None or run.steps.t_ns[-1] == NO_TIME:
        return False
    return run.clock.is_wall or not stop.is_inside


def _row_after(run: Run, stop: Stop) -> int:
    """The first row that was written after a stop."""
    return stop.next_row + (1 if run.format.layout.events_follow_step else 0)


def begin_ns(run: Run) -> int:
    """When the log begins: at its first timestamp, or where the time of its first row reaches back to."""
    assert run.stamps is not None
    steps = run.steps
    if steps.t_ns[0] == NO_TIME:
        return run.stamps.first_ns
    return min(run.stamps.first_ns, int(steps.t_ns[0]) - int(steps.dur_ns[0] * steps.span[0]))


def expected_s(run: Run, baseline: Baseline) -> Floats:
    """Seconds between each row and the one before by the printed times: the row's own steps and the silent ones."""
    steps = run.steps
    silent = np.maximum(np.diff(steps.step) - steps.span[1:], 0)
    expected: Floats = steps.seconds[1:] + silent * baseline.level[1:]
    return expected


def _last_crash_ns(run: Run, begin_ns: int, first_row_ns: int) -> int:
    """When the last launch crashed that came to no step; the beginning where none did. What comes then is start-up."""
    crashes = [notice.t_ns for notice in run.notices if notice.row == 0 and notice.kind in FATAL]
    return max((moment for moment in crashes if begin_ns < moment <= first_row_ns), default=begin_ns)


def _between_processes(run: Run) -> list[Outside]:
    """Start-up before a process's first step, and the pause between two processes."""
    assert run.stamps is not None
    steps = run.steps
    found: list[Outside] = []
    end_ns = begin_ns(run)
    for index, segment in enumerate(run.segments):
        first = segment.first_row
        if steps.t_ns[first] == NO_TIME:
            return found
        # The printed time of the first step reaches back to where its loop began.
        began = int(steps.t_ns[first]) - int(steps.dur_ns[first] * steps.span[first])
        if began > end_ns:
            crashed = _last_crash_ns(run, end_ns, began) if index == 0 else began
            if crashed > end_ns:
                found.append(Outside((crashed - end_ns) / NS, "gap"))
            if began > crashed:
                found.append(Outside((began - crashed) / NS, "warmup"))
        last = int(steps.t_ns[first + segment.num_rows - 1])
        end_ns = max(end_ns, last) if last != NO_TIME else end_ns
    return found


def _stopped_clock(run: Run, stops: Sequence[Stop], baseline: Baseline) -> list[Outside]:
    """Evaluations and checkpoints during which the log's clock is stopped."""
    steps = run.steps
    stamped = np.flatnonzero(steps.t_ns != NO_TIME)
    total = np.concatenate([[0.0], np.cumsum(expected_s(run, baseline))])
    stretches: dict[int, list[Stop]] = {}
    for row, own in stopped_rows(run, stops).items():
        after = int(np.searchsorted(stamped, row))
        if 0 < after < len(stamped):
            stretches.setdefault(after, []).extend(own)
    found: list[Outside] = []
    beyond = _beyond_printed(run, stamped, total, set(stretches))
    for after, shared in stretches.items():
        first, last = int(stamped[after - 1]), int(stamped[after])
        if steps.segment[first] != steps.segment[last]:
            continue
        left = float(steps.t_ns[last] - steps.t_ns[first]) / NS - beyond * float(total[last] - total[first])
        # Rows that took their timestamps from another line are not where they were written.
        is_close = last == first + 1 and len(stamped) == len(steps)
        found += _shared_out(left, shared, _saved_last_s(run, shared, last) if is_close else 0.0)
    return found


def _beyond_printed(run: Run, stamped: np.ndarray, total: Floats, with_stops: set[int]) -> float:
    """How many times the printed time passes where nothing stops: some clocks leave out a part of every step."""
    assert run.stamps is not None
    steps = run.steps
    rows = np.array([i for i in range(1, len(stamped)) if i not in with_stops], dtype=np.int64)
    if len(rows) < _ENOUGH_STRETCHES:
        return 1.0
    first, last = stamped[rows - 1], stamped[rows]
    passed, printed = (steps.t_ns[last] - steps.t_ns[first]) / NS, total[last] - total[first]
    same = (steps.segment[first] == steps.segment[last]) & (printed > 0)
    if int(same.sum()) < _ENOUGH_STRETCHES or float(median(passed[same])) < _TICKS * (run.stamps.resolution_ns / NS):
        return 1.0
    return max(1.0, float(median(passed[same] / printed[same])))


def stopped_rows(run: Run, stops: Sequence[Stop]) -> dict[int, list[Stop]]:
    """The rows before which the log's clock was stopped, with the stops that caused it."""
    found: dict[int, list[Stop]] = {}
    for stop in stops:
        if (stop.evaluated and not stop.evaluation_inside) or (stop.saved and not stop.save_inside):
            found.setdefault(_row_after(run, stop), []).append(stop)
    return found


def _saved_last_s(run: Run, stops: Sequence[Stop], row: int) -> float:
    """Seconds from a checkpoint's line after the evaluation to the next row, less that row's own steps."""
    ends = [stop.end_ns for stop in stops if stop.evaluated and stop.end_ns is not None]
    begins = [stop.save_ns for stop in stops if stop.saved and not stop.save_inside and stop.save_ns is not None]
    if not ends or not begins or max(begins) < max(ends):
        return 0.0  # the checkpoint is printed before the evaluation, and no line shows where it ended
    steps_after_s = (
        max(0, int(run.steps.step[row]) - max(stop.step for stop in stops)) * float(run.steps.dur_ns[row]) / NS
    )
    return max(0.0, (int(run.steps.t_ns[row]) - max(begins)) / NS - steps_after_s)


def _shared_out(left: float, stops: Sequence[Stop], saved_last_s: float) -> list[Outside]:
    """One stretch divided among its stops: printed checkpoint times first, the rest is evaluation if there was one."""
    found = []
    for stop in stops:
        if stop.save_took_s and not stop.save_inside and left > 0:
            took = min(left, stop.save_took_s)
            found.append(Outside(took, "checkpoint"))
            left -= took
    evaluations = sum(stop.evaluated and not stop.evaluation_inside for stop in stops)
    saves = sum(stop.saved and not stop.save_inside and not stop.save_took_s for stop in stops)
    if evaluations and saves and 0 < saved_last_s < left:
        found.append(Outside(saved_last_s, "checkpoint"))
        left -= saved_last_s
    if evaluations:
        return found + [Outside(left / evaluations, "evaluation")] * evaluations
    return found + [Outside(left / saves, "checkpoint")] * saves if saves else found


def _after_last_row(run: Run, stops: Sequence[Stop]) -> list[Outside]:
    """The evaluation and the checkpoint after the last step: up to their own lines, a checkpoint to the last line."""
    found: list[Outside] = []
    at_ns = int(run.steps.t_ns[-1])
    for stop in stops:
        if not is_after_last_row(run, stop):
            continue
        if stop.evaluated and stop.end_ns is not None and stop.end_ns > at_ns:
            found.append(Outside((stop.end_ns - at_ns) / NS, "evaluation", is_last=True))
            at_ns = stop.end_ns
        if stop.saved:
            assert run.stamps is not None
            left = (run.stamps.last_ns - at_ns) / NS
            took = left if stop.save_took_s is None else min(left, stop.save_took_s)
            if took > 0:
                found.append(Outside(took, "checkpoint", is_last=True))
                at_ns += round(took * NS)
    return found
