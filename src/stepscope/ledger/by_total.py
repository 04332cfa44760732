"""Unprinted steps by the total that a run prints at its end, where the printed ones are no sample of them.

A program that prints every k-th step may print just those that do more: an optimizer's step after k - 1 micro-batches.
"""

from __future__ import annotations

from stepscope.ledger.first_window import is_run_start
from stepscope.run.model import Run

# Less of a difference may be rounding, or what a total leaves out; with more of it, the total is of something else.
_SURE, _MOST = 0.05, 0.8


def mean_by_total(run: Run, printed_s: float, *, num: int, estimate_s: float) -> float | None:
    """The mean of `num` unprinted steps, where all together take less than the printed ones suggest; else None."""
    totals = [runtime.seconds for runtime in run.runtimes if runtime.row == len(run)]
    is_whole = len(run.segments) == 1 and run.segments[0].fresh and is_run_start(run)
    if not totals or not is_whole or run.stamps is not None or not run.clock.is_per_step:
        return None
    # With the evaluations in it or without, it is less.
    rest_s = max(totals) - printed_s
    if not (1 - _MOST) * estimate_s < rest_s < (1 - _SURE) * estimate_s:
        return None
    outside_s = sum(
        (0.0 if stop.evaluation_inside else stop.evaluation_took_s or 0.0)
        + (0.0 if stop.save_inside else stop.save_took_s or 0.0)
        for stop in run.stops
    )
    own_s = rest_s - outside_s
    return (own_s if own_s > 0 else rest_s) / num
