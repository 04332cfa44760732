"""What an alarm is and what it may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import Ledger
from stepscope.message import Message
from stepscope.run import Run

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """Something that went wrong. `step` is the last step before it, `line` the line that says so."""

    code: str
    severity: Severity
    step: int | None
    line: int | None
    message: Message


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a rule looks at."""

    run: Run
    ledger: Ledger
    forecast: Forecast | NoForecast

    def step_before(self, row: int) -> int | None:
        """The last step printed before a row index."""
        return int(self.run.steps.step[row - 1]) if row and len(self.run) else None
