"""What the seconds of a run are sorted into, and the plain data that the sorting gives.

| phase | what it holds |
|---|---|
| step | normal training steps: batch, forward, backward, optimiser, and the logging the clock cannot tell apart |
| evaluation | validation and whatever else the trainer runs with it |
| checkpoint | the stall of a save |
| warmup | start-up, compile, autotune, first touch |
| stall | what made a step slow and has no known cause |
| gap | between the end of one process and the start of the next, or a suspended machine |
| unlogged | seconds between the first and last stamp that no line accounts for |
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from stepscope.ledger.periods import Periods
from stepscope.run import Ints
from stepscope.units import NS

Phase = Literal[
    "step", "evaluation", "checkpoint", "warmup", "data", "gc", "logging", "communication", "stall", "gap", "unlogged"
]
Basis = Literal["measured", "inferred", "assumed"]
Cause = Literal["evaluation", "checkpoint", "warmup", "data", "gc", "unexplained"]
# How evaluation and checkpoint were told apart, best evidence first.
Split = Literal["stamps", "contrast", "first-step", "model", "guess", "none"]


class Part(NamedTuple):
    """Seconds of one phase, with the interval they lie in and what that rests on."""

    phase: Phase
    seconds: float
    low_s: float
    high_s: float
    basis: Basis


class PhaseTotal(NamedTuple):
    """A phase over the whole run. `ns` are the same seconds as whole nanoseconds; those add up exactly."""

    phase: Phase
    seconds: float
    low_s: float
    high_s: float
    basis: Basis
    ns: int
    num: int
    share: float


class SlowStep(NamedTuple):
    """A printed step that took far longer than its neighbours."""

    row: int
    step: int
    line: int
    seconds: float
    cause: Cause
    confidence: float
    parts: tuple[Part, ...]
    evidence_lines: tuple[int, ...]


class Price(NamedTuple):
    """What one event costs: a typical value and the interval of the typical value, in seconds."""

    seconds: float
    low_s: float
    high_s: float
    basis: Basis


class Regime(NamedTuple):
    """A stretch of steps at one level."""

    first_step: int
    last_step: int
    first_row: int
    last_row: int
    typical_s: float


class NormalStep(NamedTuple):
    """The normal step: median, and the central 90 % of what was printed."""

    typical_s: float
    low_s: float
    high_s: float
    num_rows: int
    rows: Ints  # which printed rows are normal steps
    regimes: tuple[Regime, ...]


class Ledger(NamedTuple):
    """Where the time went. `step` is None when no normal step was read."""

    wall_ns: int
    wall_low_s: float
    wall_high_s: float
    phases: tuple[PhaseTotal, ...]
    slow: tuple[SlowStep, ...]
    step: NormalStep | None
    evaluation_price: Price | None
    checkpoint_price: Price | None
    split: Split
    stamps_unusable: bool
    periods: Periods = Periods((), 0, ())

    @property
    def wall_s(self) -> float:
        """Seconds from the first to the last line."""
        return self.wall_ns / NS

    def seconds(self, phase: Phase) -> float:
        """Seconds of one phase; 0 when it does not occur."""
        return sum(total.seconds for total in self.phases if total.phase == phase)
