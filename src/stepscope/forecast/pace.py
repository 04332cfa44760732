"""The log as a clock on the wall saw it: from line to line, how many steps, how many seconds, and which held a stop.

The ledger sorts seconds; a forecast needs them per step, with everything in that every step pays (logging, loading,
what the trainer's own timer leaves out). Where timestamps can be trusted, they give it; else the printed times do.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger.epochs import epoch_starts
from stepscope.ledger.first_window import is_run_start
from stepscope.ledger.phases import Ledger
from stepscope.ledger.timestamps import has_stamped_rows
from stepscope.run.epoch_means import correct_unprinted
from stepscope.run.model import NO_TIME, Floats, Ints, Run, Segment

# Rows on either side that make up the level around a stop.
_SIDE = 7
# Warm-up lasts until three normal rows in a row, and no longer than this many rows.
_CALM_ROWS, _MAX_WARMUP_ROWS = 3, 50
# Fewer rows than this without a stop carry no level of their own.
_LEAST_ROWS = 3


class StopCost(NamedTuple):
    """What one row's stops took above the level around it."""

    row: int
    step: int
    seconds: float
    level_s: float
    num: int  # stops in the row
    evaluated: bool
    saved: bool

    @property
    def kind(self) -> tuple[bool, bool]:
        """Stops of one kind cost alike: evaluated, saved or both."""
        return self.evaluated, self.saved


class Timeline(NamedTuple):
    """The rows that show the level, as steps and seconds, and the stops between them."""

    row: Ints  # row of the run
    num: Floats  # steps since the row before
    seconds: Floats
    stops: tuple[StopCost, ...]
    every: tuple[Ints, Floats, Floats]  # all rows after start-up, including those with stops: row, steps, seconds
    clock: tuple[Floats, Floats]  # each row's step, and the seconds from the start of the log to it
    on_wall: bool  # whether the seconds are the timestamps'
    tick: float  # how far a row's seconds per step may be off because its clock counts in ticks, as a share
    holds_stops: bool  # whether the rows hold their evaluations and checkpoints, because none is without

    def __len__(self) -> int:
        return len(self.row)

    @property
    def end(self) -> int:
        """The number of rows: the index after the last."""
        return len(self.clock[0])


class _HeldStops(NamedTuple):
    """The rows that hold stops, in order, and what is known of those in each."""

    row: Ints
    outside_s: Floats  # their printed seconds during which the log's clock was stopped
    num: Ints
    evaluated: np.ndarray
    saved: np.ndarray


_NO_NUMBERS = np.zeros(0)
_STOP = np.dtype(
    [("row", "i8"), ("segment", "i8"), ("inside", "?"), ("outside_s", "f8"), ("evaluated", "?"), ("saved", "?")]
)
_NO_ROWS = np.zeros(0, dtype=np.int64)
_EMPTY = Timeline(
    row=_NO_ROWS,
    num=_NO_NUMBERS,
    seconds=_NO_NUMBERS,
    stops=(),
    every=(_NO_ROWS, _NO_NUMBERS, _NO_NUMBERS),
    clock=(_NO_NUMBERS, _NO_NUMBERS),
    on_wall=False,
    tick=0.0,
    holds_stops=False,
)


def lay_out(run: Run, ledger: Ledger) -> Timeline:
    """The timeline of a run; empty where nothing was timed."""
    if not len(run) or ledger.step is None:
        return _EMPTY
    steps = run.steps
    normal = np.zeros(len(run), dtype=bool)
    normal[ledger.step.rows] = True
    is_first = np.concatenate([[True], np.diff(steps.segment) != 0])
    num = _steps_per_row(run, is_first)
    wall = _wall_seconds(run, ledger, is_first)
    has_wall = np.isfinite(wall)
    level = _local_level(np.where(has_wall, wall / num, steps.dur_ns / NS), normal, ledger.step.typical_s)
    seconds = np.where(has_wall, wall, _printed_seconds(run, num, level, normal))
    held = _stops_by_row(run, has_wall)
    seconds[held.row] += np.where(has_wall[held.row], 0.0, held.outside_s)
    _add_unprinted(run, ledger, seconds, held.row)
    has_stop = np.zeros(len(run), dtype=bool)
    has_stop[held.row] = True
    counts = _after_start_up(run, normal)
    holds_stops = int((counts & ~has_stop).sum()) < _LEAST_ROWS <= int(counts.sum())
    # A stop among the first rows of a process is left out: start-up is part of its row.
    own = _NO_ROWS if holds_stops else np.flatnonzero(counts[held.row])
    rows = held.row[own]
    cost_s = np.fmax(0.0, seconds[rows] - num[rows] * level[rows])
    costs = (rows, steps.step[rows], cost_s, level[rows], held.num[own], held.evaluated[own], held.saved[own])
    stops = tuple(starmap(StopCost, zip(*(column.tolist() for column in costs), strict=True)))
    on_wall = bool(has_wall.any())
    usable = counts if holds_stops else counts & ~has_stop
    # A row whose clock has not ticked says nothing yet.
    rows = np.flatnonzero(usable & (seconds >= 0 if on_wall else seconds > 0))
    counted = np.flatnonzero(counts)
    return Timeline(
        row=rows,
        num=num[rows],
        seconds=seconds[rows],
        stops=stops,
        every=(counted, num[counted], seconds[counted]),
        clock=(steps.step.astype(np.float64), np.cumsum(seconds)),
        on_wall=on_wall,
        tick=_tick(run, rows, num, seconds, on_wall=on_wall),
        holds_stops=holds_stops,
    )


def _steps_per_row(run: Run, is_first: np.ndarray) -> Floats:
    """Steps since the row before; of the first row of a segment, those that its own time covers."""
    steps = run.steps
    num = np.where(is_first, np.maximum(steps.span, 1), np.concatenate([[1], np.diff(steps.step)]))
    num = np.maximum(num, 1).astype(np.float64)
    # A clock that did not tick between two lines shows the time of both at its next tick.
    return np.maximum(num, steps.span) if run.clock.is_running else num


def _printed_seconds(run: Run, num: Floats, level: Floats, normal: np.ndarray) -> Floats:
    """Seconds since the row before by the printed times: a row's own steps, and the unprinted ones before it."""
    steps, is_running = run.steps, run.clock.is_running
    unprinted = np.maximum(num - steps.span, 0.0)
    if is_running:
        unprinted[steps.span == 0] = 0.0
    is_typical = normal.copy()
    is_typical[epoch_starts(run)] = False
    # A normal row is a sample of the unprinted steps before it; the first of an epoch is slower than they are.
    gap_s = np.where(is_typical & (not is_running), steps.dur_ns / NS * (num - steps.span), unprinted * level)
    return steps.seconds + correct_unprinted(steps, run.means, gap_s).gap_s


def _after_start_up(run: Run, normal: np.ndarray) -> np.ndarray:
    """Which rows have a time and lie after the start-up of their process."""
    counts: np.ndarray = (run.steps.span > 0) & ~_warmup(run, normal)
    for segment in run.segments:
        if segment.num_rows and _begins(run, segment, normal):
            counts[segment.first_row] = False
    return counts


def _begins(run: Run, segment: Segment, normal: np.ndarray) -> bool:
    """Whether a segment shows how its process began: with its first step, or in a slow first row of the run."""
    first = segment.first_row
    return segment.fresh or (first == 0 and not normal[first] and is_run_start(run))


def _wall_seconds(run: Run, ledger: Ledger, is_first: np.ndarray) -> Floats:
    """Seconds between the timestamps of a row and the row before; NaN where one is missing or they go back."""
    steps = run.steps
    nothing = np.full(len(run), np.nan)
    if ledger.stamps_unusable or not len(steps.t_ns) or not has_stamped_rows(run):
        return nothing
    before = np.concatenate([[NO_TIME], steps.t_ns[:-1]])
    known = (steps.t_ns != NO_TIME) & (before != NO_TIME) & ~is_first & (steps.t_ns >= before)
    return np.where(known, (steps.t_ns - np.where(known, before, 0)) / NS, np.nan)


def _add_unprinted(run: Run, ledger: Ledger, seconds: Floats, rows: Ints) -> None:
    """Add the time between two timestamps beyond the printed times to the stops between them.

    Only to rows with stops that print how long they took. Where each step takes longer than its printed time, that
    difference goes to the stops too; the sum is right.
    """
    t_ns = run.steps.t_ns
    if ledger.stamps_unusable or not len(rows) or not has_stamped_rows(run):
        return
    stamped = np.flatnonzero(t_ns != NO_TIME)
    after = np.searchsorted(stamped, rows)
    for own in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(after)) + 1):
        if not 0 < after[own[0]] < len(stamped):
            continue
        first, last = int(stamped[after[own[0]] - 1]), int(stamped[after[own[0]]])
        if last == first + 1 or run.steps.segment[first] != run.steps.segment[last]:
            continue
        unprinted = float(t_ns[last] - t_ns[first]) / NS - float(seconds[first + 1 : last + 1].sum())
        seconds[rows[own]] += max(0.0, unprinted) / len(own)


def _tick(run: Run, rows: Ints, num: Floats, seconds: Floats, *, on_wall: bool) -> float:
    """How coarse the clock is against a row's seconds."""
    if not len(rows):
        return 0.0
    tick_s = max(float(median(run.doubt_ns[rows])) / NS, 0.0)
    if on_wall and run.stamps is not None:
        tick_s = max(tick_s, run.stamps.resolution_ns / NS)
    row_s = float(seconds[rows].sum() / num[rows].sum()) * float(median(num[rows]))
    return min(10.0, tick_s / row_s) if row_s > 0 else 0.0


def _local_level(rate: Floats, normal: np.ndarray, typical: float) -> Floats:
    """Seconds of one step around each row: the mean of the middle half of its normal neighbours."""
    rows = np.flatnonzero(normal)
    if not len(rows):
        return np.full(len(rate), typical)
    width = min(2 * _SIDE, len(rows))
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(rate[rows], width), axis=1)
    cut = width // 4
    middle = windows[:, cut : width - cut].mean(axis=1)
    near = np.clip(np.searchsorted(rows, np.arange(len(rate))) - width // 2, 0, len(middle) - 1)
    return np.asarray(middle[near], dtype=np.float64)


def _stops_by_row(run: Run, on_wall: np.ndarray) -> _HeldStops:
    """The stops, each at the row whose seconds hold it, or are to hold it where the log says how long it took."""
    shift, num_rows = 1 if run.format.layout.events_follow_step else 0, len(run)

    def held() -> Iterator[tuple[int, int, bool, float, bool, bool]]:
        for stop in run.stops:
            at = stop.row if stop.is_inside else stop.next_row + shift
            if at is not None and at < num_rows:
                yield at, stop.segment, stop.is_inside, stop.outside_s, stop.evaluated, stop.saved

    # A log may have a million stops, which as tuples take many times the memory.
    found = np.fromiter(held(), dtype=_STOP)
    if not len(found):
        return _HeldStops(_NO_ROWS, _NO_NUMBERS, _NO_ROWS, _NO_ROWS > 0, _NO_ROWS > 0)
    row, segment, inside, outside_s, evaluated, saved = (found[name] for name in _STOP.names or ())
    own = np.flatnonzero((run.steps.segment[row] == segment) & (inside | on_wall[row] | (outside_s > 0)))
    own = own[np.argsort(row[own], kind="stable")]
    row, outside_s, evaluated, saved = row[own], outside_s[own], evaluated[own], saved[own]
    firsts = np.flatnonzero(np.diff(row, prepend=-1))
    if not len(firsts):
        return _HeldStops(_NO_ROWS, _NO_NUMBERS, _NO_ROWS, _NO_ROWS > 0, _NO_ROWS > 0)
    return _HeldStops(
        row=row[firsts],
        outside_s=np.add.reduceat(outside_s, firsts),
        num=np.diff(firsts, append=len(row)),
        evaluated=np.logical_or.reduceat(evaluated, firsts),
        saved=np.logical_or.reduceat(saved, firsts),
    )


def _warmup(run: Run, normal: np.ndarray) -> np.ndarray:
    """The rows of a process before it calmed down."""
    found, is_normal = np.zeros(len(run), dtype=bool), normal.tolist()
    for segment in run.segments:
        if not segment.num_rows or not _begins(run, segment, normal):
            continue
        calm, end = 0, segment.first_row + min(segment.num_rows, _MAX_WARMUP_ROWS)
        row = segment.first_row + 1
        while row < end and calm < _CALM_ROWS:
            calm = calm + 1 if is_normal[row] else 0
            row += 1
        if calm >= _CALM_ROWS:
            found[segment.first_row : row - _CALM_ROWS] = True
    return found
