"""The catalogue of advice: one file per rule, named after the trouble; its docstring is its page."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from stepscope.advice._base import Advice, look
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import Ledger
from stepscope.run import Run
from stepscope.source.nvidia_smi import Hardware

# Below this a change is not worth the reader's time.
_LEAST_SECONDS = 1.0


@cache
def rules() -> dict[str, ModuleType]:
    """Every rule by its code."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.CODE: module for module in sorted(modules, key=lambda module: str(module.CODE))}


def advise(run: Run, ledger: Ledger, forecast: Forecast | NoForecast, hardware: Hardware | None = None) -> list[Advice]:
    """What to change, most seconds first; empty when nothing is worth it."""
    situation = look(run, ledger, forecast, hardware)
    found: list[Advice | None] = [rule.advise(situation) for rule in rules().values()]
    worth = [advice for advice in found if advice is not None and advice.saves_s >= _LEAST_SECONDS]
    return sorted(worth, key=lambda advice: -advice.saves_s)
