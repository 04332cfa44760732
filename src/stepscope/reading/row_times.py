"""From what a log prints (one step's time, a window's mean, a running clock, a stamp) to one figure per row.

Every later stage sees the same thing: the mean time of a step and how many steps it is the mean of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from stepscope.columns.decimals import DecimalColumn, Printed, take, unpack
from stepscope.columns.statistics import median
from stepscope.lines.format import Covers
from stepscope.run.model import NO_TIME, Floats, Ints, steps_since

_FAR = 1 << 30
_MOST_NS = 1 << 62  # a century and a half: what would be longer counts something else than steps
_BLOCK = 1 << 18  # rows worked on together: a log of any length needs no more memory than its columns and this

# Rows closer together than this many ticks of their timestamps are timed by what they print.
_COARSE = 5

_TICKS_NS = (10**9, 10**8, 10**7)
_FINE_NS = _TICKS_NS[-1]
# Intervals of this many steps show whether a figure is a step's or the interval's, if this many agree this closely.
_TELLING_SPACING = 3
_LEAST_INTERVALS = 5
_NEAR = 0.15
_MOSTLY = 0.8
_AS_A_WHOLE = 1.1
# Steps before the first line that seem to have run this many times faster than those after it were not all run.
_UNLIKE = 5.0
_LATER_ROWS = 8


def row_times(
    covers: Covers,
    *,
    step: Ints,
    figure: Printed | Ints,
    per: Ints,
    t_ns: Ints,
    first_rows: Ints,
    first_step: int,
    is_total: bool = False,
    epoch_steps: int | None = None,
) -> tuple[Printed | Ints, Ints | None]:
    """Per row: nanoseconds of one step, and how many steps that is the mean of (0 where the row has no time).

    The former are the figures themselves where each is the mean that it is printed for. Instead of the latter None when
    every row covers the steps since the one before it. `is_total` says that the figure of a window is the sum of its
    steps, not their mean. `epoch_steps` is how many steps an epoch has, where a running clock starts again with each.
    """
    num = len(step)
    if covers == "cumulative":
        return _RunningClock(step, unpack(figure), first_step, epoch_steps).times(first_rows)
    if covers == "stamp" and not is_dated(t_ns) and num and _any(figure, lambda block: block != NO_TIME):
        covers = "window"  # a log without the moments that are its clock: what its lines print has to do
    if covers == "stamp" and not len(t_ns):
        return np.zeros(num, dtype=np.int64), np.broadcast_to(np.int64(0), num)
    is_first = np.zeros(num, dtype=bool)
    is_first[first_rows] = True
    has_gaps = is_total and _any(figure, lambda block: block == NO_TIME)
    if has_gaps:
        return _sums_since(step, unpack(figure), is_first, first_step)
    usual = _usual_spacing(step, is_first) if is_total and num else 1
    dur = _Own(lambda: unpack(figure).astype(np.int64))
    span = _Own(lambda: steps_since(step, first_rows).astype(_span_type(step)))
    for first in range(0, num, _BLOCK):
        rows, own = slice(max(0, first - 1), first + _BLOCK), slice(min(1, first), None)  # with the row before them
        since = steps_since(step[rows], np.flatnonzero(is_first[rows]))
        printed = unpack(take(figure, rows))
        if covers == "stamp":
            durs, spans = _stamp_times(t_ns[rows], since, is_first[rows])
            if first == 0:
                durs, spans = _with_first_figure(durs, spans, printed, step[rows], first_step)
        elif covers == "step":
            durs, spans = _printed_times(printed, np.ones_like(since))
        else:
            covered = since
            if is_total:
                # The first line of a process covers the steps from its beginning, but no more than the others do.
                begun = np.maximum(1, np.minimum(step[rows] - first_step + 1, usual))
                covered = np.where(is_first[rows], begun, since)
                if num == 1 and step[0] > first_step:
                    covered = np.zeros_like(since)  # how many steps the figure covers is unknown
            covered = np.where(per[rows] > 0, per[rows], covered) if len(per) else covered
            durs, spans = _printed_times(printed, covered)
            if is_total:
                durs = durs // np.maximum(spans, 1)
            durs = _within_stamps(durs, spans, t_ns[rows], is_first[rows])
            spans = np.where(durs <= _MOST_NS // np.maximum(spans, 1), spans, 0)
        dur.put(first, durs[own], printed[own])
        span.put(first, spans[own], since[own])
    return figure if dur.values is None else dur.values, span.values


class _Own:
    """A column that is there only where something in it is not as usual: of a very long log it is much memory."""

    def __init__(self, make_usual: Callable[[], Ints]) -> None:
        self.values: Ints | None = None
        self._make_usual = make_usual

    def put(self, first: int, block: Ints, usual: Ints) -> None:
        """The values from a row on, and what they usually are."""
        if self.values is None and not np.array_equal(block, usual):
            self.values = self._make_usual()
        if self.values is not None:
            self.values[first : first + len(block)] = block


def is_dated(t_ns: Ints) -> bool:
    """Whether rows have moments of their own: one alone, of another line near it, times nothing."""
    return len(t_ns) > 0 and (len(t_ns) == 1 or bool(np.any((t_ns[1:] != NO_TIME) & (t_ns[:-1] != NO_TIME))))


def _any(figure: Printed | Ints, which: Callable[[Ints], np.ndarray]) -> bool:
    num = len(figure.numbers if isinstance(figure, Printed) else figure)
    return any(bool(which(unpack(take(figure, slice(at, at + _BLOCK)))).any()) for at in range(0, num, _BLOCK))


def _span_type(step: Ints) -> type[np.int32] | type[np.int64]:
    """What numbers of steps between two rows fit into: half the size, unless something else than steps is counted."""
    is_far = len(step) > 0 and max(int(step.max()), -int(step.min())) >= _FAR
    return np.int64 if is_far else np.int32


def _sums_since(step: Ints, figure: Ints, is_first: np.ndarray, first_step: int) -> tuple[Ints, Ints]:
    """Times of all steps since the last row that has one; the first of a process covers as many as the others."""
    timed = np.flatnonzero(figure != NO_TIME)
    dur: Ints = np.zeros(len(step), dtype=np.int64)
    span: Ints = np.zeros(len(step), dtype=_span_type(step))
    if not len(timed):
        return dur, span
    process = np.cumsum(is_first)[timed]
    since = np.diff(step[timed], prepend=step[timed[0]])
    begins = np.concatenate([[True], (np.diff(process) != 0) | (since[1:] <= 0)])
    usual = int(median(since[~begins])) if (~begins).any() else int(step[timed[0]]) - first_step + 1
    since[begins] = np.maximum(1, np.minimum(step[timed][begins] - first_step + 1, usual))
    span[timed] = since
    dur[timed] = figure[timed] // since
    return dur, span


def _usual_spacing(step: Ints, is_first: np.ndarray) -> int:
    """How many steps two rows of a process are apart."""
    gaps = np.diff(step)[~is_first[1:]]
    return max(1, int(median(gaps))) if len(gaps) else 1


def _printed_times(figure: Ints, span: Ints) -> tuple[Ints, Ints]:
    known = figure != NO_TIME
    return np.where(known, figure, 0), np.where(known, span, 0)


def _stamp_times(t_ns: Ints, since: Ints, is_first: np.ndarray) -> tuple[Ints, Ints]:
    before = np.concatenate([[NO_TIME], t_ns[:-1]])
    has_both = (t_ns != NO_TIME) & (before != NO_TIME) & ~is_first
    elapsed = np.where(has_both, t_ns - np.where(has_both, before, 0), 0)
    # The first row of a process: a stamp has nothing before it.
    span = np.where(has_both & (elapsed >= 0), since, 0)
    return np.where(span > 0, elapsed // np.maximum(span, 1), 0), span


def _with_first_figure(dur: Ints, span: Ints, figure: Ints, step: Ints, first_step: int) -> tuple[Ints, Ints]:
    """The first row has no timestamp before it: what it prints itself has to do, for as many steps as others cover."""
    if not len(span) or span[0] or figure[0] == NO_TIME:
        return dur, span
    usual = int(median(span[1:][span[1:] > 0])) if (span[1:] > 0).any() else 1
    known = (span[1:] > 0) & (figure[1:] != NO_TIME) & (figure[1:] > 0)
    # By its own timestamps each row may take more or less than it prints: that of an update of several batches.
    ratio = float(median(dur[1:][known] / figure[1:][known])) if known.any() else 1.0
    dur[0], span[0] = round(int(figure[0]) * ratio), max(1, min(int(step[0]) - first_step + 1, usual))
    return dur, span


def is_coarse(figure: Ints, since: Ints, t_ns: Ints, is_first: np.ndarray) -> bool:
    """Whether timestamps tick too slowly to time single rows, and printed figures add up to the time between them."""
    tick = _tick_of(t_ns)
    between, own = np.diff(t_ns), ~is_first[1:]
    known = own & (t_ns[1:] != NO_TIME) & (t_ns[:-1] != NO_TIME) & (figure[1:] != NO_TIME)
    if not tick or not known.any() or known.sum() < own.sum():
        return False
    elapsed, printed = int(between[known].sum()), int((figure[1:] * since[1:])[known].sum())
    is_rough = float(np.median(between[known])) < _COARSE * tick
    return is_rough and abs(elapsed - printed) <= max(_NEAR * elapsed, 2 * tick)


def _within_stamps(dur: Ints, span: Ints, t_ns: Ints, is_first: np.ndarray) -> Ints:
    """A window's mean cannot cover more than the stamps on either side of it: some trainers count their first twice."""
    if not len(t_ns):
        return dur
    between = np.concatenate([[0], np.diff(t_ns)])
    known = ~is_first & (t_ns != NO_TIME) & (np.concatenate([[NO_TIME], t_ns[:-1]]) != NO_TIME)
    tick = _tick_of(t_ns)
    too_long = known & (between > 0) & (dur * span > 1.5 * between + tick)
    if int((dur * span)[known].sum()) <= _AS_A_WHOLE * int(between[known].sum()) + tick:
        return dur  # they fit as a whole: a mean over more steps than one line covers
    return np.where(too_long, between // np.maximum(span, 1), dur)


def _tick_of(t_ns: Ints) -> int:
    """The step of timestamps: two that are a second apart by whole seconds may be two apart."""
    dated = t_ns[t_ns != NO_TIME]
    return next((tick for tick in _TICKS_NS if not (dated % tick).any()), 0)


class _RunningClock:
    """Differences of a clock. A row at which it has not ticked has no time; its steps count with the next tick."""

    def __init__(self, step: Ints, clock: Ints, first_step: int, epoch_steps: int | None) -> None:
        self._step, self._clock, self._first_step, self._epoch_steps = step, clock, first_step, epoch_steps
        self._dur: Ints = np.zeros(len(step), dtype=np.int64)
        self._span: Ints = np.zeros(len(step), dtype=_span_type(step))
        self._last = -1  # the last row at which the clock ticked
        self._starts: list[tuple[int, int]] = []  # a row that starts a clock, and the next row that has a time

    def times(self, first_rows: Ints) -> tuple[Ints, Ints]:
        """Nanoseconds of one step and how many steps, per row."""
        edges = [*first_rows.tolist(), len(self._step)]
        for first, end in pairwise(edges):
            self._last = -1
            for at in range(first, end, _BLOCK):
                self._take(at + np.flatnonzero(self._clock[at : min(end, at + _BLOCK)] != NO_TIME))
        for row, following in self._starts:
            # The clock began at zero with the process's first step: the run's first, or wherever it was resumed.
            elapsed, whole = int(self._clock[row]), max(1, int(self._step[row]) - self._first_step + 1)
            if self._epoch_steps:  # or with the epoch that the log begins in
                whole = (whole - 1) % self._epoch_steps + 1
            span = whole if following < 0 else _nearest_span(elapsed, whole, following, self._dur, self._span)
            self._span[row], self._dur[row] = span, elapsed // span
        return self._dur, self._span

    def _take(self, rows: Ints) -> None:
        """Rows of one segment that have a figure."""
        clock = self._clock[rows]
        before = self._clock[self._last] if self._last >= 0 else 0
        high = np.maximum.accumulate(np.concatenate([[before], clock]))[:-1]
        if not (clock < high // 2).any():
            self._tick(rows[clock > high])
            return
        for row in rows.tolist():
            now = self._clock[row]
            if self._last >= 0 and now < self._clock[self._last] // 2:
                if now == 0:
                    continue
                self._last = -1  # it starts again
            if now > (self._clock[self._last] if self._last >= 0 else 0):
                self._tick(np.array([row]))

    def _tick(self, rows: Ints) -> None:
        """Rows at each of which the clock has moved on."""
        if not len(rows):
            return
        if self._last < 0:
            self._starts.append((int(rows[0]), int(rows[1]) if len(rows) > 1 else -1))
        elif self._starts[-1] == (self._last, -1):
            self._starts[-1] = self._last, int(rows[0])
        before = np.concatenate([[self._last], rows[:-1]])
        if self._last < 0:
            before[0] = rows[0]
        span = np.maximum(1, self._step[rows] - self._step[before])
        self._span[rows] = span
        self._dur[rows] = (self._clock[rows] - self._clock[before]) // span
        self._last = int(rows[-1])


def _nearest_span(elapsed: int, whole: int, following: int, dur: Ints, span: Ints) -> int:
    """All steps up to here, or as many as the next row covers: whichever makes the steps more alike.

    Where neither comes near, the clock began at a step that nobody knows, and ran at the pace of the rows that follow.
    """
    resumed = min(whole, int(span[following]))
    pace = max(1, int(dur[following]))

    def unlikeness(steps: int) -> float:
        return abs(math.log(max(1, elapsed / steps) / pace))

    nearest = min((whole, resumed), key=unlikeness)
    if unlikeness(nearest) < math.log(_UNLIKE):
        return nearest
    later = dur[following : following + _LATER_ROWS]
    usual = max(1, int(median(later[span[following : following + _LATER_ROWS] > 0])))
    return min(whole, max(resumed, round(elapsed / usual)))


def tick_ns(covers: Covers, figure: DecimalColumn | Ints, resolution_ns: int | None, per: Ints | None = None) -> int:
    """The step in which the clock behind the rows counts; 0 where it is too fine to matter.

    A figure that is only ever whole (or tenths or hundredths of) seconds comes from such a clock. `per` is how many
    steps it is the time of, where it was divided by them.
    """
    if covers == "stamp":
        return resolution_ns if resolution_ns is not None and resolution_ns >= _FINE_NS else 0
    ticks, ticked = list(_TICKS_NS), False
    for at in range(0, len(figure), _BLOCK):
        known = figure[at : at + _BLOCK]
        is_known = known != NO_TIME
        steps = np.int64(1) if per is None else per[at : at + _BLOCK][is_known].astype(np.int64)
        known = known[is_known] * steps
        ticked = ticked or bool(known.any())
        # A quotient is a whole number of nanoseconds: times its divisor, it is off by no more than that.
        off = np.int64(0) if per is None else steps
        ticks = [tick for tick in ticks if not ((known + off) % tick > 2 * off).any()]
        if not ticks:
            return 0
    return ticks[0] if ticked else 0


def is_interval_work(step: Ints, work: Floats, begins: np.ndarray, tokens_per_step: float) -> bool:
    """Whether a rate times the printed time makes the tokens of the whole interval between two lines, not of a step."""
    spacing = np.diff(step)
    own = ~begins[1:] & (spacing >= _TELLING_SPACING) & (work[1:] > 0)
    if int(own.sum()) < _LEAST_INTERVALS:
        return False
    return bool((np.abs(work[1:][own] / tokens_per_step / spacing[own] - 1) <= _NEAR).mean() >= _MOSTLY)


def is_interval(step: Ints, figure: Ints, t_ns: Ints, is_special: np.ndarray, *, tick_ns: int) -> bool:
    """Whether figures that should be one step's are the whole interval's between two printed lines.

    Forks print the interval's time in the same words; the stamps give them away. Special rows (the first of a process,
    those with an evaluation) are left out.
    """
    if len(t_ns) < len(step) or len(step) < _LEAST_INTERVALS:
        return False
    spacing, elapsed, printed = np.diff(step), np.diff(t_ns), figure[1:]
    known = (t_ns[1:] != NO_TIME) & (t_ns[:-1] != NO_TIME) & (printed != NO_TIME) & (printed > 0)
    own = known & (spacing >= _TELLING_SPACING) & (elapsed > 0) & ~is_special[1:]
    if int(own.sum()) < _LEAST_INTERVALS:
        return False
    slack = _NEAR * elapsed[own] + tick_ns
    whole = np.abs(elapsed[own] - printed[own]) <= slack
    single = np.abs(elapsed[own] - printed[own] * spacing[own]) <= slack
    return bool(whole.mean() >= _MOSTLY and single.mean() < 1 - _MOSTLY)
