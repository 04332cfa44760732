"""Sentences with what their seconds cost, where the user states a price."""

from __future__ import annotations

from stepscope.analysis.money import cost_of, num_devices
from stepscope.analysis.report import Report
from stepscope.core.message import Message, Money, say

_LEAST = 0.005  # less is written as 0.00


def with_money(report: Report, message: Message, seconds: float, *, with_rate: bool = False) -> Message:
    """A sentence, followed by what the seconds in it cost; the rate once, or where a bare number would say nothing."""
    cost = cost_of(report, seconds)
    if cost is None or abs(cost) < _LEAST or report.ask.price is None:
        return message
    rate, count = report.ask.price.text, num_devices(report)
    money = Money(cost, report.ask.price.currency)
    if money.currency and not with_rate:
        return say("with-amount", text=message, money=money)
    if count == 1:
        return say("with-money", text=message, money=money, rate=rate)
    return say("with-money-of", text=message, money=money, rate=rate, count=count)
