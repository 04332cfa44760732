"""Evaluations and checkpoints during which the log's clock is stopped: what timestamps have beyond the printed times.

Several stops may share a stretch between two rows, and not every row has a timestamp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger.arrival_split import following_rows
from stepscope.ledger.baseline import Baseline
from stepscope.ledger.outside import Outside, expected_s, stopped_rows, takes_stamps_of_others
from stepscope.run.model import NO_TIME, Floats, Run
from stepscope.run.stops import Stop

# A rate needs at least this many stretches between timestamps, each at least this many ticks long.
_ENOUGH_STRETCHES, _LEAST_STRETCHES = 8, 2
_LATE_S = 0.01  # how much later than it was printed a line may get its timestamp
_TICKS = 10
# A line of an evaluation that comes before this share of it announces it.
_ANNOUNCED = 0.3
# A checkpoint this many times longer than usual contains something else.
_ODD_SAVE = 2.0
# A window's sum below this share of the level began again after the stop: steps before it are in no printed time.
_BEGUN_AGAIN = 0.9


def stopped_clock(run: Run, stops: Sequence[Stop], baseline: Baseline) -> list[Outside]:
    """Evaluations and checkpoints during which the log's clock is stopped."""
    steps = run.steps
    stamped = np.flatnonzero(steps.t_ns != NO_TIME)
    total = np.concatenate([[0.0], np.cumsum(expected_s(run, baseline))])
    stretches: dict[int, list[Stop]] = {}
    for row, own in stopped_rows(run, stops).items():
        after = int(np.searchsorted(stamped, row))
        if 0 < after < len(stamped):
            stretches.setdefault(after, []).extend(own)
    found: list[_Stretch] = []
    follow = following_rows(run)
    beyond = _beyond_printed(run, stamped, total, set(stretches))
    for after, shared in stretches.items():
        first, last = int(stamped[after - 1]), int(stamped[after])
        if steps.segment[first] != steps.segment[last]:
            continue
        own_s = beyond * float(total[last] - total[first])
        left = float(steps.t_ns[last] - steps.t_ns[first]) / NS - own_s
        silent, most_silent = _silent_before(run, shared, (first, last), follow)
        level_s = beyond * float(baseline.level[last])
        until_line = _until_its_line(run, shared, (first, last), left, None if silent is None else silent * level_s)
        less_s = min(until_line, most_silent * level_s) if until_line < left else 0.0
        # Rows that took their timestamps from another line are not where they were written.
        is_close = last == first + 1 and len(stamped) == len(steps)
        saved_last_s = _saved_last_s(run, shared, (first, last), own_s) if is_close else 0.0
        saved_first_s = _saved_first_s(run, shared, (first, last), left) if is_close else 0.0
        if is_close and _began_again(run, last, baseline):
            most = _printed_s(shared) + saved_last_s
            left, until_line = min(left, most), min(until_line, most)
        if _saves_last(shared):
            stretch = _Stretch(left, shared, saved_last_s or left - until_line, less_s=less_s)
        elif saved_first_s:
            stretch = _Stretch(until_line, shared, saved_first_s, doubt_s=saved_first_s)
        else:
            stretch = _Stretch(until_line, shared, saved_last_s, less_s=less_s)
        found.append(stretch._replace(first_row=first))
    found = _without_start_up(run, found)
    return [outside for stretch in _with_saves_before(found) for outside in _shared_out(stretch)]


def _without_start_up(run: Run, stretches: list[_Stretch]) -> list[_Stretch]:
    """The stretches, the first no longer than others are where it begins with a timestamp from before the first row.

    Rows that take their timestamps from other lines have that of the line before them: start-up lies between.
    """
    if not stretches or not takes_stamps_of_others(run) or stretches[0].first_row != 0:
        return stretches
    first, others = stretches[0], stretches[1:]
    most = float(median([own.seconds for own in others])) if others else _printed_s(first.stops)
    return [first._replace(seconds=min(first.seconds, most)), *others]


def _began_again(run: Run, row: int, baseline: Baseline) -> bool:
    """Whether the printed sum of a row is of fewer steps than the row, as its timer started again after a stop."""
    is_short = float(run.steps.seconds[row]) < _BEGUN_AGAIN * float(baseline.level[row]) * int(run.steps.span[row])
    return is_short and run.clock.is_sum


def _printed_s(stops: Sequence[Stop]) -> float:
    """What the stops say they took; without end where an evaluation does not say."""
    took = [stop.evaluation_took_s for stop in stops if stop.evaluated and not stop.evaluation_inside]
    if any(seconds is None for seconds in took):
        return math.inf
    saved = [stop.save_took_s or 0.0 for stop in stops if stop.saved and not stop.save_inside]
    return sum(seconds or 0.0 for seconds in took) + sum(saved)


class _Stretch(NamedTuple):
    """Seconds between two rows, the stops that they are for, and what of them is a checkpoint that prints no time."""

    seconds: float
    stops: list[Stop]
    saved_s: float
    doubt_s: float = 0.0
    less_s: float = 0.0
    first_row: int = -1  # the row that it begins with

    @property
    def around_s(self) -> float | None:
        """What its evaluation takes beyond the seconds that it prints; None where it prints none, or saves as well."""
        took = [stop.evaluation_took_s for stop in self.stops]
        if any(seconds is None for seconds in took) or any(stop.saved for stop in self.stops):
            return None
        return self.seconds - sum(seconds or 0.0 for seconds in took)

    @property
    def before_s(self) -> float | None:
        """Seconds from a checkpoint's line to the evaluation's, beyond those that the latter prints; None without."""
        stop = self.stops[0]
        is_known = stop.saved and not stop.save_inside and stop.save_took_s is None and not stop.evaluation_inside
        if len(self.stops) > 1 or not is_known or stop.evaluation_took_s is None:
            return None
        if stop.save_ns is None or stop.end_ns is None or stop.save_ns >= stop.end_ns:
            return None
        return (stop.end_ns - stop.save_ns) / NS - stop.evaluation_took_s


def _with_saves_before(stretches: list[_Stretch]) -> list[_Stretch]:
    """Checkpoints that are written right before an evaluation, apart from it where the evaluation prints its time.

    What it takes around its batches (workers that start, a metric) is shown by evaluations without a checkpoint. Where
    there are none, that may be all of it.
    """
    before = [None if stretch.saved_s else stretch.before_s for stretch in stretches]
    known = [seconds for seconds in before if seconds is not None]
    if not known:
        return stretches
    around = [seconds for stretch in stretches if (seconds := stretch.around_s) is not None]
    around_s = max(0.0, float(median(around))) if around else 0.0
    usual = max(0.0, float(median(known)) - around_s)
    found = []
    for stretch, seconds in zip(stretches, before, strict=True):
        saved_s = max(0.0, seconds - around_s) if seconds is not None else 0.0
        saved_s = usual if saved_s > _ODD_SAVE * usual else saved_s
        found.append(stretch._replace(saved_s=saved_s, doubt_s=0.0 if around else saved_s) if saved_s else stretch)
    return found


def _until_its_line(
    run: Run, stops: Sequence[Stop], rows: tuple[int, int], left: float, silent_s: float | None
) -> float:
    """What of a stretch is the evaluation's: up to its own line, less the steps before it that were not printed.

    The rest of the stretch, from that line to the next step, is unexplained. A line that comes before most of the
    stretch announces the evaluation, and says nothing about its end.
    """
    first, last = rows
    ends = [stop.end_ns for stop in stops if stop.evaluated and not stop.evaluation_inside and stop.end_ns is not None]
    if last != first + 1 or len(ends) != len(stops) or silent_s is None:
        return left
    own = (max(ends) - int(run.steps.t_ns[first])) / NS - silent_s
    return own if _ANNOUNCED * left < own < left else left


def _silent_before(
    run: Run, stops: Sequence[Stop], rows: tuple[int, int], follow_rows: Set[str]
) -> tuple[int | None, int]:
    """Unprinted steps between a row and the stop after it, and how many more at most: by the stop's number, by a rhythm
    of stops right after printed steps, or up to the end of the epoch."""
    first, last = rows
    before, after = int(run.steps.step[first]), int(run.steps.step[last])
    stated = max(stop.step for stop in stops)
    if before < stated < after:
        return stated - before, 0
    epoch = run.settings.count("steps_per_epoch")
    if epoch:
        first_step = run.format.layout.first_step
        ends_at = -(-(before - first_step + 1) // epoch) * epoch + first_step - 1
        return (ends_at - before, 0) if before <= ends_at < after else (None, 0)
    if stated == before and (run.is_recorded or after - before <= int(run.steps.span[last])):
        return 0, 0
    if not run.is_recorded or any(stop.is_numbered for stop in stops):
        return None, 0
    return 0, 0 if "evaluation" in follow_rows else after - before - 1


def _saved_first_s(run: Run, stops: Sequence[Stop], rows: tuple[int, int], left: float) -> float:
    """Seconds from a row to the line of a checkpoint after it, in a recording: the checkpoint's, if no step came
    between. 0 where no evaluation follows, or the checkpoint prints its time."""
    if not run.is_recorded or _saves_last(stops) or not any(stop.evaluated for stop in stops):
        return 0.0
    saves = [stop for stop in stops if stop.saved and not stop.save_inside]
    if len(saves) != 1 or saves[0].save_ns is None or saves[0].save_took_s is not None:
        return 0.0
    passed = (saves[0].save_ns - int(run.steps.t_ns[rows[0]])) / NS
    return passed if 0 < passed < left else 0.0


def _beyond_printed(run: Run, stamped: np.ndarray, total: Floats, with_stops: set[int]) -> float:
    """How many times the printed time passes where nothing stops: some clocks leave out a part of every step."""
    assert run.stamps is not None
    steps = run.steps
    rows = np.array([i for i in range(1, len(stamped)) if i not in with_stops], dtype=np.int64)
    first, last = stamped[rows - 1], stamped[rows]
    passed, printed = (steps.t_ns[last] - steps.t_ns[first]) / NS, total[last] - total[first]
    same = (steps.segment[first] == steps.segment[last]) & (printed > 0)
    tick_s = run.stamps.resolution_ns / NS
    if int(same.sum()) < _LEAST_STRETCHES or float(median(passed[same])) < _TICKS * tick_s:
        return 1.0
    if int(same.sum()) < _ENOUGH_STRETCHES:
        # A few show it where each has the same beyond its printed time, by far more than their timestamps are off.
        excess = (passed - printed)[same]
        if float(excess.min()) < _TICKS * tick_s or float(np.ptp(excess)) > 2 * tick_s + _LATE_S:
            return 1.0
    return max(1.0, float(median(passed[same] / printed[same])))


def _saved_last_s(run: Run, stops: Sequence[Stop], rows: tuple[int, int], own_s: float) -> float:
    """Seconds from a checkpoint's line after the evaluation to the next row, less the steps in between.

    `own_s` is what the next row's steps took. Where no line says at which step the stop was, they are counted from the
    moment it began.
    """
    if not _saves_last(stops):
        return 0.0  # the checkpoint is printed before the evaluation, and no line shows where it ended
    steps, (first, last) = run.steps, rows
    begins = [stop.save_ns for stop in stops if stop.saved and not stop.save_inside and stop.save_ns is not None]
    began = [stop.begin_ns for stop in stops if stop.begin_ns is not None]
    if began and not any(stop.is_numbered for stop in stops):
        steps_after_s = own_s - max(0, min(began) - int(steps.t_ns[first])) / NS
    else:
        steps_after_s = (int(steps.step[last]) - max(stop.step for stop in stops)) * float(steps.dur_ns[last]) / NS
    return max(0.0, (int(steps.t_ns[last]) - max(begins)) / NS - max(0.0, steps_after_s))


def _saves_last(stops: Sequence[Stop]) -> bool:
    """Whether a checkpoint outside the clock is printed after the evaluation."""
    ends = [stop.end_ns for stop in stops if stop.evaluated and stop.end_ns is not None]
    begins = [stop.save_ns for stop in stops if stop.saved and not stop.save_inside and stop.save_ns is not None]
    return bool(ends) and bool(begins) and max(begins) >= max(ends)


def _shared_out(stretch: _Stretch) -> list[Outside]:
    """One stretch divided among its stops: printed checkpoint times first, the rest is evaluation if there was one."""
    left, stops, saved_s, doubt_s, less_s, _ = stretch
    found = []
    for stop in stops:
        if stop.save_took_s and not stop.save_inside and left > 0:
            took = min(left, stop.save_took_s)
            found.append(Outside(took, "checkpoint"))
            left -= took
    evaluations = sum(stop.evaluated and not stop.evaluation_inside for stop in stops)
    saves = sum(stop.saved and not stop.save_inside and not stop.save_took_s for stop in stops)
    if evaluations and saves and 0 < saved_s < left:
        found.append(Outside(saved_s, "checkpoint", doubt_s=doubt_s))
        left -= saved_s
    if evaluations and saves and not saved_s and (rest := left - _printed_s(stops)) > 0:
        # Nothing else is known to have come between, and each evaluation says how long it took.
        found += [Outside(rest / saves, "checkpoint", doubt_s=rest / saves)] * saves
        left -= rest
    if evaluations:
        return found + [Outside(left / evaluations, "evaluation", less_s=less_s / evaluations)] * evaluations
    return found + [Outside(left / saves, "checkpoint")] * saves if saves else found
