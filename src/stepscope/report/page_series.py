"""The curves below the timeline, for the page's script: loss, throughput, the GPU, the ranks.

Each is bounded: of a stretch of a long log the lowest and the highest value are kept, so that no spike is lost.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stepscope.analysis.report import Report
from stepscope.columns.statistics import distinct, median
from stepscope.core.redact import redact
from stepscope.core.units import NS
from stepscope.forecast.pace import lay_out
from stepscope.run.model import Floats, Ints, Rank

_MOST_LOSSES = 1500
_MOST_STRETCHES = 300
_MOST_SAMPLES = 1200
_MOST_RANKS = 256
_MOST_CELLS = 96


def extremes(values: Ints | Floats, most: int) -> Ints:
    """The indices of at most `most` values, in order, whose drawing shows every spike."""
    if len(values) <= most:
        return np.arange(len(values), dtype=np.int64)
    edges = np.linspace(0, len(values), most // 2 + 1).astype(np.int64)[:-1]
    stretch = np.zeros(len(values), dtype=np.int64)
    stretch[edges] = 1
    order = np.lexsort((values, np.cumsum(stretch)))
    ends = np.append(edges[1:], len(values)) - 1
    return distinct(np.concatenate([order[edges], order[ends]]))


def losses(report: Report) -> dict[str, Any] | None:
    """Training and validation loss over the steps, the best one marked; None where there is no curve to draw."""
    steps = report.run.steps
    known = np.flatnonzero(np.isfinite(steps.loss))
    if len(known) < 2:
        return None
    known = known[extremes(steps.loss[known], _MOST_LOSSES)]
    train = {int(step): float(loss) for step, loss in zip(steps.step[known], steps.loss[known], strict=True)}
    events = report.run.events
    evaluated = np.flatnonzero((events.step >= 0) & np.isfinite(events.val_loss))
    evaluated = evaluated[extremes(events.val_loss[evaluated], _MOST_LOSSES)]
    validation = dict(zip(events.step[evaluated].tolist(), events.val_loss[evaluated].tolist(), strict=True))
    places = sorted(set(train) | set(validation))
    return {
        "step": [float(place) for place in places],
        "train": [train.get(place) for place in places],
        "validation": [validation.get(place) for place in places],
        "best": None if report.best is None else [report.best.step, report.best.val_loss],
    }


def throughput(report: Report) -> dict[str, list[float]] | None:
    """Tokens (or steps) per second of wall time, evaluations and checkpoints included; None with too few steps."""
    own = report.run.training(-1)
    step, seconds = lay_out(own, report.ledger).clock if own is report.run else (np.zeros(0), np.zeros(0))
    if len(step) < 8:
        return None
    edges = distinct(np.linspace(0, len(step) - 1, min(_MOST_STRETCHES, len(step) // 2) + 1).astype(np.int64))
    done, took = np.diff(step[edges]), np.diff(seconds[edges])
    # After a restart the count goes back: what was done twice is shown once.
    is_new = step[edges][1:] > np.maximum.accumulate(step[edges])[:-1]
    usable = (done > 0) & (took > 0) & is_new
    if int(usable.sum()) < 3:
        return None
    typical = report.ledger.step.typical_s if report.ledger.step else 0.0
    each = report.tokens_per_s * typical if report.tokens_per_s else 1.0
    rate = done[usable] * each / took[usable]
    return {"step": step[edges][1:][usable].tolist(), "rate": [float(f"{value:.5g}") for value in rate.tolist()]}


def gpu_samples(report: Report) -> dict[str, list[float | None]] | None:
    """The GPU's samples, thinned; seconds since the first."""
    series = report.gpu_series
    if series is None or len(series.seconds) < 2:
        return None
    load, used, total = (np.array(column) for column in (series.utilisation, series.memory_used, series.memory_total))
    kept = extremes(np.nan_to_num(load), _MOST_SAMPLES)
    columns = {
        "load": load * 100,
        "memory": np.divide(used * 100, total, out=np.full(len(used), np.nan), where=total > 0),
        "power": np.array(series.power),
        "temperature": np.array(series.temperature),
    }
    found: dict[str, list[float | None]] = {
        name: [round(value, 1) if math.isfinite(value) else None for value in column[kept].tolist()]
        for name, column in columns.items()
    }
    found["seconds"] = (np.array(series.seconds)[kept] - series.seconds[0]).round(1).tolist()
    found["step"] = _steps_at(report, np.array(series.seconds)[kept])
    return found


def _steps_at(report: Report, moments: Floats) -> list[float | None]:
    """The step that was being done at each moment; empty where the log's lines have no clock times."""
    own = report.run.training(-1)
    if report.moment_from != "stamp" or report.moment is None or own is not report.run:
        return []
    steps, seconds = lay_out(own, report.ledger).clock
    if len(steps) < 2:
        return []
    elapsed = moments - (report.moment.timestamp() - float(seconds[-1]))
    return [round(value, 2) for value in np.interp(elapsed, seconds, steps).tolist()]


def ranks(report: Report) -> dict[str, Any] | None:
    """Of each rank that prints its own steps, the median time of every stretch; None with fewer than two."""
    known = [rank for rank in report.run.ranks if len(rank.dur_ns)]
    if len(known) < 2:
        return None
    known = sorted(known, key=lambda rank: (rank.host, rank.number))[:_MOST_RANKS]
    first = min(int(rank.step.min()) for rank in known)
    last = max(int(rank.step.max()) for rank in known)
    num = min(_MOST_CELLS, max(len(rank.step) for rank in known))
    return {
        "first": first,
        "last": last,
        "names": [f"{redact(rank.host, 40)} · {rank.number}" if rank.host else str(rank.number) for rank in known],
        "seconds": [_cells(rank, first, last, num) for rank in known],
    }


def _cells(rank: Rank, first: int, last: int, num: int) -> list[float | None]:
    """The median step time of a rank in each of `num` stretches of the run."""
    place = (rank.step - first) * num // (last - first + 1)
    found: list[float | None] = [None] * num
    for cell in distinct(place).tolist():
        found[cell] = float(f"{float(median(rank.dur_ns[place == cell])) / NS:.4g}")
    return found
