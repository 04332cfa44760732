"""What one evaluation or checkpoint usually takes, by its spans."""

from __future__ import annotations

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.ledger.phases import Price
from stepscope.run.model import Ints


def span_price(spans: Ints | None, least_doubt_s: float) -> Price | None:
    """What one usually takes, to within `least_doubt_s` at best; None without any. The first may hold a compile."""
    if spans is None or not len(spans):
        return None
    seconds = (spans[1:] if len(spans) > 2 else spans)[:, :2] @ np.array([-1, 1]) / NS
    middle = float(median(seconds))
    spread = max(least_doubt_s, 1.645 * float(np.std(seconds)) / len(seconds) ** 0.5)
    return Price(middle, max(0.0, middle - spread), middle + spread, "measured")
