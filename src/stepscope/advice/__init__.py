"""The catalogue of advice: one file per rule, named after the trouble; its docstring is its page."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from types import ModuleType

from stepscope.advice._base import Advice, Situation, situation_of
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import Ledger, Phase
from stepscope.run.model import Run
from stepscope.source.hardware import Hardware

# A change that saves less than this is not worth reading.
_LEAST_SECONDS = 1.0


@cache
def rules() -> dict[str, ModuleType]:
    """Every rule by its code."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.CODE: module for module in sorted(modules, key=lambda module: str(module.CODE))}


def advise(
    run: Run,
    ledger: Ledger,
    forecast: Forecast | NoForecast,
    hardware: Hardware | None = None,
    may_lose_s: float | None = None,
) -> list[Advice]:
    """What to change, most seconds first; empty when nothing is worth it.

    `may_lose_s` is the work that the user accepts to lose in a crash.
    """
    situation = situation_of(run, ledger, forecast, hardware, may_lose_s)
    found: list[Advice | None] = [rule.advise(situation) for rule in rules().values()]
    worth = [advice for advice in found if advice is not None and _is_worth(advice)]
    return sorted(worth, key=lambda advice: (-advice.weight_s, -advice.saves_s))


def together(situation: Situation, found: Sequence[Advice]) -> float:
    """Seconds saved by all of them at once: each saves its share of what the others leave of a phase."""
    left: dict[Phase, float] = {}
    for advice in found:
        total = sum(situation.left_s(phase) for phase in advice.phases)
        share = min(1.0, advice.saves_s / total) if total > 0 else 0.0
        for phase in advice.phases:
            left[phase] = left.get(phase, 1.0) * (1 - share)
    return sum(situation.left_s(phase) * (1 - share) for phase, share in left.items())


def _is_worth(advice: Advice) -> bool:
    return advice.saves_s >= _LEAST_SECONDS or advice.saves_bytes is not None
