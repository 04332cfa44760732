"""What the seconds of a run cost, at the price that the user states."""

from __future__ import annotations

from stepscope.analysis.report import Report
from stepscope.core.errors import UsageError

_J_PER_KWH = 3.6e6


def num_devices(report: Report) -> int:
    """GPUs that the run uses: as many as the log or the user says, else one."""
    found = report.run.settings.get("world_size")
    number = report.run.settings.count("world_size")
    return number if number and found is not None and found.origin != "default" else 1


def per_second(report: Report) -> float | None:
    """Money for a second of the whole run; None without a price."""
    price = report.ask.price
    if price is None:
        return None
    if not price.per_kwh:
        return price.value * num_devices(report) / 3600
    power = report.hardware.power if report.hardware is not None else None
    if power is None:
        raise UsageError("price-needs-power", place=f"--price {price.text}")
    return price.value * power * num_devices(report) / _J_PER_KWH


def cost_of(report: Report, seconds: float | None) -> float | None:
    """What so many seconds cost; None without a price or without seconds."""
    rate = per_second(report)
    return None if rate is None or seconds is None else rate * seconds
