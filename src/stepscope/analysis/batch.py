"""How many samples an iteration takes, by a printed rate and the time of an iteration: neither says it alone."""

from __future__ import annotations

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.message import Decimal, Message, Seconds, say
from stepscope.ledger.phases import Ledger
from stepscope.run.model import Run

# A product this near to a whole number is that number.
_NEAR = 0.03
_TWO_SPEEDS = 3.0
_PER_SAMPLE = {"samples", "images", "examples", "sentences", "sequences", "clips"}


def batch_message(run: Run, ledger: Ledger) -> Message | None:
    """What rate and time make together; None where one is missing, the time came from the rate, or they fit nothing."""
    rates, unit = run.asides.rate, run.asides.rate_unit
    if rates is None or unit not in _PER_SAMPLE or ledger.step is None or run.settings.count("samples_per_step"):
        return None
    known = rates[np.isfinite(rates)]
    if not len(known) or known.max() > _TWO_SPEEDS * known.min():
        return None  # of rates so far apart the middle one is that of no iteration
    rate = float(median(known))
    product = rate * ledger.step.typical_s
    count = round(product)
    if count < 1 or abs(product / count - 1) > _NEAR:
        return None
    shown = Decimal(rate, 1 if rate < 100 else 0)
    return say("rate-and-time", rate=shown, unit=unit, duration=Seconds(ledger.step.typical_s), count=count)
