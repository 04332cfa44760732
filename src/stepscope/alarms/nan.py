"""nan: a loss is NaN or infinite.

What it looks at
    The loss of every printed step and evaluation.

Why it matters
    From there on every step trains on nothing: the seconds after it are lost.

Example
    `iter 1300: loss nan, time 170.00ms`

What to change
    Go back to the last checkpoint before it; lower the learning rate, clip gradients, or leave float16.
"""

from __future__ import annotations

import re

import numpy as np

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say
from stepscope.run.model import Run

CODE = "nan"
# A loss in a line that the format does not read. The best loss so far is often infinite or NaN before there is one.
_LOSS = re.compile(
    r"(?i)(?<![\w.])(?P<name>[\w./ -]{0,30}\bloss(?:es)?|[\w./-]{0,30}_loss|\w{0,30}?loss\w*)"
    r"['\"]?\s*[:=]\s*['\"]?-?nan\b"
)
_NOT_YET = re.compile(r"(?i)best|min(?:imum)?|lowest|init|prev")
_FEW = 2


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm, at the first such loss."""
    run = evidence.run
    if run.first_nonfinite is None:
        return _in_unread_lines(run)
    step, line = run.first_nonfinite
    finite = _finite_again(run)
    if finite is not None:
        message = say("alarm-nan-passed", step=step, count=run.num_nonfinite, later=finite)
        return [Alarm(code=CODE, severity="warning", step=step, line=line, message=message)]
    message = say("alarm-nan", step=step, count=run.num_nonfinite)
    return [Alarm(code=CODE, severity="error", step=step, line=line, message=message)]


def _finite_again(run: Run) -> int | None:
    """The step from which on every loss is a number again; None where the last one is none."""
    if run.last_nonfinite is None:
        return None
    later = np.flatnonzero((run.steps.line > run.last_nonfinite[1]) & np.isfinite(run.steps.loss))
    return int(run.steps.step[later[0]]) if len(later) else None


def _in_unread_lines(run: Run) -> list[Alarm]:
    """Losses that are no numbers in lines that the format does not read: one family of them, the most frequent."""
    families = [
        family
        for family in run.unread
        if family.num >= _FEW
        and (found := _LOSS.search(family.first)) is not None
        and _NOT_YET.search(found["name"]) is None
    ]
    if not families:
        return []
    worst = max(families, key=lambda family: family.num)
    message = say("alarm-nan-unread", count=worst.num, line=worst.first_line)
    return [Alarm(code=CODE, severity="error", step=None, line=worst.first_line, message=message)]
