"""C10: the optimizer does extra work every few steps.

What it looks at
    Slow steps at an exact whole spacing that no other interval has, all of one height.

Why it costs time
    Preconditioners (SOAP, Shampoo) are refreshed, or one optimizer steps only every other time. It is meant to be so:
    the forecast counts it, no alarm is raised.

Example
    255 ms a step, 1,325 ms at 21, 31, 41 …

What to change
    Nothing, or a rarer refresh (`precondition_frequency`).
"""

from __future__ import annotations

from stepscope.causes._evidence import Rhythmic
from stepscope.columns.statistics import median
from stepscope.core.message import Decimal, Seconds, say
from stepscope.ledger.phases import Finding

CODE = "C10"
PLACE = 55
_ALIKE = 0.15


def explain_period(rhythm: Rhythmic) -> Finding | None:
    """A whole comb of one height."""
    period = rhythm.period
    if not period.is_whole:
        return None
    every = int(period.every)
    round_number = every % 5 == 0 or every & (every - 1) == 0
    # Where a line covers many steps, a spacing is only known to that many, so nothing shows it to be exact.
    is_exact = int(median(rhythm.evidence.run.steps.span)) <= 1
    confidence = (0.65 if round_number else 0.45) if period.spread <= _ALIKE and is_exact else 0.3
    message = say("cause-c10-evidence", every=Decimal(every, 0), duration=Seconds(period.each_s))
    return Finding(CODE, "optimizer", "step", confidence, period.each_s, message)
