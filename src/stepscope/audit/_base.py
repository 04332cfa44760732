"""What a check is, what it may look at, and what follows from all of them."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from stepscope.core.message import Message
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.ledger.phases import Ledger
from stepscope.lines import hints
from stepscope.run.model import Candidate, Run, UnreadFamily

Verdict = Literal["agrees", "disagrees", "cannot tell"]
_LEAST_LINES = 3


class Check(NamedTuple):
    """One question about a reading, and its answer.

    `seconds` are those that are in doubt, where there is such a figure. `doubt` is how much of the reading is: 0 to 1.
    """

    code: str
    verdict: Verdict
    message: Message
    seconds: float | None = None
    doubt: float = 0.0


class Reading(NamedTuple):
    """How sure it is that a log was understood."""

    confidence: float
    checks: tuple[Check, ...]
    candidates: tuple[Candidate, ...]

    @property
    def is_doubtful(self) -> bool:
        """Whether the report is more likely wrong than right, as far as that can be known."""
        return self.confidence < DOUBTFUL

    @property
    def doubts(self) -> tuple[Check, ...]:
        """The checks that speak against the reading, gravest first."""
        against = [check for check in self.checks if check.doubt > 0]
        return tuple(sorted(against, key=lambda check: -check.doubt))


DOUBTFUL = 0.5


class AuditEvidence:
    """What a check looks at."""

    def __init__(self, run: Run, ledger: Ledger, forecast: Forecast | NoForecast) -> None:
        self.run, self.ledger, self.forecast = run, ledger, forecast

    @property
    def num_rows(self) -> int:
        """How many step rows were read."""
        return self.run.steps.num_printed

    @cached_property
    def has_times(self) -> bool:
        """Whether any step has a time."""
        return bool((self.run.steps.span > 0).any())

    @cached_property
    def has_loss(self) -> bool:
        """Whether rows or evaluations carry a loss."""
        run = self.run
        known = bool(np.isfinite(run.steps.loss).any()) or run.num_nonfinite > 0
        return known or bool(np.isfinite(run.events.val_loss).any())

    @cached_property
    def typical_s(self) -> float | None:
        """Seconds of a normal step."""
        return self.ledger.step.typical_s if self.ledger.step is not None else None

    @cached_property
    def lines(self) -> tuple[int, int]:
        """The lines of the first and the last row; none of both where there is no row."""
        run = self.run
        return (int(run.steps.line[0]), int(run.steps.line[-1])) if len(run) else (run.num_lines + 1, 0)

    @cached_property
    def unread(self) -> tuple[UnreadFamily, ...]:
        """The unread families that go on while the run does, or that come after it; most lines first."""
        return self._during(self.run.unread)

    @cached_property
    def ignored(self) -> tuple[UnreadFamily, ...]:
        """The same with the lines that the format knows and passes over."""
        return self._during((*self.run.unread, *self.run.passed))

    def _during(self, families: tuple[UnreadFamily, ...]) -> tuple[UnreadFamily, ...]:
        first = self.lines[0]
        found = [family for family in families if family.last_line > first or not self.num_rows]
        return tuple(sorted(found, key=lambda family: -family.num))

    @cached_property
    def repeated(self) -> tuple[UnreadFamily, ...]:
        """Those of them that come again and again, and hold a number."""
        return tuple(family for family in self.unread if family.num >= _LEAST_LINES and hints.has_number(family.first))

    def weight(self, family: UnreadFamily) -> float:
        """How many lines a family has for every row that was read, at most 1."""
        return min(1.0, family.num / max(1, self.num_rows))
