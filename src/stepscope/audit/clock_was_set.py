"""R13: the clock was set while the log was written.

What it looks at
    Timestamps that are earlier than the ones before them: a clock that was set (NTP, a virtual machine that was moved,
    a dead battery), parts of a log in the wrong order. An hour at the change to or from daylight saving is taken for
    that and leaves no doubt. A progress bar whose clock is negative.

Why it matters
    What passed at such a place is in no line. Where training goes on, what usually passes is assumed; where another
    process begins, next to nothing. The range of the total says how much more or less it may have been.

Example
    23:18:18 at iteration 490, 22:11:20 at iteration 400 after a restart.

What to change
    `stepscope run -- COMMAND` records with a clock that nobody sets. Parts of one run: name the files in their order.
"""

from __future__ import annotations

import math

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.lazy_pattern import LazyPattern
from stepscope.core.message import Seconds, say
from stepscope.core.units import NS

CODE = "R13"
# `[-3:29:-41<-10:...`: a bar subtracts the moment it began from an earlier one
_NEGATIVE = LazyPattern(r"[\[ ]-\d+:-?\d\d(?::-?\d\d)?\s?<")
_MOST = 0.5  # of the steps themselves nothing is in doubt


def check(evidence: AuditEvidence) -> Check:
    """How often the timestamps go back, and how much of the total rests on what was assumed there."""
    run, ledger = evidence.run, evidence.ledger
    negative = next((family for family in evidence.unread if _NEGATIVE.search(family.first)), None)
    if negative is not None:
        return Check(CODE, "disagrees", say("audit-clock-negative", line=negative.last_line), doubt=1.0)
    if run.stamps is None:
        return Check(CODE, "cannot tell", say("audit-clock-none"))
    steps = [step for step in run.clock_steps if not step.is_hour]
    if not steps:
        return Check(CODE, "agrees", say("audit-clock-runs-on"))
    most = max(steps, key=lambda step: step.added_ns)
    message = say("audit-clock-set", count=len(steps), line=most.line, by=Seconds(most.added_ns / NS))
    open_s = ledger.wall_high_s - ledger.wall_low_s
    doubt = min(_MOST, open_s / ledger.wall_s) if ledger.wall_s and not ledger.stamps_unusable else 0.0
    return Check(CODE, "disagrees", message, seconds=open_s if math.isfinite(open_s) else None, doubt=doubt)
