"""When each line of a log arrived, by the log's own times: for replaying it at its pace.

Timestamps say it directly. Without them, a printed step comes its own duration after the one before it, with unprinted
steps at the usual level; the lines of an evaluation come one step before the step whose time includes it.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.run.model import NO_TIME, Floats, Ints, Run


def arrivals(run: Run) -> tuple[Ints, Floats]:
    """The lines whose moment is known, in order, and their seconds since the first; other lines come with the next."""
    steps, events = run.steps, run.events
    has_timestamps = len(steps.t_ns) > 0 and 2 * int((steps.t_ns != NO_TIME).sum()) > len(steps)
    moments = _by_timestamps(run) if has_timestamps else _by_durations(run)
    lines = np.concatenate([steps.line, events.line]).astype(np.int64)
    order = np.argsort(lines, kind="stable")
    lines, moments = lines[order], moments[order]
    known = np.isfinite(moments)
    # Several ranks, or a clock that was set, print moments out of order: lines arrive in the order of the file.
    return lines[known], np.maximum.accumulate(np.maximum(moments[known], 0.0))


def _by_timestamps(run: Run) -> Floats:
    assert run.stamps is not None
    t_ns = np.concatenate([run.steps.t_ns, run.events.t_ns])
    return np.where(t_ns == NO_TIME, np.nan, (t_ns - run.stamps.first_ns) / NS)


def _by_durations(run: Run) -> Floats:
    steps, events = run.steps, run.events
    if not len(steps):
        return np.zeros(len(events))
    timed = steps.span > 0
    level = float(median(steps.dur_ns[timed])) / NS if timed.any() else 0.0
    silent = np.maximum(0, np.diff(steps.step, prepend=steps.step[:1]) - steps.span)
    silent[steps.first_rows] = 0
    row = np.minimum(events.row, len(steps) - 1)
    # If the clock stops during an evaluation, its duration is known only where its line prints it.
    is_outside = np.array([kind not in run.clock.includes for kind in events.kind], dtype=bool)
    took = np.where(is_outside & (events.took_ns != NO_TIME), events.took_ns, 0) / NS
    outside = np.zeros(len(steps))
    np.add.at(outside, row, took)
    ends = np.cumsum(outside + steps.seconds + silent * level)
    begins = np.concatenate([[0.0], ends[:-1]])
    inside = np.where(events.row < len(steps), np.maximum(begins[row], ends[row] - level), ends[-1])
    return np.concatenate([ends, np.where(is_outside, np.minimum(begins[row] + took, ends[row]), inside)])
