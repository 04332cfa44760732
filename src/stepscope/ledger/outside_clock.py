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
from stepscope.ledger.arrival_split import following_rows, save_lines
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.first_window import FirstWindow, first_windows, usual_spacing
from stepscope.lines.notices import FATAL
from stepscope.run.model import NO_TIME, Floats, Run
from stepscope.run.stops import Stop

# A rate needs at least this many stretches between timestamps, each at least this many ticks long.
_ENOUGH_STRETCHES = 8
_TICKS = 10
# Steps that no line shows were done where at least this share of their usual time passed.
_DONE = 0.9
# A line of an evaluation that comes before this share of it announces it.
_ANNOUNCED = 0.3
# A last checkpoint this many times longer than the others has something else after it.
_ODD_SAVE = 1.5
OutsidePhase = Literal["step", "warmup", "gap", "evaluation", "checkpoint"]


class Outside(NamedTuple):
    """Seconds outside every printed time. Negative where the rows around a stop were stamped unevenly: sums count."""

    seconds: float
    phase: OutsidePhase
    is_last: bool = False  # after the last step, where a run does more than usual
    num: int = 1
    open_s: float = 0.0  # seconds next to it that may be its as well, or another stop's


def find_outside(run: Run, stops: Sequence[Stop], baseline: Baseline) -> list[Outside]:
    """Everything that the timestamps show and no printed time covers."""
    found = [*_between_processes(run, baseline), *_after_last_row(run, stops, baseline)]
    stopped = _stopped_clock(run, stops, baseline)
    for phase in ("evaluation", "checkpoint"):
        own = [outside for outside in stopped if outside.phase == phase]
        if sum(outside.seconds for outside in own) > 0:
            found += own
        elif phase == "evaluation":
            found += _printed_evaluations(run, stops, sum(outside.seconds for outside in found))
    return found


def _printed_evaluations(run: Run, stops: Sequence[Stop], known_s: float) -> list[Outside]:
    """What evaluations say they took, where the timestamps of the rows do not show it but leave room."""
    assert run.stamps is not None
    took = [stop.evaluation_took_s for stop in stops if stop.evaluated and not stop.evaluation_inside]
    printed = [seconds for seconds in took if seconds]
    room_s = (run.stamps.last_ns - begin_ns(run)) / NS - float(run.steps.seconds.sum()) - known_s
    return [Outside(seconds, "evaluation") for seconds in printed] if sum(printed) <= room_s else []


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


def _between_processes(run: Run, baseline: Baseline) -> list[Outside]:
    """Start-up before a process's first step, and the pause between two processes; the steps before the first row."""
    assert run.stamps is not None
    steps = run.steps
    found: list[Outside] = []
    end_ns = begin_ns(run)
    for index, (segment, window) in enumerate(zip(run.segments, first_windows(run, baseline), strict=True)):
        first = segment.first_row
        if steps.t_ns[first] == NO_TIME:
            return found
        # The printed time of the first step reaches back to where its loop began.
        began = int(steps.t_ns[first]) - int(steps.dur_ns[first] * steps.span[first])
        if began > end_ns:
            found += _before_first_row(run, window, index, end_ns, began)
        last = int(steps.t_ns[first + segment.num_rows - 1])
        end_ns = max(end_ns, last) if last != NO_TIME else end_ns
    return found


def _before_first_row(run: Run, window: FirstWindow, segment: int, end_ns: int, began: int) -> list[Outside]:
    """What passed before a process's first row: its first steps, start-up, and what came before that process."""
    crashed = _last_crash_ns(run, end_ns, began) if segment == 0 else end_ns
    steps_s, rest_s = window.split((began - crashed) / NS)
    found = [Outside((crashed - end_ns) / NS, "gap")] if crashed > end_ns else []
    if window.num and steps_s > 0:
        found.append(Outside(steps_s, "step", num=min(window.num, max(1, round(steps_s / window.level_s)))))
    else:
        rest_s += steps_s
    return [*found, Outside(rest_s, "warmup" if segment == 0 else "gap")] if rest_s > 0 else found


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
        until_line = _until_its_line(run, shared, (first, last), left, beyond * float(baseline.level[last]))
        # Rows that took their timestamps from another line are not where they were written.
        is_close = last == first + 1 and len(stamped) == len(steps)
        saved_last_s = _saved_last_s(run, shared, last) if is_close else 0.0
        if _saves_last(shared):
            found += _shared_out(left, shared, saved_last_s or left - until_line)
        else:
            found += _shared_out(until_line, shared, saved_last_s)
    return found


def _until_its_line(run: Run, stops: Sequence[Stop], rows: tuple[int, int], left: float, level_s: float) -> float:
    """What of a stretch is the evaluation's: up to its own line, less the steps before it that were not printed.

    The rest of the stretch, from that line to the next step, is unexplained. A line that comes before most of the
    stretch announces the evaluation, and says nothing about its end.
    """
    first, last = rows
    ends = [stop.end_ns for stop in stops if stop.evaluated and not stop.evaluation_inside and stop.end_ns is not None]
    if last != first + 1 or len(ends) != len(stops):
        return left
    silent = _silent_before(run, stops, first, last)
    if silent is None:
        return left
    own = (max(ends) - int(run.steps.t_ns[first])) / NS - silent * level_s
    return own if _ANNOUNCED * left < own < left else left


def _silent_before(run: Run, stops: Sequence[Stop], first: int, last: int) -> int | None:
    """Unprinted steps between a row and the stop after it: by the stop's number, or up to the end of the epoch."""
    before, after = int(run.steps.step[first]), int(run.steps.step[last])
    stated = max(stop.step for stop in stops)
    if before < stated < after:
        return stated - before
    epoch = run.settings.count("steps_per_epoch")
    if not epoch:
        return 0 if after - before <= int(run.steps.span[last]) and stated == before else None
    ends_at = -(-(before - run.format.layout.first_step + 1) // epoch) * epoch + run.format.layout.first_step - 1
    return ends_at - before if before <= ends_at < after else None


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
    if not _saves_last(stops):
        return 0.0  # the checkpoint is printed before the evaluation, and no line shows where it ended
    begins = [stop.save_ns for stop in stops if stop.saved and not stop.save_inside and stop.save_ns is not None]
    steps_after_s = (
        max(0, int(run.steps.step[row]) - max(stop.step for stop in stops)) * float(run.steps.dur_ns[row]) / NS
    )
    return max(0.0, (int(run.steps.t_ns[row]) - max(begins)) / NS - steps_after_s)


def _saves_last(stops: Sequence[Stop]) -> bool:
    """Whether a checkpoint outside the clock is printed after the evaluation."""
    ends = [stop.end_ns for stop in stops if stop.evaluated and stop.end_ns is not None]
    begins = [stop.save_ns for stop in stops if stop.saved and not stop.save_inside and stop.save_ns is not None]
    return bool(ends) and bool(begins) and max(begins) >= max(ends)


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


def _is_saved_first(stop: Stop) -> bool:
    """Whether a checkpoint says how long it took and was over before the evaluation was."""
    if not stop.saved or not stop.evaluated or stop.save_took_s is None or stop.save_ns is None:
        return False
    return stop.end_ns is None or stop.save_ns <= stop.end_ns


def _add_printed_save(found: list[Outside], stop: Stop, at_ns: int) -> int:
    """Book a checkpoint that says how long it took; the moment after it."""
    assert stop.save_took_s is not None
    assert stop.save_ns is not None
    took = min(stop.save_took_s, (stop.save_ns - at_ns) / NS)
    if took <= 0:
        return at_ns
    found.append(Outside(took, "checkpoint", is_last=True))
    return at_ns + round(took * NS)


def _after_last_row(run: Run, stops: Sequence[Stop], baseline: Baseline) -> list[Outside]:
    """The evaluation and the checkpoint after the last step: up to their own lines, a checkpoint to the last line."""
    trailing = [stop for stop in stops if is_after_last_row(run, stop)]
    found = _last_steps(run, trailing, baseline)
    at_ns = int(run.steps.t_ns[-1]) + sum(round(steps.seconds * NS) for steps in found)
    for index, stop in enumerate(trailing):
        if _is_saved_first(stop):
            at_ns = _add_printed_save(found, stop, at_ns)
        if stop.evaluated and stop.end_ns is not None and stop.end_ns > at_ns:
            took = (stop.end_ns - at_ns) / NS
            is_placed = run.is_recorded or run.clock.is_wall
            if is_placed and stop.evaluation_took_s is not None and not stop.evaluation_took_s.is_integer():
                took = min(took, stop.evaluation_took_s)  # what came before its own clock began is something else
            found.append(Outside(took, "evaluation", is_last=True))
            at_ns = stop.end_ns
        if stop.saved and not _is_saved_first(stop):
            assert run.stamps is not None
            left = (_next_begin_ns(run, trailing[index + 1 :]) - at_ns) / NS
            took = _last_save_s(run, stop, at_ns, left, baseline) if stop.save_took_s is None else stop.save_took_s
            took = min(left, took)
            if took > 0:
                open_s = left - took if stop.save_took_s is None else 0.0
                found.append(Outside(took, "checkpoint", is_last=True, open_s=open_s))
                at_ns += round(took * NS)
    return found


def _next_begin_ns(run: Run, later: Sequence[Stop]) -> int:
    """When the next of these stops began, as far as an evaluation says how long it took; else the end of the log."""
    assert run.stamps is not None
    following = later[0] if later and run.is_recorded else None
    if following is None or following.end_ns is None or following.evaluation_took_s is None:
        return run.stamps.last_ns
    return following.end_ns - round(following.evaluation_took_s * NS)


def _last_save_s(run: Run, stop: Stop, at_ns: int, left: float, baseline: Baseline) -> float:
    """What of the time after the last step, from a moment on, is a checkpoint's: up to its line, if that ends it.

    Else as much as others took, where more is left than that: what is far before its line or follows may be anything.
    """
    lines = save_lines(run, lambda row: float(baseline.level[row]), following_rows(run))
    before = 0.0 if stop.save_ns is None else max(0.0, (stop.save_ns - at_ns) / NS)
    if lines.end and before:
        return before
    if lines.usual_s is None:
        return left
    own = left - before if before > _ODD_SAVE * lines.most_before_s else left
    return lines.usual_s if own > _ODD_SAVE * lines.usual_s else own


def _last_steps(run: Run, stops: Sequence[Stop], baseline: Baseline) -> list[Outside]:
    """The steps between the last row and the stop after it, which fall short of a printed line.

    Up to the step that the stop's line states, else up to the last of the run; only if there was time for them.
    """
    if not stops:
        return []
    last, total = int(run.steps.step[-1]), run.settings.count("max_steps") or 0
    stated = max(stop.step for stop in stops)
    num = (stated if stated > last else total) - last
    moments = [moment for stop in stops for moment in (stop.end_ns, stop.save_ns) if moment is not None]
    seconds = num * float(baseline.level[-1])
    if not moments or not 0 < num <= usual_spacing(run):
        return []
    passed = (min(moments) - int(run.steps.t_ns[-1])) / NS
    return [Outside(min(seconds, passed), "step", num=num)] if passed >= _DONE * seconds else []
