"""The books while they are being kept: seconds per phase with their uncertainty, and the parts of single rows.

Doubts are of three kinds. What varies freely from row to row adds in quadrature. What is off for all rows at once,
because they share a price or a habit, adds up within that source, and the sources in quadrature. What is either
one phase or another as a whole (a slow step that may be a stall) widens the interval in full.
"""

from __future__ import annotations

import math

from stepscope.core.units import NS, seconds_to_ns
from stepscope.ledger.phases import Basis, Part, Phase, PhaseTotal
from stepscope.run.model import Floats

ORDER: tuple[Phase, ...] = (
    "step",
    "evaluation",
    "checkpoint",
    "warmup",
    "data",
    "gc",
    "logging",
    "communication",
    "stall",
    "gap",
    "unlogged",
)


class Account:
    """One phase: its seconds, and the three kinds of doubt about them."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.num = 0
        self._variance = 0.0
        self._shared: dict[str, tuple[float, float]] = {}
        self._either = 0.0
        self._by_basis: dict[Basis, float] = {}

    def add(self, seconds: float, basis: Basis, *, sd: float = 0.0, num: int = 1) -> None:
        """Book `seconds`; `sd` is what varies freely."""
        self.seconds += seconds
        self._variance += sd * sd
        self.num += num
        self._by_basis[basis] = self._by_basis.get(basis, 0.0) + max(seconds, 0.0)

    def add_many(self, seconds: Floats, basis: Basis, *, sd: Floats | None = None, num: int) -> None:
        """Book many seconds, none of them negative, for `num` events in all."""
        if len(seconds):
            self.add(float(seconds.sum()), basis, sd=0.0 if sd is None else math.sqrt(float((sd * sd).sum())), num=num)

    def doubt(self, source: str, down: float, up: float) -> None:
        """All figures that rest on `source` may be off together: by `down` and `up` at the stated confidence."""
        before = self._shared.get(source, (0.0, 0.0))
        self._shared[source] = (before[0] + max(0.0, down), before[1] + max(0.0, up))

    def either(self, seconds: float) -> None:
        """These seconds, booked elsewhere, may belong here."""
        self._either += max(0.0, seconds)

    def interval(self, z: float) -> tuple[float, float]:
        """Low and high at `z` standard deviations."""
        free = z * self._variance**0.5
        down = math.hypot(free, *(shared[0] for shared in self._shared.values()))
        up = math.hypot(free, *(shared[1] for shared in self._shared.values()))
        return max(0.0, self.seconds - down), self.seconds + up + self._either

    @property
    def basis(self) -> Basis:
        """What most of the seconds rest on."""
        return max(self._by_basis, key=lambda basis: self._by_basis[basis], default="measured")


class Books:
    """All accounts of a run, and what each special row is made of."""

    def __init__(self, z: float) -> None:
        self.z = z
        self._accounts: dict[Phase, Account] = {phase: Account() for phase in ORDER}
        self._parts: dict[int, list[Part]] = {}

    def __getitem__(self, phase: Phase) -> Account:
        return self._accounts[phase]

    @property
    def seconds(self) -> float:
        """Everything booked so far."""
        return sum(account.seconds for account in self._accounts.values())

    def note(self, row: int, part: Part) -> None:
        """Remember a part of a row, its interval made sane."""
        phase, seconds, low, high, basis = part
        self._note(row, Part(phase, seconds, max(0.0, min(low, seconds)), max(high, seconds), basis))

    def _note(self, row: int, part: Part) -> None:
        known = self._parts.get(row)
        if known is None:
            self._parts[row] = [part]
        else:
            known.append(part)

    def book(
        self,
        row: int,
        phase: Phase,
        seconds: float,
        basis: Basis,
        *,
        sd: float = 0.0,
        source: str = "",
        down: float = 0.0,
        up: float = 0.0,
        num: int = 1,
    ) -> None:
        """Book `seconds` of a row to a phase, and remember them as a part of that row.

        sd: standard deviation that varies freely from row to row, in seconds.
        source: name of the doubt shared with other rows, such as a price; unused where `down` and `up` are 0.
        down, up: seconds by which all parts of that source may be too long or too short together.
        num: events that this part adds to the count of the phase.
        """
        self[phase].add(seconds, basis, sd=sd, num=num)
        if down > 0 or up > 0:
            self[phase].doubt(source, down, up)
        free = self.z * sd
        low, high = seconds - math.hypot(free, down), seconds + math.hypot(free, up)
        self._note(row, Part(phase, seconds, max(0.0, low), high, basis))

    def parts(self, row: int) -> list[Part]:
        """What a row is made of, largest first."""
        return sorted(self._parts.get(row, []), key=lambda part: -part.seconds)

    def close(self) -> tuple[tuple[PhaseTotal, ...], int]:
        """The totals and the wall time in whole nanoseconds; the totals add up to it exactly."""
        used = [(phase, self._accounts[phase]) for phase in ORDER if self._accounts[phase].num]
        nanos = {phase: seconds_to_ns(account.seconds) for phase, account in used}
        wall_ns = sum(nanos.values())
        totals = []
        for phase, account in used:
            low, high = account.interval(self.z)
            seconds = nanos[phase] / NS
            totals.append(
                PhaseTotal(
                    phase=phase,
                    seconds=seconds,
                    low_s=min(low, seconds),
                    high_s=max(high, seconds),
                    basis=account.basis,
                    ns=nanos[phase],
                    num=account.num,
                    share=nanos[phase] / wall_ns if wall_ns else 0.0,
                )
            )
        return tuple(totals), wall_ns


def with_count(totals: tuple[PhaseTotal, ...], phase: Phase, num: int, *, is_inside: bool) -> tuple[PhaseTotal, ...]:
    """The totals with `num` events of a phase whose cost nothing shows.

    is_inside: their seconds are somewhere in those of the steps; else the log's clock stood still for them.
    """
    by_phase = {total.phase: total for total in totals}
    step = by_phase.get("step")
    if not num or phase in by_phase or step is None:
        return totals
    most_s = step.high_s if is_inside else 0.0
    by_phase[phase] = PhaseTotal(
        phase=phase, seconds=0.0, low_s=0.0, high_s=most_s, basis="assumed", ns=0, num=num, share=0.0
    )
    return tuple(by_phase[own] for own in ORDER if own in by_phase)
