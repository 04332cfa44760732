"""Earlier forecasts of this run compared with what happened: the forecast checked against the log itself.

The run is cut where a share of its steps was done, explained as if nothing more had come, and asked for the time to
the step that the log has reached by now. So a run that is still going can be scored too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepscope.causes._diagnose import attribute_with_causes
from stepscope.forecast.finish import Forecast, NoForecast, forecast
from stepscope.forecast.pace import lay_out
from stepscope.ledger.phases import Ledger
from stepscope.run.intervals import with_settings
from stepscope.run.model import Run

SHARES = (0.1, 0.25, 0.5, 0.75)
# Each cut is explained from scratch; for a very long log these two show as much, at a third of the cost.
_SHARES_OF_LONG, _LONG_ROWS = (0.1, 0.5), 200_000
# Fewer rows in all, and a tenth of them is nothing to forecast from.
_LEAST_ROWS = 20


class Backtest(NamedTuple):
    """A forecast made after `step`, of the time until `target_step`; seconds from the step's line on."""

    share: float  # steps done, as a share of those that the log covers
    step: int
    target_step: int
    elapsed_s: float  # seconds from the start of the log to the step
    remaining_s: float
    low_s: float
    high_s: float
    actual_s: float

    @property
    def is_inside(self) -> bool:
        """Whether what happened lies in the interval."""
        return self.low_s <= self.actual_s <= self.high_s

    @property
    def error(self) -> float:
        """How far off it was, as a share of what happened; positive when it took less than forecast."""
        return self.remaining_s / self.actual_s - 1


def backtest(
    run: Run, ledger: Ledger, *, confidence: float = 0.9, previous: Sequence[Run] = ()
) -> tuple[Backtest, ...]:
    """The forecasts of earlier moments, earliest first; none where the log is too short or allowed no forecast."""
    if len(run) < _LEAST_ROWS or ledger.step is None:
        return ()
    steps, seconds = lay_out(run, ledger).clock
    first, target = int(steps[0]), int(steps[-1])
    found = []
    for share in SHARES if len(run) <= _LONG_ROWS else _SHARES_OF_LONG:
        beyond = np.flatnonzero(steps > first + share * (target - first))
        row = int(beyond[0]) - 1 if len(beyond) else len(run) - 1
        actual = float(seconds[-1] - seconds[row])
        if row < 0 or actual <= 0:
            continue
        end = _forecast_at(run, row, target, confidence, previous)
        if isinstance(end, Forecast) and not end.is_finished:
            found.append(
                Backtest(
                    share=share,
                    step=int(steps[row]),
                    target_step=target,
                    elapsed_s=float(seconds[row]),
                    remaining_s=end.remaining_s,
                    low_s=end.low_s,
                    high_s=end.high_s,
                    actual_s=actual,
                )
            )
    return tuple(found)


def _forecast_at(run: Run, row: int, target: int, confidence: float, previous: Sequence[Run]) -> Forecast | NoForecast:
    """The forecast when a row had just been printed. Of a long log, one such run in memory is enough."""
    then = dataclasses.replace(run.until(row), settings=run.settings.as_stated())
    then = with_settings(then, flags={"max_steps": target})
    ledger = attribute_with_causes(then, confidence=confidence)
    return forecast(then, ledger, confidence=confidence, previous=previous)
