"""R06: a step is implausibly short or long for what it is.

What it looks at
    The typical step against what any step with a loss takes (a kernel launch alone is some microseconds), and an
    iteration of many hours. The spread of the steps: most of a training takes about as long each time. The mean of all
    steps, where the log prints it next to the time of one. Times that grow by as much with every iteration, from
    nothing on.

Why it matters
    A step of a few microseconds is a bar of data that was filtered, or hours read as seconds. One of many hours is a
    whole epoch, a running clock or milliseconds read as seconds. Times in proportion to the iterations are most likely
    a clock that nobody sets back.

Example
    1,000,000 of 1,000,000 at 9 µs: the bar of a dataset, not a training.

What to change
    Look at what the counted lines are. `stepscope formats try LOG` shows which they are and which figure is their time.
"""

from __future__ import annotations

import math

import numpy as np

from stepscope.audit._base import AuditEvidence, Check
from stepscope.columns.statistics import median
from stepscope.core.message import Seconds, say
from stepscope.core.units import NS
from stepscope.run.model import Run

CODE = "R06"
# Shorter than the first and longer than the second is no training step; between these and the next, hardly one.
_NEVER_S = (2e-5, 14 * 86_400.0)
_HARDLY_S = (5e-4, 86_400.0)
_SPREAD = 30.0
_UNLIKE_MEAN, _MEAN_DOUBT = 1.5, 0.8
# A clock that is not set back: so many rows, up to so many times the first, each by as much, and from nothing on.
_LEAST_RISING, _MOST_RISING, _RISEN, _EVEN, _FROM_NOTHING, _CLOCK_DOUBT = 5, 1_000, 4.0, 0.25, 1.5, 0.9


def check(evidence: AuditEvidence) -> Check:
    """The typical step against what is possible."""
    typical, step = evidence.typical_s, evidence.ledger.step
    if typical is None or step is None:
        return Check(CODE, "cannot tell", say("audit-step-none"), doubt=1.0 if evidence.num_rows else 0.0)
    mean_s = evidence.run.asides.mean_s
    if mean_s and not evidence.run.means and mean_s > _UNLIKE_MEAN * typical:  # means of epochs are in the ledger
        message = say("audit-step-mean", duration=Seconds(typical), mean=Seconds(mean_s))
        return Check(CODE, "disagrees", message, typical, _MEAN_DOUBT)
    each_s = _grows_by(evidence.run)
    if each_s is not None:
        message = say("audit-step-clock", duration=Seconds(typical), each=Seconds(each_s))
        return Check(CODE, "disagrees", message, typical, _CLOCK_DOUBT)
    doubt = _far(typical)
    if not evidence.has_loss and typical < 10 * _HARDLY_S[0]:
        doubt = max(doubt, 0.5)
    if step.low_s > 0 and step.high_s / step.low_s > _SPREAD:
        doubt = max(doubt, min(0.6, 0.2 * math.log10(step.high_s / step.low_s)))
    if not doubt:
        return Check(CODE, "agrees", say("audit-step-plausible", duration=Seconds(typical)))
    return Check(CODE, "disagrees", say("audit-step-odd", duration=Seconds(typical)), typical, doubt)


def _grows_by(run: Run) -> float | None:
    """Seconds by which each printed time is longer with every iteration, where all are in proportion to their number.

    They begin near nothing with the first row of an epoch, so they may be a clock that runs on.
    """
    steps = run.steps
    if not run.clock.is_per_step or len(steps.t_ns) or len(run) < _LEAST_RISING:
        return None
    seconds, step = steps.dur_ns[-_MOST_RISING:] / NS, steps.step[-_MOST_RISING:]
    fall = np.flatnonzero(np.diff(seconds) <= 0)
    first = int(fall[-1]) + 1 if len(fall) else 0
    seconds, apart = seconds[first:], np.diff(step[first:])
    if len(seconds) < _LEAST_RISING or (apart <= 0).any() or seconds[0] <= 0 or seconds[-1] < _RISEN * seconds[0]:
        return None
    rises = np.diff(seconds) / apart
    each_s = float(median(rises))
    is_even = float(np.abs(rises / each_s - 1).max()) <= _EVEN
    return each_s if is_even and seconds[0] <= _FROM_NOTHING * each_s * float(apart[0]) else None


def _far(typical: float) -> float:
    """0 for an ordinary step, 1 for an impossible one."""
    if typical <= _NEVER_S[0] or typical >= _NEVER_S[1]:
        return 1.0
    if typical < _HARDLY_S[0]:
        return math.log(_HARDLY_S[0] / typical) / math.log(_HARDLY_S[0] / _NEVER_S[0])
    if typical > _HARDLY_S[1]:
        return math.log(typical / _HARDLY_S[1]) / math.log(_NEVER_S[1] / _HARDLY_S[1])
    return 0.0
