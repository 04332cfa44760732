"""The catalogue of alarms: one file per alarm; its docstring is its page.

A loss that does not move is not an alarm of ours, and neither is a word in a config or an environment line.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import Ledger
from stepscope.run.model import Run
from stepscope.source.hardware import Hardware

_ORDER = {"error": 0, "warning": 1, "info": 2}
_DEATHS = frozenset({"crash", "interrupted", "hang", "oom", "killed"})


@cache
def rules() -> dict[str, ModuleType]:
    """Every alarm by its code."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {str(module.CODE): module for module in modules}


def find_alarms(
    run: Run, ledger: Ledger, forecast: Forecast | NoForecast, hardware: Hardware | None = None
) -> list[Alarm]:
    """Every alarm of the run, gravest first, then in the order of the log."""
    evidence = AlarmEvidence(run=run, ledger=ledger, forecast=forecast, hardware=hardware)
    found: list[Alarm] = [alarm for rule in rules().values() for alarm in rule.find(evidence)]
    if _says_of_what(run, found):
        found = [alarm for alarm in found if alarm.code != "ended_early"]
    return sorted(found, key=lambda alarm: (_ORDER[alarm.severity], alarm.line or 0, alarm.code))


def _says_of_what(run: Run, alarms: list[Alarm]) -> bool:
    """Whether an alarm says of what the run died: that it ended early would be the same end a second time."""
    last = int(run.steps.line[-1]) if len(run) else 0
    # An interruption is reported where it is the end, though a row or two may have been printed after it.
    return any(
        alarm.code in _DEATHS and (alarm.code == "interrupted" or alarm.line is None or alarm.line >= last)
        for alarm in alarms
    )
