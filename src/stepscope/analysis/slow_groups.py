"""Slow steps of one kind taken together: evaluations every 500 steps are one fact, not twenty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from stepscope.ledger.phases import Part, SlowStep, joined
from stepscope.run.model import Run

# Of one kind, those whose costs differ by more than this factor are told apart.
_ALIKE = 2.0
# An interval that no setting states must hold for at least so many steps, and leave out few of its places.
_LEAST_REGULAR = 3
_LEAST_FILLED = 0.6
_MOST_ODD = 0.1


class SlowGroup(NamedTuple):
    """Slow steps of one cause and about one cost. `every` is their interval, `parts` are those of a mean one."""

    steps: tuple[SlowStep, ...]
    every: int | None
    parts: tuple[Part, ...]

    @property
    def each_s(self) -> float:
        """What one takes, on average."""
        return math.fsum(slow.seconds for slow in self.steps) / len(self.steps)

    @property
    def lost_s(self) -> float:
        """What all of them take beyond training."""
        return extra_s(self.parts) * len(self.steps)


def extra_s(parts: Sequence[Part]) -> float:
    """The seconds beyond training."""
    return math.fsum(part.seconds for part in parts if part.phase != "step")


def group_slow(run: Run, slow: Sequence[SlowStep]) -> list[SlowGroup]:
    """The slow steps in groups, costliest group first."""
    kinds: dict[tuple[object, ...], list[SlowStep]] = {}
    for one in slow:
        is_window = bool(run.steps.span[one.row] > 1)
        phases = frozenset(part.phase for part in one.parts if part.phase != "step")
        kinds.setdefault((one.cause, "warmup" in phases, is_window), []).append(one)
    found = [_group(run, own) for kind in kinds.values() for own in _alike(kind)]
    return sorted(found, key=lambda group: -group.lost_s)


def _alike(slow: list[SlowStep]) -> list[list[SlowStep]]:
    """Split where the cost doubles from one step to the next in size."""
    ordered = sorted(slow, key=lambda one: one.seconds)
    groups = [[ordered[0]]]
    for before, one in pairwise(ordered):
        if one.seconds > _ALIKE * before.seconds:
            groups.append([])
        groups[-1].append(one)
    return groups


def _group(run: Run, own: list[SlowStep]) -> SlowGroup:
    own = sorted(own, key=lambda one: one.row)
    num = len(own)
    parts = tuple(
        part._replace(seconds=part.seconds / num, low_s=part.low_s / num, high_s=part.high_s / num)
        for part in joined(part for one in own for part in one.parts)
    )
    return SlowGroup(tuple(own), _interval(run, own), parts)


def _interval(run: Run, own: list[SlowStep]) -> int | None:
    """The interval at which all of them lie; None where there is none."""
    if len(own) < 2:
        return None
    steps = [one.step for one in own]
    gaps = [later - earlier for earlier, later in pairwise(steps)]
    if min(gaps) <= 0:
        return None
    name = {"evaluation": "eval_interval", "checkpoint": "checkpoint_interval"}.get(own[0].cause)
    stated = run.settings.count(name) if name is not None else None
    if stated and stated > 1 and sum(gap % stated != 0 for gap in gaps) <= _MOST_ODD * len(gaps):
        return stated  # the last evaluation of a run often comes out of turn
    every = math.gcd(*gaps)
    is_regular = len(own) >= _LEAST_REGULAR and (len(own) - 1) * every >= _LEAST_FILLED * (steps[-1] - steps[0])
    return every if is_regular and every > 1 else None
