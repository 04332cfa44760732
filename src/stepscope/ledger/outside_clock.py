"""Seconds that no printed time covers, by the timestamps: start-up, pauses between processes, stops, the end."""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.core.units import NS
from stepscope.ledger.after_last_row import after_last_row
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.first_window import FirstWindow, first_windows
from stepscope.ledger.outside import Outside, begin_ns, row_after
from stepscope.ledger.stopped_clock import stopped_clock
from stepscope.lines.notices import FATAL
from stepscope.run.model import NO_TIME, Run
from stepscope.run.stops import Stop

# A printed time of whole seconds may reach back to before the first line: of what is on that line, this much is left.
_MOSTLY = 0.5


def find_outside(run: Run, stops: Sequence[Stop], baseline: Baseline) -> list[Outside]:
    """Everything that the timestamps show and no printed time covers."""
    found = [*_between_processes(run, stops, baseline), *after_last_row(run, stops, baseline)]
    stopped = stopped_clock(run, stops, baseline)
    for phase in ("evaluation", "checkpoint"):
        own = [outside for outside in stopped if outside.phase == phase]
        if sum(outside.seconds for outside in own) > 0:
            found += own
            found += [Outside(seconds, "evaluation", is_last=True) for seconds in _printed_last(run, stops, phase)]
        elif phase == "evaluation":
            found += _printed_evaluations(run, stops, sum(outside.seconds for outside in found))
    return found


def _printed_last(run: Run, stops: Sequence[Stop], phase: str) -> list[float]:
    """What the evaluations after the last row say they took, where that row has no timestamp to count from."""
    if phase != "evaluation" or not len(run) or run.steps.t_ns[-1] != NO_TIME:
        return []
    last = [
        stop for stop in stops if stop.evaluated and not stop.evaluation_inside and row_after(run, stop) >= len(run)
    ]
    return [stop.evaluation_took_s for stop in last if stop.evaluation_took_s]


def _printed_evaluations(run: Run, stops: Sequence[Stop], known_s: float) -> list[Outside]:
    """What evaluations say they took, where the timestamps of the rows do not show it but leave room."""
    assert run.stamps is not None
    took = [stop.evaluation_took_s for stop in stops if stop.evaluated and not stop.evaluation_inside]
    printed = [seconds for seconds in took if seconds]
    room_s = (run.stamps.last_ns - begin_ns(run)) / NS - float(run.steps.seconds.sum()) - known_s
    return [Outside(seconds, "evaluation") for seconds in printed] if sum(printed) <= room_s else []


def _last_crash_ns(run: Run, begin_ns: int, first_row_ns: int) -> int:
    """When the last launch crashed that came to no step; the beginning where none did. What comes then is start-up."""
    crashes = [notice.t_ns for notice in run.notices if notice.row == 0 and notice.kind in FATAL]
    return max((moment for moment in crashes if begin_ns < moment <= first_row_ns), default=begin_ns)


def _on_first_lines(run: Run, stops: Sequence[Stop]) -> dict[int, list[Outside]]:
    """What evaluations and checkpoints took whose results are on the first line of a process, by its row: its steps
    came before them."""
    lines = {int(run.steps.line[row]): row for row in run.steps.first_rows.tolist()}
    found: dict[int, list[Outside]] = {}
    for stop in stops:
        if stop.line in lines and stop.evaluated and not stop.evaluation_inside and stop.evaluation_took_s:
            own = [Outside(stop.evaluation_took_s, "evaluation")]
            own += [Outside(stop.save_took_s, "checkpoint")] if stop.save_took_s and not stop.save_inside else []
            found.setdefault(lines[stop.line], []).extend(own)
    return found


def _between_processes(run: Run, stops: Sequence[Stop], baseline: Baseline) -> list[Outside]:
    """Start-up before a process's first step, and the pause between two processes; the steps before the first row."""
    assert run.stamps is not None
    steps = run.steps
    found: list[Outside] = []
    end_ns, on_lines = begin_ns(run), _on_first_lines(run, stops)
    for index, (segment, window) in enumerate(zip(run.segments, first_windows(run, baseline), strict=True)):
        first = segment.first_row
        if steps.t_ns[first] == NO_TIME:
            return found
        # The printed time of the first step reaches back to where its loop began.
        began = int(steps.t_ns[first]) - int(steps.dur_ns[first] * steps.span[first])
        held = on_lines.get(first, [])
        held_ns = round(sum(outside.seconds for outside in held) * NS)
        if held and began - end_ns >= _MOSTLY * held_ns:
            found, began = found + held, max(end_ns, began - held_ns)
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
