"""What `--price` states: money per hour of one GPU, or per kilowatt-hour. The one place that reads it."""

from __future__ import annotations

import re
from typing import NamedTuple

from stepscope.core.errors import UsageError
from stepscope.core.lazy_pattern import LazyPattern

_CURRENCY = r"(?:[$€£¥]|[A-Za-z]{3})?"
_PRICE = LazyPattern(
    rf"(?P<before>{_CURRENCY}) ?(?P<value>\d{{1,9}}(?:\.\d{{1,9}})?) ?(?P<after>{_CURRENCY}) ?(?:/ ?(?P<per>h|kwh))?",
    re.IGNORECASE,
)


class StatedPrice(NamedTuple):
    """A price; `currency` is empty where none was written."""

    value: float
    per_kwh: bool
    currency: str = ""

    @property
    def text(self) -> str:
        """The price as it may be typed."""
        number = f"{self.value:.2f}" if round(self.value, 2) == self.value else f"{self.value:g}"
        is_sign = len(self.currency) == 1
        amount = f"{self.currency}{number}" if is_sign else f"{number} {self.currency}".rstrip()
        return f"{amount}/{'kWh' if self.per_kwh else 'h'}"


def parse_price(text: str) -> StatedPrice:
    """The price in `2.10/h`, `$2.10/h`, `2.10 EUR/h` or `0.30/kWh`; per hour where nothing is written."""
    match = _PRICE.fullmatch(" ".join(text.split()))
    if match is None or (match["before"] and match["after"]):
        raise UsageError("bad-price", place=f"--price {text}")
    per_kwh = (match["per"] or "h").lower() == "kwh"
    return StatedPrice(float(match["value"]), per_kwh, (match["before"] or match["after"]).upper())
