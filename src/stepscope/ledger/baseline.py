"""What a normal step takes, row by row, and which rows are far off.

A row is slow when it is above the level on *both* of its sides: one that merely begins
a slower stretch is not. Rows known to hold an evaluation never enter the level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median, quantiles
from stepscope.run.model import Floats, Run

# Rows on either side that make up the local level: enough for a median, few enough to follow drift.
SIDE = 7
# Slow is 6 robust standard deviations above the level, and at least half as long again (a quarter where a
# marker says why): a machine's usual jitter stays below, an evaluation or a stall never does.
SIGMAS = 6.0
LEAST_EXCESS = 0.5
_LEAST_EXCESS_MARKED = 0.25
_LEAST_SCALE = 0.02
# A standard deviation by the upper twentieth of a normal step's times is at most this many times their upper fifth (of
# exponential ones: 1.1 times).
_TAIL = 5.0
_BLOCK = 200_000
# Both ends of a row are rounded: together they may be off by this many ticks.
_TICKS_OFF = 1.5
# A clock is coarse where one tick is more than this share of a row.
_COARSE = 0.05
# The first of at most so many rows covers all before it where it covers so many times the steps of any other.
_FEW_ROWS, _LEAST_OTHERS, _ALL_BEFORE = 80, 3, 10
_ENOUGH_TICKS = 20
_SLOWER = 1.15  # times: beyond what two rows of one level differ by


class Baseline(NamedTuple):
    """`level` and `jitter` in seconds per row; `normal` marks the rows that define them."""

    level: Floats
    jitter: Floats
    normal: np.ndarray
    slow: np.ndarray
    scale: float
    doubt: float = 0.0  # uncertainty of the level itself, as a share, where no normal step is printed


def find_baseline(run: Run, is_event_row: np.ndarray) -> Baseline | None:
    """The local level of every row; None when there is no row that could be normal."""
    seconds = run.steps.dur_ns / 1e9
    normal = ~is_event_row & (run.steps.span > 0)
    for segment in run.segments:
        if segment.fresh and segment.num_rows:
            normal[segment.first_row] = False  # compile, first touch: never part of a rate
    if _starts_slowly(run, seconds, normal) or _is_all_before(run, normal):
        normal[0] = False
    if not normal.any() and int((run.steps.span > 0).sum()) == 1 and not run.format.habits.evaluates_at_first_step:
        normal = ~is_event_row & (run.steps.span > 0)  # the only time there is, and said to be that
    if not normal.any():
        return None
    slow = np.zeros(len(seconds), dtype=bool)
    slack = _TICKS_OFF * run.doubt_ns / 1e9 / np.maximum(run.steps.span, 1)
    level = jitter = seconds
    scale = _LEAST_SCALE
    for _ in range(3):  # each pass takes the slow rows it found out of the level
        before, after, jitter = _side_levels(seconds, normal & ~slow)
        level = (before + after) / 2
        upper = np.maximum(before, after)
        residual = (seconds / np.maximum(upper, 1e-9) - 1)[normal & ~slow]
        scale = spread(residual, float(median((slack / np.maximum(upper, 1e-9))[normal & ~slow])))
        least = np.where(is_event_row, _LEAST_EXCESS_MARKED, LEAST_EXCESS)
        found = (seconds > (1 + np.maximum(SIGMAS * scale, least)) * upper) & (run.steps.span > 0)
        found &= seconds - upper > slack  # a clock that counts in ticks is off by one at either end
        if np.array_equal(found & normal, slow & normal):
            slow = found
            break
        slow = found
        if not (normal & ~slow).any():
            slow = found & ~normal
            break
    if is_coarse(run, normal & ~slow) and (normal & ~slow).any():
        level = _mean_level(seconds, run.steps.span, normal & ~slow)
    return Baseline(level=level, jitter=jitter, normal=normal & ~slow, slow=slow, scale=scale)


def _starts_slowly(run: Run, seconds: Floats, normal: np.ndarray) -> bool:
    """Whether of two rows the first, which begins the run, is the slower one: their mean is the level of neither."""
    if int(normal.sum()) != 2 or len(normal) != 2 or seconds[0] <= _SLOWER * seconds[1]:
        return False
    steps = run.steps.step
    return int(steps[0]) - run.format.layout.first_step + 1 <= int(steps[1] - steps[0])


def _is_all_before(run: Run, normal: np.ndarray) -> bool:
    """Whether the first of a few pasted rows is the mean of all before them: it covers many times what each other does.

    The others are what is asked about, and their level need not be that of hours ago.
    """
    others = normal.copy()
    others[:1] = False
    if not run.clock.is_running or len(normal) > _FEW_ROWS or int(others.sum()) < _LEAST_OTHERS or not normal[0]:
        return False
    if int((run.steps.dur_ns * run.steps.span)[others].sum()) < _ENOUGH_TICKS * run.tick_ns:
        return False  # by a coarse clock, a few rows say less than all that was before them
    return int(run.steps.span[0]) > _ALL_BEFORE * int(run.steps.span[others].max())


def is_coarse(run: Run, rows: np.ndarray) -> bool:
    """Whether the clock of these rows has ticks too coarse for a median to mean anything."""
    own = rows & (run.steps.span > 0)
    return (
        bool(run.tick_ns)
        and bool(own.any())
        and bool(median(run.doubt_ns[own] / np.maximum(run.steps.dur_ns[own] * run.steps.span[own], 1)) > _COARSE)
    )


def typical(seconds: Floats, span: np.ndarray, *, coarse: bool) -> float:
    """What a step takes: the median of the rows or, by a coarse clock, their sum over all their steps."""
    if not coarse:
        return float(median(seconds))
    return float((seconds * span).sum() / max(1, span.sum()))


def _mean_level(seconds: Floats, span: np.ndarray, usable: np.ndarray) -> Floats:
    """Per row, the mean of the usable rows around it, twice as many as a median would take."""
    kernel = np.ones(4 * SIDE + 1)
    total = np.convolve(np.where(usable, seconds * span, 0.0), kernel)[2 * SIDE : 2 * SIDE + len(seconds)]
    steps = np.convolve(np.where(usable, span, 0.0), kernel)[2 * SIDE : 2 * SIDE + len(seconds)]
    overall = typical(seconds[usable], span[usable], coarse=True)
    return np.where(steps > 0, total / np.maximum(steps, 1), overall)


def assumed_baseline(run: Run, level_s: float, doubt: float) -> Baseline:
    """A baseline for a log that prints no normal step: one level for all rows, known only roughly."""
    num = len(run)
    nothing = np.zeros(num, dtype=bool)
    level = np.full(num, level_s)
    return Baseline(level=level, jitter=0.1 * level, normal=nothing, slow=run.steps.span > 0, scale=0.1, doubt=doubt)


def spread(residual: Floats, tick: float) -> float:
    """A robust standard deviation that still sees a regular upper tail (boost clocks, a busy neighbour).

    A tail begins in the bulk. Where up to a fifth of the rows lies far beyond the others, that is no tail but rows of
    another kind, such as the first of every epoch. A clock that counts in ticks has no bulk finer than one.
    """
    middle = 1.4826 * float(median(np.abs(residual)))
    shoulder, tail = quantiles(residual, (0.8, 0.95), method="lower")
    return max(_LEAST_SCALE, middle, min(tail / 1.645, _TAIL * max(shoulder, middle, tick, _LEAST_SCALE)))


def _side_levels(seconds: Floats, usable: np.ndarray) -> tuple[Floats, Floats, Floats]:
    """For every row: the median of the usable rows before it, after it, and the spread around it."""
    rows = np.flatnonzero(usable)
    values = seconds[rows]
    width = min(SIDE, len(values))
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    medians = np.empty(len(windows))
    spread = np.empty(len(windows))
    for start in range(0, len(windows), _BLOCK):  # bounded memory on a million rows
        part = windows[start : start + _BLOCK]
        medians[start : start + _BLOCK] = median(part, axis=1)
        spread[start : start + _BLOCK] = median(np.abs(part - medians[start : start + _BLOCK, None]), axis=1)
    position = np.searchsorted(rows, np.arange(len(seconds)))
    last = len(medians) - 1
    # The window that ends just before the row, and the one that starts just after it.
    before = np.clip(position - width, 0, last)
    after = np.clip(position + usable.astype(np.int64), 0, last)
    jitter = 1.4826 * np.maximum(spread[before], spread[after])
    return medians[before], medians[after], np.maximum(jitter, _LEAST_SCALE * medians[before])
