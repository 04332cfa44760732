"""What an alarm is and what it may look at."""

from __future__ import annotations

from typing import Literal, NamedTuple

from stepscope.core.message import Message
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import Ledger
from stepscope.run.deaths import Death, find_deaths, is_at_end, is_outlived
from stepscope.run.model import Run
from stepscope.source.hardware import Hardware

Severity = Literal["error", "warning", "info"]

# Which alarm reports a death, by the kind of notice that is its cause.
_CODES = {"oom": "oom", "interrupted": "interrupted", "hang": "hang"}


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

    def deaths(self, *codes: str) -> list[Death]:
        """The deaths that an alarm of one of these codes reports: each is reported once, by its cause.

        An exception that training outlived is none. An interruption counts as the run's end only: when the run was
        started again, the restart says it.
        """
        found = []
        for death in find_deaths(self.run):
            code = _CODES.get(death.cause.kind, "crash")
            is_over = code == "interrupted" and not is_at_end(self.run, death)
            if code in codes and not is_over and not (code == "crash" and is_outlived(self.run, death)):
                found.append(death)
        return found

    def step_before(self, row: int) -> int | None:
        """The last step printed before a row index."""
        row = min(row, len(self.run))
        return int(self.run.steps.step[row - 1]) if row else None
