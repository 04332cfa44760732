"""Which rows a recording from inside has: its steps, those of a loop joined to what it prints, or the printed lines.

An optimizer may step once for each line, several times, or never where a loop makes do without one. The rows are what
the program itself counts, as far as its lines tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.statistics import median
from stepscope.reading.arrival_rows import came_one_by_one
from stepscope.run.model import NO_TIME, Ints, Run
from stepscope.run.span_rows import OUTSIDE, WAITS, line_begins, overlaps, row_starts
from stepscope.source.span_file import Lane, main_lanes

# On a busy machine a line arrives this much later than it was printed.
LATE_NS = 20_000_000
# Fewer recorded steps than this are not worth leaving the log for.
_LEAST_STEPS = 2
# A loop that makes so many steps of an optimizer, at most, for each step that it prints, by this many printed ones.
_MOST_JOINED, _LEAST_PRINTED, _MOSTLY = 8, 4, 0.8
# A step that collects what several learn from is this many times longer than those, and so much of the time.
_COLLECTS, _LEAST_SHARE, _NEARLY = 3.0, 0.2, 0.9


class MainLane(NamedTuple):
    """The spans of the rank that speaks for the run, over all processes that it had, one after the other."""

    lanes: tuple[Lane, ...]
    begin: Ints  # of each row
    end: Ints
    number: Ints
    process: Ints  # which of the lanes each is of; of printed lines, which part of the log
    span: Ints  # by how many the program counts on with each
    is_lines: bool = False  # whether the rows are printed lines, each with what comes before it

    def spans(self, kind: str) -> Ints:
        """All spans of a kind, in order."""
        found = [lane.spans[kind] for lane in self.lanes if kind in lane.spans]
        return np.concatenate(found) if found else np.zeros((0, 2), dtype=np.int64)

    def starts(self) -> Ints:
        """Where each row begins: with the fetch of its batch, or with the step."""
        spans = {kind: self.spans(kind) for kind in (*WAITS, "evaluation", "checkpoint")}
        return row_starts(self.begin, self.end, spans)

    @property
    def is_counted(self) -> bool:
        """Whether its numbers are our own count, as the probe could not know the program's."""
        return any(lane.is_counted for lane in self.lanes)


def main_lane(lanes: Sequence[Lane]) -> MainLane | None:
    """The lowest rank that has steps; None where none has enough of them."""
    own = main_lanes(lanes)
    if sum(lane.num_steps for lane in own) < _LEAST_STEPS:
        return None
    steps = np.concatenate([lane.spans["step"] for lane in own])
    process = np.repeat(np.arange(len(own)), [lane.num_steps for lane in own])
    number = np.concatenate([_numbers(lane) for lane in own])
    return MainLane(own, steps[:, 0], steps[:, 1], number, process, np.ones(len(steps), dtype=np.int64))


def _numbers(lane: Lane) -> Ints:
    """The numbers of its steps; counted where the probe could not know them."""
    numbers = lane.step_numbers
    return np.arange(len(numbers), dtype=np.int64) if (numbers < 0).any() else numbers


def printed_lane(lanes: Sequence[Lane], log: Run | None, begin_ns: int) -> MainLane | None:
    """The lines of the log as rows, where no hook tells of steps; None where their arrivals do not time them.

    begin_ns
        When the first line of all came: the first row begins there.
    """
    if log is None or len(log) < _LEAST_STEPS or not log.is_recorded or log.is_interval:
        return None
    end, steps = log.steps.t_ns, log.steps
    if (end == NO_TIME).any() or (np.diff(end) <= 0).any() or not came_one_by_one(end) or steps.merged is not None:
        return None
    own = main_lanes(lanes)
    printed = {"evaluation" for stop in log.stops if stop.evaluated} | {
        "checkpoint" for stop in log.stops if stop.saved
    }
    if not all(any(kind in lane.spans for lane in own) for kind in printed):
        return None  # the lines know of more than was seen from inside
    begin = line_begins(steps, begin_ns)
    return MainLane(own, begin, end, steps.step, steps.segment, np.maximum(steps.span, 1), is_lines=True)


def as_printed(main: MainLane, log: Run | None) -> MainLane:
    """The steps as the program counts them: joined, where several are one of its own, and with its numbers."""
    return _aligned(_joined(main, log), log) if main.is_counted else main


def _places(main: MainLane, log: Run, late_ns: int = 0) -> tuple[Ints, Ints]:
    """The numbers that the log prints of steps, and the recorded step that each line comes right after.

    late_ns
        How long before they came the lines were printed.
    """
    is_timed = log.steps.t_ns != NO_TIME
    place = np.searchsorted(main.end, log.steps.t_ns[is_timed] - late_ns, side="right") - 1
    return log.steps.step[is_timed][place >= 0], place[place >= 0]


def _joined(main: MainLane, log: Run | None) -> MainLane:
    """Steps that were only counted, joined: some loops step an optimizer several times in each of their own."""
    if len(main.lanes) > 1 or not main.lanes[0].is_counted:
        return main
    printed, place = _places(main, log) if log is not None else (np.zeros(0, dtype=np.int64),) * 2
    further = np.diff(printed)
    ratios = np.diff(place)[further > 0] / np.maximum(further[further > 0], 1)
    is_known = len(ratios) >= _LEAST_PRINTED
    every = float(median(ratios)) if is_known else 0.0
    if is_known and every >= 2 and _are(ratios, round(every)) and every <= _MOST_JOINED:
        return _at(main, _turns(main, place, printed, round(every)))
    collects = _collecting(main)
    if collects is None or (is_known and 1 <= every < 2):
        return main  # what the log counts is the steps themselves
    turn = _by_collecting(collects, place)
    return main if turn is None else _at(main, turn)


def _are(ratios: npt.NDArray[np.float64], every: int) -> bool:
    return float((ratios == every).mean()) >= _MOSTLY


def _turns(main: MainLane, place: Ints, printed: Ints, every: int) -> Ints:
    """For each step, the number of the program's own that it is part of."""
    offsets, counts = np.unique(place - every * printed, return_counts=True)
    last = int(offsets[np.argmax(counts)])  # of the step 0, as far as there was one
    return np.asarray(-(-(np.arange(len(main.end)) - last) // every), dtype=np.int64)


def _collecting(main: MainLane) -> npt.NDArray[np.bool_] | None:
    """The steps before which something is collected that the next ones learn from as well: far longer than those.

    None where there are none, or what is longer is no matter.
    """
    starts = main.starts()
    follows = np.append(starts[1:], main.end[-1:])
    stops = np.concatenate([main.spans(kind) for kind in OUTSIDE])
    own = np.maximum(np.maximum(follows, main.end) - starts - overlaps(stops, starts, np.maximum(follows, main.end)), 0)
    if len(own) < 2 * _LEAST_PRINTED:
        return None
    long = own > _between_two_kinds(own)
    if int(long.sum()) < _LEAST_PRINTED or long.all() or own[long].sum() < _LEAST_SHARE * own.sum():
        return None
    return long if own[long].min() >= _COLLECTS * float(median(own[~long])) else None


def _between_two_kinds(lengths: Ints) -> int:
    """The longest of the shorter ones, where the time is shared between lengths of two kinds as far apart as can be."""
    ordered = np.maximum(np.sort(lengths), 1).astype(np.float64)
    weights = np.cumsum(ordered) / ordered.sum()
    sums = np.cumsum(ordered * np.log(ordered)) / ordered.sum()
    below, above = weights[:-1], np.maximum(1 - weights[:-1], 1e-12)
    apart = below * above * ((sums[-1] - sums[:-1]) / above - sums[:-1] / below) ** 2
    return int(ordered[int(np.argmax(apart))])


def _by_collecting(collects: npt.NDArray[np.bool_], place: Ints) -> Ints | None:
    """Which turn each step is part of: each begins with a long step. None where those do not come in turn.

    They do with as many others between nearly all of them, or if there is one of them for each printed line.
    """
    rows = np.flatnonzero(collects)
    every = round(float(median(np.diff(rows))))
    if every >= 2:
        phases, counts = np.unique(rows % every, return_counts=True)
        phase = int(phases[np.argmax(counts)])
        if float(collects[phase::every].mean()) >= _NEARLY and counts.max() >= _MOSTLY * len(rows):
            return np.asarray((np.arange(len(collects)) - phase) // every, dtype=np.int64)
    each = np.diff(np.cumsum(collects)[place]) if len(place) else np.zeros(0)
    is_each = len(each) >= _LEAST_PRINTED and float(median(np.diff(place))) >= 2 and _are(each, 1)
    return np.asarray(np.cumsum(collects), dtype=np.int64) if is_each else None


def _at(main: MainLane, turn: Ints) -> MainLane:
    """The rows where these numbers change, with them."""
    is_first = np.concatenate([[True], np.diff(turn) != 0])
    is_last = np.append(is_first[1:], True)
    return main._replace(
        begin=main.begin[is_first],
        end=main.end[is_last],
        number=turn[is_last],
        process=main.process[is_last],
        span=main.span[is_last],
    )


def _aligned(main: MainLane, log: Run | None) -> MainLane:
    """The steps as the log numbers them, which may count what is in each of them: samples, or steps of environments."""
    if log is None or not len(log.steps.t_ns):
        return main
    printed, place = _places(main, log)
    if not len(printed):
        return main
    every = _counted_on(printed, place)
    offsets = printed - every * main.number[place]
    # A line that came late may seem to follow the step after its own.
    numbers, earlier = _places(main, log, LATE_NS)
    others = numbers - every * main.number[earlier]
    by_time = {own: int((offsets == own).sum()) for own in {*offsets.tolist(), *others.tolist()}}
    votes = {own: max(num, int((others == own).sum())) for own, num in by_time.items()}
    best = max(votes, key=lambda own: (votes[own], by_time[own]))
    is_sure = votes[best] > 0.5 * len(offsets) and every * int(main.number[0]) + best >= 0
    return main._replace(number=every * main.number + best, span=every * main.span) if is_sure else main


def _counted_on(printed: Ints, place: Ints) -> int:
    """By how much the log counts on with each step; 1 where no number says it of most lines."""
    further, steps = np.diff(printed), np.diff(place)
    known = steps > 0
    ratios = further[known] / np.maximum(steps[known], 1)
    if len(ratios) < _LEAST_PRINTED:
        return 1
    every = round(float(median(ratios)))
    return every if every > 1 and _are(ratios, every) else 1
