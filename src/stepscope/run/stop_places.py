"""Whether the log's clock runs during evaluations and checkpoints that print how long they took, by the rows' times.

A format declares what its clock covers, but versions and forks of a trainer differ. Where a stop prints its own
seconds, the time of the row that should hold it shows whether they are inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.run.model import Floats, Run

if TYPE_CHECKING:
    from stepscope.run.stops import Stop

# The verdict needs this many stops whose seconds would show in their row: a share of it, and beyond its noise.
_ENOUGH = 3
_SHOWS = 0.25
_SIGMAS = 4.0
# Of its printed seconds, a row holds less than the first share where the clock stops, and this much where it runs.
_OUTSIDE_BELOW = 0.3
_INSIDE = (0.7, 1.5)


def placed(run: Run, stops: Sequence[Stop]) -> Sequence[Stop]:
    """The stops, each inside or outside the clock as the rows' times show; as declared where they show nothing."""
    if not any(stop.evaluation_took_s or stop.save_took_s for stop in stops) or run.clock.is_wall:
        return stops
    own = [stop for stop in stops if stop.row is not None]
    shares = _held(run, own, evaluation=True), _held(run, own, evaluation=False)
    evaluation, save = (_verdict(found) for found in shares)
    if evaluation is None and save is None:
        return stops
    return [
        stop._replace(
            evaluation_inside=stop.evaluation_inside if evaluation is None or not stop.evaluated else evaluation,
            save_inside=stop.save_inside if save is None or not stop.saved else save,
        )
        for stop in stops
    ]


def _verdict(shares: list[float]) -> bool | None:
    """Inside, outside, or None where the rows do not show it."""
    if len(shares) < _ENOUGH:
        return None
    middle = float(median(shares))
    if middle < _OUTSIDE_BELOW:
        return False
    return True if _INSIDE[0] < middle < _INSIDE[1] else None


def _held(run: Run, stops: Sequence[Stop], *, evaluation: bool) -> list[float]:
    """Of the stops whose seconds would show, the share of them that their row took beyond its normal steps."""
    steps = run.steps
    calm = steps.span > 0
    calm[[stop.row for stop in stops if stop.row is not None]] = False
    calm[steps.first_rows] = False
    if int(calm.sum()) < _ENOUGH:
        return []
    one = steps.dur_ns[calm] / NS
    level = float(median(one))
    noise = 1.4826 * float(median(np.abs(one - level)))
    waited = _waits_beyond_usual(run, calm)
    found = []
    for stop in stops:
        took, other = stop.evaluation_took_s, stop.save_took_s
        if not evaluation:
            took, other = other, took
        span = int(steps.span[stop.row]) if stop.row is not None else 0
        if stop.row is None or not took or took < max(_SHOWS * level, _SIGMAS * noise) * span:
            continue
        # The row prints its wait for data: a loader restarts its workers after an evaluation.
        excess = (float(steps.dur_ns[stop.row]) / NS - level - float(waited[stop.row])) * span
        # Where both say what they took, the other one may be the part of the row that this one is not.
        found.append((excess - (other or 0.0 if excess > took + (other or 0.0) / 2 else 0.0)) / took)
    return found


def _waits_beyond_usual(run: Run, calm: np.ndarray) -> Floats:
    """By row, what a step waited for its data beyond what the calm ones did; 0 where the log does not print it."""
    waits = run.steps.data_s
    if not run.clock.runs_during("data") or not np.isfinite(waits[calm]).any():
        return np.zeros(len(run))
    beyond: Floats = np.maximum(np.nan_to_num(waits - np.nanmedian(waits[calm])), 0.0)
    return beyond
