"""What a card's samples come to, in words and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stepscope.analysis.explain import Report
from stepscope.core.message import Share
from stepscope.core.redact import redact
from stepscope.i18n import Language

_GIB = 1 << 30


def card_data(report: Report) -> dict[str, Any] | None:
    """The samples beside the log in a few figures, for the JSON document; None where there are none."""
    cards = report.cards
    if cards is None:
        return None
    return {
        "gpu": redact(cards.gpu, 80) if cards.gpu else None,
        "samples": len(cards.seconds),
        "seconds": cards.seconds[-1] - cards.seconds[0],
        "utilisation_mean": _mean(cards.utilisation),
        "memory_used_max": _most(cards.memory_used),
        "memory_total": _most(cards.memory_total),
        "power_mean": _mean(cards.power),
        "power_max": _most(cards.power),
        "temperature_max": _most(cards.temperature),
    }


def card_line(report: Report, language: Language) -> str | None:
    """The same as a sentence."""
    data = card_data(report)
    if data is None:
        return None
    items = []
    if data["utilisation_mean"] is not None:
        items.append(language.text("cards-load", share=Share(data["utilisation_mean"])))
    if data["memory_used_max"] is not None and data["memory_total"]:
        used, total = (language.number(data[name] / _GIB, 1) for name in ("memory_used_max", "memory_total"))
        items.append(language.text("cards-memory", used=used, total=total))
    if data["power_mean"] is not None:
        items.append(language.text("cards-power", mean=round(data["power_mean"]), most=round(data["power_max"])))
    if data["temperature_max"] is not None:
        items.append(language.text("cards-temperature", degrees=round(data["temperature_max"])))
    name = data["gpu"] or "GPU"
    return language.text("cards-line", gpu=name, count=data["samples"], items=", ".join(items)) if items else None


def _known(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _mean(values: Sequence[float]) -> float | None:
    known = _known(values)
    return math.fsum(known) / len(known) if known else None


def _most(values: Sequence[float]) -> float | None:
    return max(_known(values), default=None)
