"""The catalogue of causes: one file per cause, its docstring is its page.

A cause has a `CODE`, a `PLACE` in the order they are tried in (markers first, then lattices, then shapes), and any of
`explain_step`, `explain_period`, `explain_level` and `explain_run`. Codes follow the numbers by which the catalogue is
kept; a number that no log can show has no file.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

# A cause at least this sure is named, and its seconds go to its phase; below, the step stays unexplained.
SURE = 0.6


@cache
def rules() -> dict[str, ModuleType]:
    """Every cause by its code."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {str(module.CODE): module for module in sorted(modules, key=lambda module: str(module.CODE))}


@cache
def in_order(question: str) -> tuple[ModuleType, ...]:
    """The causes that answer one question, in the order they are tried in."""
    able = [module for module in rules().values() if hasattr(module, question)]
    return tuple(sorted(able, key=lambda module: (int(module.PLACE), str(module.CODE))))
