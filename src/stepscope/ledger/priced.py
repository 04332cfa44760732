"""What one evaluation and one checkpoint cost, from what the ledger booked: the only account of it.

The forecast, the advice and the JSON document take their prices from the ledger. Whatever found the seconds
(timestamps, printed times, a cause that claimed slow rows), a phase with seconds and a count has a price.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.ledger.phases import Ledger, Phase, PhaseTotal, Price
from stepscope.run.model import Run
from stepscope.run.stops import Stop

# A price at which the events would have cost this many times what was booked is not theirs.
_TOO_HIGH = 1.5


def with_prices(ledger: Ledger, run: Run) -> Ledger:
    """The ledger with a price wherever it has seconds, and none that contradicts them."""
    evaluations = [stop for stop in run.stops if stop.evaluated]
    saves = [stop for stop in run.stops if stop.saved]
    return ledger._replace(
        evaluation_price=_priced(ledger, run, "evaluation", evaluations, ledger.evaluation_price),
        checkpoint_price=_priced(ledger, run, "checkpoint", saves, ledger.checkpoint_price),
    )


def _priced(ledger: Ledger, run: Run, phase: Phase, stops: Sequence[Stop], price: Price | None) -> Price | None:
    total = next((own for own in ledger.phases if own.phase == phase), None)
    if total is None or not total.num or total.seconds <= 0:
        return price
    # The last of many, after the last step, does more than the others: alone it says nothing about them.
    is_sample = 2 * total.num >= len(stops) and (not stops or any(stop.next_row < len(run) for stop in stops))
    if price is None and not is_sample:
        return None
    if price is None or price.seconds * total.num > _TOO_HIGH * total.high_s:
        return mean_price(total)
    return price


def mean_price(total: PhaseTotal) -> Price:
    """A phase's seconds over its events."""
    each = (total.seconds, total.low_s, total.high_s)
    seconds, low, high = (one / total.num for one in each)
    return Price(seconds=seconds, low_s=low, high_s=high, basis=total.basis)
