"""What the seconds of a run are sorted into, and the plain data that the sorting gives.

| phase | what it holds |
|---|---|
| step | normal training steps: batch, forward, backward, optimiser, and logging that the clock cannot separate |
| evaluation | validation and everything that the trainer runs with it |
| checkpoint | the stall of a checkpoint |
| warmup | start-up, compile, autotune, first touch |
| data | waiting for batches, where the log prints it |
| stall | what made a step slow and has no known cause |
| gap | between the end of one process and the start of the next, or a suspended machine |
| unlogged | seconds between the first and last timestamp that no line accounts for |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from stepscope.core.message import Message
from stepscope.core.units import NS
from stepscope.ledger.periods import Period, Periods
from stepscope.run.model import Ints

if TYPE_CHECKING:
    from stepscope.ledger.baseline import Baseline
    from stepscope.run.model import Run

Phase = Literal[
    "step", "evaluation", "checkpoint", "warmup", "data", "gc", "logging", "communication", "stall", "gap", "unlogged"
]
Basis = Literal["measured", "inferred", "assumed"]
# Why a step was slow or a level changed, in a word. The first six came first and keep their meaning.
Cause = Literal[
    "evaluation",
    "checkpoint",
    "warmup",
    "data",
    "gc",
    "unexplained",
    "accumulation",
    "announced",
    "async-checkpoint",
    "attention",
    "denormals",
    "heat",
    "interruption",
    "leak",
    "length",
    "logging",
    "memory",
    "neighbour",
    "optimizer",
    "power",
    "profiler",
    "recompile",
    "schedule",
    "straggler",
]
# How evaluation and checkpoint were separated, best evidence first.
Split = Literal["trace", "stamps", "contrast", "first-step", "model", "guess", "none"]


class Part(NamedTuple):
    """Seconds of one phase, with the interval they lie in and what that rests on."""

    phase: Phase
    seconds: float
    low_s: float
    high_s: float
    basis: Basis


def joined(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts with those of one phase added up, largest first."""
    found: dict[Phase, Part] = {}
    for part in parts:
        known = found.get(part.phase)
        found[part.phase] = (
            part
            if known is None
            else known._replace(
                seconds=known.seconds + part.seconds,
                low_s=known.low_s + part.low_s,
                high_s=known.high_s + part.high_s,
                basis=known.basis if known.seconds >= part.seconds else part.basis,
            )
        )
    return tuple(sorted(found.values(), key=lambda part: -part.seconds))


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

    @property
    def is_unpriced(self) -> bool:
        """Whether nothing in the log shows how long it took, or that it happened at all (`num` is 0 then)."""
        return self.ns == 0 and self.basis == "assumed"

    @property
    def is_in_steps(self) -> bool:
        """Whether its time is somewhere in that of the steps, and nothing shows how much of it."""
        return self.is_unpriced and self.high_s > 0


class Finding(NamedTuple):
    """What a cause of the catalogue makes of a slow step, a period, a level or a whole run.

    `phase` is where its seconds belong once it is sure enough; None where they stay.
    """

    code: str
    cause: Cause
    phase: Phase | None
    confidence: float
    seconds: float
    evidence: Message
    lines: tuple[int, ...] = ()


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
    code: str | None = None
    candidates: tuple[Finding, ...] = ()  # everything that fits, best first; the cause itself leads where there is one


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

    def moved(self, offset: int) -> Regime:
        """The same regime in a run with `offset` rows before."""
        return self._replace(first_row=self.first_row + offset, last_row=self.last_row + offset)


class ExplainedLevel(NamedTuple):
    """A regime with what may have brought it about; `change` is against the regime before, as a share."""

    regime: Regime
    change: float | None
    candidates: tuple[Finding, ...]


class Rhythm(NamedTuple):
    """A cost that comes back, and what it most likely is."""

    period: Period
    guess: Finding | None


class NormalStep(NamedTuple):
    """The normal step: median, and the central 90 % of what was printed.

    `is_by_total`: it is the mean of the unprinted steps, which take less than the printed ones.
    """

    typical_s: float
    low_s: float
    high_s: float
    num_rows: int
    rows: Ints  # which printed rows are normal steps
    regimes: tuple[Regime, ...]
    is_by_total: bool = False


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
    rhythms: tuple[Rhythm, ...] = ()
    levels: tuple[ExplainedLevel, ...] = ()
    findings: tuple[Finding, ...] = ()  # causes that the header shows for the whole run
    # For the diagnosis: the level of each row, and the ledgers of several trainings.
    baseline: Baseline | None = None
    trainings: tuple[tuple[Run, Ledger], ...] = ()
    # Of several trainings, the normal step of the one before the last.
    before_s: float | None = None

    @property
    def wall_s(self) -> float:
        """Seconds from the first to the last line."""
        return self.wall_ns / NS

    @property
    def timed_phases(self) -> tuple[PhaseTotal, ...]:
        """The phases that have a figure."""
        return tuple(total for total in self.phases if not total.is_unpriced)

    def seconds(self, phase: Phase) -> float:
        """Seconds of one phase; 0 when it does not occur."""
        return sum(total.seconds for total in self.phases if total.phase == phase)
