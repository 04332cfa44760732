"""Whether a figure that grows is a clock that runs, since when, and in which unit."""

from __future__ import annotations

import math

import numpy as np

from stepscope.infer.choice import Choice
from stepscope.infer.figure_meaning import CONFIDENCE, PACES
from stepscope.infer.step_rows import StepLines
from stepscope.infer.time_figures import (
    NEAR,
    RUNNING_WORDS,
    Meaning,
    Reason,
    TimeColumn,
    clock_pace,
)

# A clock that shows so many times what the steps took did not begin with them.
_DAY_S, _NOT_SINCE = 86_400, 20.0
_CLOCK_UNITS = (1.0, 1e-3, 60.0, 3600.0)
_TOO_LARGE = 3.0
_LEAST_EVEN, _EVEN = 6, 1.3
_MOST_UPDATES = 5_000.0  # gradient updates a second that no machine does


def only_grows(column: TimeColumn, rows: StepLines) -> bool:
    """Whether a figure that grows is the time of steps that get slower: its first value is too large for a clock's."""
    says_so = bool(set(column.field.key.replace("_", " ").split()) & RUNNING_WORDS)
    values = column.values[np.isfinite(column.values)]
    if says_so or column.field.kind != "number" or rows.resets.any() or rows.steps[-1] <= rows.steps[0]:
        return False
    pace = float(values[-1] - values[0]) / float(rows.steps[-1] - rows.steps[0])
    first = pace * max(1.0, float(rows.steps[0]))
    return bool(values[0] > _TOO_LARGE * first and values[-1] < 2 * _TOO_LARGE * values[0])


def running_clock(column: TimeColumn, rows: StepLines, evidence: list[tuple[Reason, float]]) -> Choice | None:
    """A clock that runs: of a stated unit, of one that other evidence shows, or a bare number named like a clock."""
    pace = clock_pace(column, rows.since, rows.resets)
    if pace is None or not PACES[0] < pace < PACES[1]:
        return None
    says_so = bool(set(column.field.key.replace("_", " ").split()) & RUNNING_WORDS)
    if not says_so and column.readings == ("clock",) and _is_time_of_day(column, rows, pace):
        return Choice("stamp", Meaning(column, "clock", 1.0, "unit", 0.8, pace), "unit", 0.8)
    if column.unit_s is not None:
        sure = 0.9 if says_so or column.field.kind != "number" else 0.8
        goes_with_steps: Reason = "growth" if _goes_with_steps(column, rows) else "unit"
        meaning = Meaning(column, "clock", column.unit_s, goes_with_steps, sure, pace)
        return Choice("cumulative", meaning, goes_with_steps, sure)
    for found, other in evidence:
        unit = min(_CLOCK_UNITS, key=lambda unit: abs(math.log(pace * unit / other)))
        if abs(math.log(pace * unit / other)) < NEAR:
            sure = CONFIDENCE[found]
            return Choice("cumulative", Meaning(column, "clock", unit, found, sure, pace * unit), found, sure)
    unit = _plausible_unit(column, rows)
    reason: Reason = "name" if unit == 1.0 else "amounts"
    sure = CONFIDENCE[reason] if says_so else CONFIDENCE["size"]
    return Choice("cumulative", Meaning(column, "clock", unit, reason, sure, pace * unit), reason, sure)


def _goes_with_steps(column: TimeColumn, rows: StepLines) -> bool:
    """Whether a figure grows by the same for each step, on every line: durations that grow do not."""
    with np.errstate(all="ignore"):
        paces = np.diff(column.values) / rows.since
    known = paces[np.isfinite(paces) & ~rows.resets]
    return len(known) >= _LEAST_EVEN and bool(0 < known.max() < _EVEN * known.min())


def _is_time_of_day(column: TimeColumn, rows: StepLines, pace: float) -> bool:
    """Whether a clock cannot have begun with the first step: it shows far more than the steps before it took."""
    known = column.values[np.isfinite(column.values)]
    return bool(known[-1] < _DAY_S and known[0] > _NOT_SINCE * pace * max(1.0, float(rows.steps[0])))


def _plausible_unit(column: TimeColumn, rows: StepLines) -> float:
    """Seconds, or the first longer unit in which the fastest count of updates is one that a machine can do."""
    known = column.values[np.isfinite(column.values)]
    passed = float(known[-1] - known[0])
    for unit in (1.0, 60.0, 3600.0):
        if passed <= 0 or rows.num_updates / (passed * unit) < _MOST_UPDATES:
            return unit
    return 1.0
