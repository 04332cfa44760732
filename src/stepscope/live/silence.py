"""How long a run is usually silent: between two printed steps, and in pauses that are in no schedule.

Most trainers pause for things they do not print, at moments they do not announce. A pause that did no harm before is no
reason for an alarm when it comes again, so the run's own silences are the measure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.analysis.report import Report
from stepscope.columns.statistics import median
from stepscope.live.arrivals import arrivals
from stepscope.run.model import Run

# A run changes its pace: only this many of the latest rows show how far apart lines are.
_LATEST_ROWS = 30
# A silence this many times as long as the usual one between two rows is a pause.
_PAUSE = 5.0
_HARM = {"stall", "gap", "warmup"}

Bools = npt.NDArray[np.bool_]
Steps = npt.NDArray[np.int64]


class Silences(NamedTuple):
    """Seconds without a line. `row_s`: from one printed step to the next; the longest pauses so far, 0 for none.

    `planned_s` is the longest pause at which an evaluation was due, `unplanned_s` the longest other one. Of the last
    launch: `elapsed_s` is its age, `num_rows` its steps after the first, `has_paused` whether it has evaluated, saved
    or been silent for long.
    """

    row_s: float
    planned_s: float
    unplanned_s: float
    elapsed_s: float
    num_rows: int
    has_paused: bool


def measure(report: Report) -> Silences | None:
    """The silences of a run so far; None before its first timed step."""
    run = report.run
    if not len(run):
        return None
    lines, moments = arrivals(run)
    if not len(lines) or moments[-1] <= 0:
        return None
    steps = run.steps
    at = np.maximum(np.searchsorted(lines, steps.line, side="right") - 1, 0)
    between = np.diff(moments[at], prepend=0.0)
    own = np.flatnonzero(~_is_first(run))
    latest = between[own[-_LATEST_ROWS:]] if len(own) else between[-1:]
    row_s = float(median(latest))
    gaps = np.diff(moments, prepend=moments[:1])
    row = np.minimum(np.searchsorted(steps.line, lines), len(steps) - 1)  # the step that a line leads to
    is_harmless = ~(_is_first(run) | _is_harmed(report))[row]
    before = np.concatenate((steps.step[:1], steps.step[:-1]))
    is_planned = is_evaluation_due(run, before, steps.step)[row]
    first = int(steps.first_rows[-1])
    begins = moments[at[first]] if len(steps.first_rows) > 1 else 0.0
    return Silences(
        row_s=row_s,
        planned_s=_longest(gaps[is_harmless & is_planned], row_s),
        unplanned_s=_longest(gaps[is_harmless & ~is_planned], row_s),
        elapsed_s=float(moments[-1] - begins),
        num_rows=len(run) - 1 - first,
        has_paused=bool((run.events.row >= first).any() or _longest(gaps[is_harmless & (row > first)], row_s)),
    )


def is_evaluation_due(run: Run, before: Steps, after: Steps) -> Bools:
    """Per pair of steps, whether the settings put an evaluation after the step `before`, up to the step `after`."""
    interval = run.settings.count("eval_interval")
    if not interval or not run.clock.runs_during("evaluation"):
        return np.zeros(len(after), dtype=bool)
    due: Bools = after // interval > before // interval
    return due


def _is_first(run: Run) -> Bools:
    found = np.zeros(len(run), dtype=bool)
    found[run.steps.first_rows] = True
    return found


def _is_harmed(report: Report) -> Bools:
    """Per row, whether most of its seconds are unexplained or part of a start: no measure for other rows."""
    found = np.zeros(len(report.run), dtype=bool)
    for slow in report.ledger.slow:
        lost = sum(part.seconds for part in slow.parts if part.phase in _HARM)
        found[slow.row] = 2 * lost > sum(part.seconds for part in slow.parts)
    return found


def _longest(gaps: npt.NDArray[np.float64], row_s: float) -> float:
    longest = float(gaps.max()) if len(gaps) else 0.0
    return longest if longest > _PAUSE * row_s else 0.0
