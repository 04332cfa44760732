"""Stepscope: where every second of a training run went, why an iteration was slow, when it ends, what to change.

    run = stepscope.read("train.log")
    report = stepscope.explain(run)
    report.ledger, report.forecast, report.advice, report.alarms

Names are imported when they are first used, so that `import stepscope` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["Report", "Run", "__version__", "advise", "attribute", "explain", "read"]

if TYPE_CHECKING:
    from stepscope.advice import advise
    from stepscope.analysis.explain import explain
    from stepscope.analysis.report import Report
    from stepscope.ledger.attribute import attribute
    from stepscope.reading.reader import read
    from stepscope.run.model import Run

_HOMES = {
    "Report": "stepscope.analysis.report",
    "Run": "stepscope.run.model",
    "advise": "stepscope.advice",
    "attribute": "stepscope.ledger.attribute",
    "explain": "stepscope.analysis.explain",
    "read": "stepscope.reading.reader",
}


def __getattr__(name: str) -> object:
    import importlib

    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
