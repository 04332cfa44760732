"""The normal level of a run and the stretches of steps above it: one account for findings, alarm and trend."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from stepscope.ledger.phases import Ledger, Regime
from stepscope.run.model import Run
from stepscope.run.repeated import again_from

_SLOWER = 1.1  # times the normal level
_LEAST_OF_STEPS = 0.2  # the normal level is the quickest one that at least this share of the steps had


class Stretch(NamedTuple):
    """Steps above the normal level, one after the other. `seconds` is what they took beyond it, `level_s` their mean.

    Steps that a restart made the run do again belong to none: all their time is lost, and counts there.
    """

    first_step: int
    last_step: int
    first_row: int
    last_row: int
    normal_s: float
    level_s: float
    seconds: float


def normal_level(ledger: Ledger) -> float | None:
    """The quickest level that a fair share of the steps had."""
    regimes = ledger.step.regimes if ledger.step is not None else ()
    sizes = [max(1, regime.last_step - regime.first_step + 1) for regime in regimes]
    levels = [
        regime.typical_s
        for regime, size in zip(regimes, sizes, strict=True)
        if size >= _LEAST_OF_STEPS * sum(sizes) and regime.typical_s > 0
    ]
    return min(levels, default=None)


def slower_stretches(
    run: Run, ledger: Ledger, normal_s: float | None = None, *, end_row: int | None = None
) -> list[Stretch]:
    """The stretches above `normal_s` (by default the normal level), in order; only steps up to `end_row` count."""
    normal_s = normal_level(ledger) if normal_s is None else normal_s
    if normal_s is None or ledger.step is None or run.format.habits.step_cost_follows_schedule:
        return []
    stretches: list[list[Regime]] = []
    before: Regime | None = None
    for regime in _by_process(run, ledger.step.regimes, end_row):
        if end_row is not None and regime.first_row >= end_row:
            break
        if regime.typical_s > _SLOWER * normal_s:
            # The steps of another process begin again: one stretch of both would end before it begins.
            if (
                before is not None
                and stretches
                and stretches[-1][-1] is before
                and before.last_step < regime.first_step
            ):
                stretches[-1].append(regime)
            else:
                stretches.append([regime])
        before = regime
    end_step = None if end_row is None else int(run.steps.step[end_row])
    return [_stretch(own, normal_s, end_step) for own in stretches]


def _stretch(own: list[Regime], normal_s: float, end_step: int | None) -> Stretch:
    last = own[-1].last_step if end_step is None else min(own[-1].last_step, end_step)
    counts = [max(0, min(regime.last_step, last) - regime.first_step + 1) for regime in own]
    seconds = sum(count * (regime.typical_s - normal_s) for count, regime in zip(counts, own, strict=True))
    level_s = normal_s + seconds / sum(counts) if sum(counts) else own[0].typical_s
    return Stretch(own[0].first_step, last, own[0].first_row, own[-1].last_row, normal_s, level_s, seconds)


def _by_process(run: Run, regimes: tuple[Regime, ...], end_row: int | None) -> list[Regime]:
    """The levels, cut where the run was started again, without the steps that were done again."""
    steps, found = run.steps.step, list[Regime]()
    starts = [segment.first_row for segment in run.segments[1:]]
    again = again_from(run, end_row)
    for regime in regimes:
        cuts = [row for row in starts if regime.first_row < row <= regime.last_row]
        edges = [regime.first_row, *cuts, regime.last_row + 1]
        for first, end in pairwise(edges):
            first_step = int(steps[first]) if first != regime.first_row else regime.first_step
            last_step = int(steps[end - 1]) if end - 1 != regime.last_row else regime.last_step
            lost = again.get(int(run.steps.segment[first]))
            last_step = last_step if lost is None else min(last_step, lost - 1)
            if first_step <= last_step:
                found.append(Regime(first_step, last_step, first, end - 1, regime.typical_s))
    return found
