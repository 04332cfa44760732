"""Which lines of the log a report quotes: all of a short one, else those that its figures came from.

Events, remarks and the lines of the end are kept as the log is read. The lines of steps are not: they are looked up
again, by the numbers that are chosen here.
"""

from __future__ import annotations

import numpy as np

from stepscope.columns.statistics import distinct
from stepscope.ledger.phases import Ledger
from stepscope.run.model import Run

MOST_LINES = 600
_MOST_SLOW = 100  # slow steps whose line is quoted
_MOST_SPREAD = 120  # other steps, evenly over the run


def quoted_lines(run: Run, ledger: Ledger) -> list[int]:
    """The numbers of the lines to look up, those that matter most first."""
    found = [slow.line for slow in ledger.slow[:_MOST_SLOW]]
    if run.num_lines <= MOST_LINES:
        return found + list(range(1, run.num_lines + 1))
    return found + [int(line) for line in run.steps.line[_rows(run, ledger)]]


def _rows(run: Run, ledger: Ledger) -> list[int]:
    """The first row and the last, where the level changes or a process begins, a typical one, and some between."""
    if not len(run):
        return []
    rows = [0, len(run) - 1, *(segment.first_row for segment in run.segments[:_MOST_SPREAD] if segment.num_rows)]
    if ledger.step is not None:
        own = ledger.step.rows[ledger.step.rows < len(run)]
        if len(own):
            gaps = np.abs(run.steps.dur_ns[own] - ledger.step.typical_s * 1e9)
            rows.append(int(own[int(np.argmin(gaps))]))
        starts = [regime.first_step for regime in ledger.step.regimes]
        rows += [int(place) for place in np.flatnonzero(np.isin(run.steps.step, starts))[:_MOST_SPREAD].tolist()]
    rows += distinct(np.linspace(0, len(run) - 1, min(_MOST_SPREAD, len(run))).astype(np.int64)).tolist()
    return rows
