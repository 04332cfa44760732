"""Stepscope: where every second of a training run went, why an iteration was slow, when it ends, what to change.

    run = stepscope.read("train.log")
    report = stepscope.explain(run)
    print(report)
    report.ledger, report.forecast, report.advice, report.alarms, report.to_dict()

Names are imported when they are first used, so that `import stepscope` costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepscope.core import outlets as _outlets

__version__ = "0.2.0"
__all__ = [
    "InputError",
    "Recorder",
    "Report",
    "Run",
    "StepscopeError",
    "UsageError",
    "__version__",
    "advise",
    "attribute",
    "explain",
    "read",
]

if TYPE_CHECKING:
    from stepscope.advice import advise
    from stepscope.analysis.explain import explain
    from stepscope.analysis.report import Report
    from stepscope.causes._diagnose import attribute_with_causes as attribute
    from stepscope.core.errors import InputError, StepscopeError, UsageError
    from stepscope.integrations import Recorder
    from stepscope.reading.reader import read
    from stepscope.run.model import Run

# Where each name is: its module, and what it is called there.
_HOMES = {
    "InputError": ("core.errors", "InputError"),
    "Recorder": ("integrations", "Recorder"),
    "Report": ("analysis.report", "Report"),
    "Run": ("run.model", "Run"),
    "StepscopeError": ("core.errors", "StepscopeError"),
    "UsageError": ("core.errors", "UsageError"),
    "advise": ("advice", "advise"),
    "attribute": ("causes._diagnose", "attribute_with_causes"),
    "explain": ("analysis.explain", "explain"),
    "read": ("reading.reader", "read"),
}
_OUTLETS = {
    "error": ("i18n.plain", "english_error"),
    "message": ("i18n.plain", "english_message"),
    "terminal": ("report.plain", "text"),
    "notebook": ("report.plain", "notebook"),
    "document": ("report.json", "document"),
}


def _load(home: tuple[str, str]) -> Any:
    import importlib

    module, name = home
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def _find_outlet(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = _load(_OUTLETS[name])
    return found


_outlets.install(_find_outlet)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext stepscope` in a notebook: `%stepscope train.log` shows the report."""
    from stepscope.cli._notebook import load

    load(shell)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return _load(_HOMES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
