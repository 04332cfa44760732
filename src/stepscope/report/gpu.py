"""The GPU in words: whether the speed is normal for it, and its samples in a few figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stepscope.analysis.report import Report
from stepscope.core.message import Seconds, Share
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.plan.gpus import known_gpu

_GIB = 1 << 30


def verdict_lines(report: Report, language: Language) -> list[str]:
    """The verdict in words; empty when there is none."""
    verdict = report.gpu_verdict
    if verdict is None or report.ledger.step is None:
        return _size_lines(report, language)
    peak = language.number(verdict.gpu.tflops, 1 if verdict.gpu.tflops < 100 else 0)
    found = [language.text("card-mfu", gpu=verdict.gpu.name, share=Share(verdict.utilisation), peak=peak)]
    if verdict.expected is not None:
        low, high = verdict.expected
        took = report.ledger.step.typical_s
        key = "card-slow" if took > high else "card-fast" if took < low else "card-normal"
        found.append(language.text(key, span=language.span(low, high)))
    return [" ".join(found)]


def _size_lines(report: Report, language: Language) -> list[str]:
    """For a model of unknown size: the sizes at which this speed would be normal, and what to state."""
    sizes = report.fitting_sizes
    if sizes is None or report.ledger.step is None or report.hardware is None:
        return []
    spec = known_gpu(report.hardware.gpu or "")
    return [
        language.text(
            "card-size-unknown",
            gpu=spec.name if spec else "",
            duration=Seconds(report.ledger.step.typical_s),
            low=language.number(sizes.low / 1e6),
            high=language.number(sizes.high / 1e6),
        )
    ]


def samples_data(report: Report) -> dict[str, Any] | None:
    """The GPU samples next to the log in a few figures, for the JSON document; None where there are none."""
    series = report.gpu_series
    if series is None:
        return None
    return {
        "gpu": redact(series.gpu, 80) if series.gpu else None,
        "samples": len(series.seconds),
        "seconds": series.seconds[-1] - series.seconds[0],
        "utilisation_mean": _mean(series.utilisation),
        "memory_used_max": _most(series.memory_used),
        "memory_total": _most(series.memory_total),
        "power_mean": _mean(series.power),
        "power_max": _most(series.power),
        "temperature_max": _most(series.temperature),
    }


def samples_line(report: Report, language: Language) -> str | None:
    """The GPU samples as a sentence; None where there are none."""
    data = samples_data(report)
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
