"""Waiting for data that every row prints: a part of the steps' own time, booked as what it is."""

from __future__ import annotations

import numpy as np

from stepscope.columns.statistics import median
from stepscope.ledger.bookkeeping import Attribution
from stepscope.run.model import Floats, Run


def printed_waits(run: Run) -> Floats | None:
    """By row, the seconds of one step that went into waiting for data; NaN where unknown, None where no row says."""
    waits = run.steps.data_s
    if not run.clock.runs_during("data") or not np.isfinite(waits).any():
        return None
    return np.where(run.steps.span > 0, np.minimum(waits, run.steps.dur_ns / 1e9), np.nan)


def usual_wait_s(waits: Floats, normal: np.ndarray) -> float:
    """What a normal step waits for its data."""
    own = waits[normal & np.isfinite(waits)]
    own = own if len(own) else waits[np.isfinite(waits)]
    return float(median(own)) if len(own) else 0.0


def book_waits(work: Attribution, special: np.ndarray, unprinted_s: float, *, told_s: float) -> None:
    """Move what steps waited for data out of training; the `unprinted_s` seconds of others waited as those printed.

    `told_s` is what further unprinted steps waited, by the means of their epochs.

    Of a special row only as much as is usual is still booked as training: what is beyond that is what made it special.
    """
    waits = printed_waits(work.run)
    if waits is None:
        return
    usual = usual_wait_s(waits, work.baseline.normal)
    each = np.where(special, np.minimum(waits, usual), waits)
    seconds = float(np.nansum(each * work.run.steps.span)) + told_s
    level = float(median(work.baseline.level))
    silent_s = unprinted_s * min(1.0, usual / level) if level > 0 else 0.0
    if not 0 < seconds + silent_s <= work.books["step"].seconds:
        return
    work.books["step"].add(-seconds - silent_s, "measured", num=0)
    work.books["data"].add(seconds, "measured", num=work.run.steps.num_printed_of(np.isfinite(waits)))
    work.books["data"].add(silent_s, "inferred", num=0)
