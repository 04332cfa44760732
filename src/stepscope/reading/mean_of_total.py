"""Steps that nothing times, in a log that says at its end how long the whole took: each is given the mean."""

from __future__ import annotations

import dataclasses

import numpy as np

from stepscope.core.message import Seconds, say
from stepscope.core.units import NS
from stepscope.lines.format import Assumption, Clock, Inferred
from stepscope.run.model import Run

_LEAST_ROWS = 4
_SURE = 0.5
_CLOCK = Clock(covers="window", includes=("evaluation", "checkpoint", "data", "logging"), note="")


def with_mean_of_total(run: Run) -> Run:
    """The run with the mean of its total as the time of every step, where its log has nothing better."""
    fmt = run.format
    totals = [runtime.seconds for runtime in run.runtimes if runtime.row == len(run)]
    if fmt.inferred is None or fmt.is_timed or len(run) < _LEAST_ROWS or len(run.segments) != 1 or not totals:
        return run
    if fmt.inferred.doubt is not None:
        return run  # a time is printed, and fits this total in none of its meanings
    step = run.steps.step.astype(np.int64)
    since = np.diff(step, prepend=fmt.layout.first_step - 1)
    usual = int(np.median(since[1:]))
    if (since <= 0).any() or since[0] > usual:
        return run  # the log begins later than its total
    total_s = max(totals)
    mean_ns = round(total_s * NS / int(since.sum()))
    first, *rest = fmt.inferred.assumptions
    said = Assumption(say("infer-time-of-all", total=Seconds(total_s)), None, _SURE)
    others = [own for own in rest if own.message.key != "infer-time-none"]
    steps = dataclasses.replace(run.steps, kept_dur=np.full(len(run), mean_ns, dtype=np.int64), spans=since)
    timed = dataclasses.replace(
        fmt, is_timed=True, clock=_CLOCK, inferred=Inferred(min(_SURE, fmt.inferred.confidence), (first, said, *others))
    )
    return dataclasses.replace(run, format=timed, steps=steps)
