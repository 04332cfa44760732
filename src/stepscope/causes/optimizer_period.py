"""C10: the optimizer does extra work every few steps.

What it looks at
    Slow steps at an exact whole spacing that no stated interval has, all of one height, each worth a few steps. Longer
    ones, and those at a round number and its multiples, may as well be evaluations or checkpoints without a line.

Why it costs time
    Preconditioners (SOAP, Shampoo) are refreshed, or one optimizer steps only every other time. It is meant to be so:
    the forecast counts it, no alarm is raised.

Example
    255 ms per step, 1,325 ms at 21, 31, 41 …

What to change
    Nothing, or a rarer refresh (`precondition_frequency`).
"""

from __future__ import annotations

from stepscope.causes._evidence import Rhythmic
from stepscope.causes._stated import states_interval
from stepscope.columns.statistics import median
from stepscope.core.message import Decimal, Seconds, say
from stepscope.ledger.phases import Finding

CODE = "C10"
PLACE = 55
_ALIKE = 0.15
# A refresh of preconditioners takes up to this many normal steps; evaluations and checkpoints mostly take more.
_MOST_STEPS = 8.0
# Intervals of evaluations and checkpoints are at least this long, and hold at their multiples or a step later.
_LONG = 50
_UNSURE = 0.4


def explain_period(rhythm: Rhythmic) -> Finding | None:
    """A whole comb of one height that is nobody else's."""
    period, settings = rhythm.period, rhythm.evidence.run.settings
    if not period.is_whole or states_interval(settings, period.every):
        return None
    every = int(period.every)
    round_number = every % 5 == 0 or every & (every - 1) == 0
    # Where a line covers many steps, a spacing is only known to that many, so nothing shows it to be exact.
    is_exact = int(median(rhythm.evidence.run.steps.span)) <= 1
    confidence = (0.65 if round_number else 0.45) if period.spread <= _ALIKE and is_exact else 0.3
    level_s = float(median(rhythm.evidence.baseline.level[list(period.rows)]))
    is_on_multiples = every >= _LONG and period.offset % every <= 1
    if period.each_s > _MOST_STEPS * level_s or is_on_multiples:
        confidence = min(confidence, _UNSURE)
    message = say("cause-c10-evidence", every=Decimal(every, 0), duration=Seconds(period.each_s))
    return Finding(CODE, "optimizer", "step", confidence, period.each_s, message)
