"""What an alarm is and what it may look at."""

from __future__ import annotations

from typing import Literal, NamedTuple

from stepscope.core.message import Message
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import Ledger
from stepscope.run.model import Run
from stepscope.source.hardware import Hardware

Severity = Literal["error", "warning", "info"]


class Alarm(NamedTuple):
    """Something that went wrong. `step` is the last step before it, `line` the line that says so."""

    code: str
    severity: Severity
    step: int | None
    line: int | None
    message: Message


class AlarmEvidence(NamedTuple):
    """What a rule looks at."""

    run: Run
    ledger: Ledger
    forecast: Forecast | NoForecast
    hardware: Hardware | None = None

    def step_before(self, row: int) -> int | None:
        """The last step printed before a row index."""
        row = min(row, len(self.run))
        return int(self.run.steps.step[row - 1]) if row else None
