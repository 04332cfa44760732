"""R06: a step is implausibly short or long for what it is.

What it looks at
    The typical step against what any step with a loss takes (a kernel launch alone is some microseconds), and an
    iteration of many hours. The spread of the steps: most of a training takes about as long each time. The mean of all
    steps, where the log prints it next to the time of one.

Why it matters
    A step of a few microseconds is a bar of data that was filtered, or hours read as seconds. One of many hours is a
    whole epoch, a running clock or milliseconds read as seconds.

Example
    1,000,000 of 1,000,000 at 9 µs: the bar of a dataset, not a training.

What to change
    Look at what the counted lines are. `stepscope formats try LOG` shows which they are and which figure is their time.
"""

from __future__ import annotations

import math

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import Seconds, say

CODE = "R06"
# Shorter than the first and longer than the second is no training step; between these and the next, hardly one.
_NEVER_S = (2e-5, 14 * 86_400.0)
_HARDLY_S = (5e-4, 86_400.0)
_SPREAD = 30.0
_UNLIKE_MEAN, _MEAN_DOUBT = 1.5, 0.8


def check(evidence: AuditEvidence) -> Check:
    """The typical step against what is possible."""
    typical, step = evidence.typical_s, evidence.ledger.step
    if typical is None or step is None:
        return Check(CODE, "cannot tell", say("audit-step-none"), doubt=1.0 if evidence.num_rows else 0.0)
    mean_s = evidence.run.asides.mean_s
    if mean_s and not evidence.run.means and mean_s > _UNLIKE_MEAN * typical:  # means of epochs are in the ledger
        message = say("audit-step-mean", duration=Seconds(typical), mean=Seconds(mean_s))
        return Check(CODE, "disagrees", message, typical, _MEAN_DOUBT)
    doubt = _far(typical)
    if not evidence.has_loss and typical < 10 * _HARDLY_S[0]:
        doubt = max(doubt, 0.5)
    if step.low_s > 0 and step.high_s / step.low_s > _SPREAD:
        doubt = max(doubt, min(0.6, 0.2 * math.log10(step.high_s / step.low_s)))
    if not doubt:
        return Check(CODE, "agrees", say("audit-step-plausible", duration=Seconds(typical)))
    return Check(CODE, "disagrees", say("audit-step-odd", duration=Seconds(typical)), typical, doubt)


def _far(typical: float) -> float:
    """0 for an ordinary step, 1 for an impossible one."""
    if typical <= _NEVER_S[0] or typical >= _NEVER_S[1]:
        return 1.0
    if typical < _HARDLY_S[0]:
        return math.log(_HARDLY_S[0] / typical) / math.log(_HARDLY_S[0] / _NEVER_S[0])
    if typical > _HARDLY_S[1]:
        return math.log(typical / _HARDLY_S[1]) / math.log(_NEVER_S[1] / _HARDLY_S[1])
    return 0.0
