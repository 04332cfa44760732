"""Curves of several runs for one picture: normal iterations and losses, over iterations, tokens and time."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from stepscope.analysis.report import Report
from stepscope.columns.statistics import distinct
from stepscope.core.units import NS
from stepscope.ledger.timeline import row_ends
from stepscope.run.model import Floats, Ints

# Of more rows than this, the median of each stretch is drawn: curves are compared, not spikes.
_MOST_STRETCHES = 600


def curves(report: Report) -> dict[str, Any]:
    """The curves of one run; a curve that the log does not have is empty."""
    run, ledger, events = report.run, report.ledger, report.run.events
    ends = row_ends(run, ledger)
    tokens = report.tokens_per_s * ledger.step.typical_s if report.tokens_per_s and ledger.step else None

    def curve(rows: Ints, steps: Ints, values: Floats) -> dict[str, Any]:
        """Values at some rows and steps, over all that they can be drawn over."""
        order = _in_order(steps)
        edges = distinct(np.linspace(0, len(order), min(_MOST_STRETCHES, len(order)) + 1).astype(np.int64)).tolist()
        pieces = [order[low:high] for low, high in itertools.pairwise(edges)]
        last = np.array([piece[-1] for piece in pieces], dtype=np.int64)
        at = steps[last].tolist()
        return {
            "step": at,
            "value": [float(f"{float(np.median(values[piece])):.6g}") for piece in pieces],
            "time": np.round(ends[np.minimum(rows[last], len(ends) - 1)], 3).tolist() if len(ends) else [],
            "tokens": [step * tokens for step in at] if tokens else [],
        }

    # Without the slow ones, which are in the bars of the phases: a level has to be seen, not hidden by a stop.
    normal = ledger.step.rows[ledger.step.rows < len(run)] if ledger.step is not None else np.zeros(0, dtype=np.int64)
    trained = np.flatnonzero(np.isfinite(run.steps.loss))
    judged = np.flatnonzero((events.step >= 0) & np.isfinite(events.val_loss))
    return {
        "took": curve(normal, run.steps.step[normal], run.steps.dur_ns[normal] / NS),
        "loss": curve(trained, run.steps.step[trained], run.steps.loss[trained]),
        "validation": curve(events.row[judged], events.step[judged], events.val_loss[judged]),
    }


def _in_order(steps: Ints) -> Ints:
    """The places of steps in their order; of those that a restart did again, the last."""
    order = np.argsort(steps, kind="stable")
    return np.asarray(order[np.append(np.diff(steps[order]) > 0, True)] if len(order) else order, dtype=np.int64)
