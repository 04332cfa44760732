"""A second opinion on a reading: one file per check; its docstring is its page.

A check never changes an answer. It says whether what was read fits together with everything else in the log, and how
much speaks against it; from all of them follows how sure a report is (`_confidence.py`).
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from stepscope.audit._base import AuditEvidence, Check, Reading
from stepscope.audit._confidence import confidence_of
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import Ledger
from stepscope.run.model import Run


@cache
def rules() -> dict[str, ModuleType]:
    """Every check by its code."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {str(module.CODE): module for module in sorted(modules, key=lambda module: str(module.CODE))}


def audit(run: Run, ledger: Ledger, forecast: Forecast | NoForecast) -> Reading:
    """All checks of a reading, and how sure it is after them."""
    evidence = AuditEvidence(run, ledger, forecast)
    checks: tuple[Check, ...] = tuple(rule.check(evidence) for rule in rules().values())
    return Reading(confidence_of(checks, evidence), checks, run.candidates)
