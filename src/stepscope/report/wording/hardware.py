"""A GPU: its figures, what holds it back, and the other processes on it."""

from __future__ import annotations

from stepscope.analysis.report import Report
from stepscope.core.message import Share
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.source.hardware import Hardware

_GIB = 1 << 30


def hardware_details(report: Report, language: Language) -> str | None:
    """The figures of the report's GPU, as far as they are known."""
    return hardware_text(report.hardware, language)


def hardware_text(hardware: Hardware | None, language: Language) -> str | None:
    """The figures of a GPU, as far as they are known."""
    if hardware is None:
        return None
    found = []
    if hardware.utilisation is not None:
        found.append(language.text("gpu-load", share=Share(hardware.utilisation)))
    if hardware.memory_used and hardware.memory_total:
        used, total = language.number(hardware.memory_used / _GIB, 1), language.number(hardware.memory_total / _GIB, 1)
        found.append(language.text("gpu-memory", used=used, total=total))
    if hardware.power is not None and hardware.power_limit:
        found.append(language.text("gpu-power-of", power=round(hardware.power), limit=round(hardware.power_limit)))
    elif hardware.power is not None:
        found.append(language.text("gpu-power", power=round(hardware.power)))
    if hardware.temperature is not None:
        found.append(language.text("gpu-temperature", degrees=round(hardware.temperature)))
    if hardware.clock is not None and hardware.clock_most:
        found.append(language.text("gpu-clock-of", clock=round(hardware.clock), most=round(hardware.clock_most)))
    elif hardware.clock is not None:
        found.append(language.text("gpu-clock", clock=round(hardware.clock)))
    return ", ".join(found) or None


def hardware_trouble(hardware: Hardware | None, language: Language) -> str | None:
    """What slows the GPU down, and the other processes on it; None where neither is known."""
    if hardware is None:
        return None
    found = []
    if hardware.throttle:
        reasons = ", ".join(language.text(f"throttle-{word}") for word in hardware.throttle)
        found.append(language.text("gpu-held", reasons=reasons))
    if hardware.others:
        names = ", ".join(f"{redact(other.name, 40)} ({other.pid})" for other in hardware.others[:3])
        found.append(language.text("gpu-others", count=len(hardware.others), names=names))
    return " · ".join(found) or None
