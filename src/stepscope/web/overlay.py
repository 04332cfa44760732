"""Curves of several runs for one picture: normal iterations and losses, over iterations, tokens and time."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from stepscope.analysis.report import Report
from stepscope.columns.statistics import distinct
from stepscope.core.units import NS
from stepscope.ledger.timeline import row_ends
from stepscope.report.page_data import extremes
from stepscope.run.model import Floats, Ints

_MOST_STRETCHES = 400
_MOST_LOSSES = 800


def curves(report: Report) -> dict[str, Any]:
    """The curves of one run; a curve that the log does not have is empty."""
    run, ledger = report.run, report.ledger
    ends = row_ends(run, ledger)
    tokens = report.tokens_per_s * ledger.step.typical_s if report.tokens_per_s and ledger.step else None

    def curve(rows: Ints, steps: Ints, values: Floats) -> dict[str, Any]:
        """Values at the end of some rows."""
        found: dict[str, Any] = {"step": steps.tolist(), "value": [float(f"{value:.6g}") for value in values.tolist()]}
        found["time"] = np.round(ends[np.minimum(rows, len(ends) - 1)], 3).tolist() if len(ends) else []
        found["tokens"] = [step * tokens for step in found["step"]] if tokens else []
        return found

    # Without the slow ones, which are in the bars of the phases: a level has to be seen, not hidden by a stop.
    normal = ledger.step.rows[ledger.step.rows < len(run)] if ledger.step is not None else np.zeros(0, dtype=np.int64)
    timed = _in_order(run.steps.step, normal)
    edges = distinct(np.linspace(0, len(timed), min(_MOST_STRETCHES, len(timed)) + 1).astype(np.int64)).tolist()
    pieces = [timed[low:high] for low, high in itertools.pairwise(edges)]
    middles = np.array([float(np.median(run.steps.dur_ns[piece])) / NS for piece in pieces])
    lasts = np.array([piece[-1] for piece in pieces], dtype=np.int64)
    known = _in_order(run.steps.step, np.flatnonzero(np.isfinite(run.steps.loss)))
    known = known[extremes(run.steps.loss[known], _MOST_LOSSES)]
    events = run.events
    judged = _in_order(events.step, np.flatnonzero((events.step >= 0) & np.isfinite(events.val_loss)))
    judged = judged[extremes(events.val_loss[judged], _MOST_LOSSES)]
    return {
        "took": curve(lasts, run.steps.step[lasts], middles),
        "loss": curve(known, run.steps.step[known], run.steps.loss[known]),
        "validation": curve(events.row[judged], events.step[judged], events.val_loss[judged]),
    }


def _in_order(steps: Ints, rows: Ints) -> Ints:
    """Rows in the order of their steps; of those that a restart did again, the last."""
    order = rows[np.argsort(steps[rows], kind="stable")]
    return np.asarray(order[np.append(np.diff(steps[order]) > 0, True)] if len(order) else order, dtype=np.int64)
