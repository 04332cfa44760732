"""What cost most time, most first: each second of the run counts in one finding at most.

What came after the best validation loss is taken first, whatever it was spent on. Of the time before that, each phase
that is no training is a finding, and so are stretches above the run's own normal level and iterations that a restart
made the run do twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from stepscope.analysis.best import Best
from stepscope.core.message import Decimal, Message, Seconds, Share, say
from stepscope.ledger.phases import Basis, Ledger, Phase, PhaseTotal, Regime
from stepscope.ledger.timeline import timeline
from stepscope.run.model import Run
from stepscope.run.repeated import num_repeated

LEAST_SHARE = 0.01  # of the wall time; less is not worth a word
_SLOWER = 1.1  # times the normal level
_LEAST_OF_STEPS = 0.2  # the normal level is the quickest one that at least this share of the steps had
_MOST_STRETCHES = 5
_SETTINGS = {"evaluation": "eval_interval", "checkpoint": "checkpoint_interval", "data": "num_workers"}
# Seconds that the log does not explain are said where the ledger is, not as something to act on.
_NO_FINDING = frozenset({"step", "unlogged"})


class CostFinding(NamedTuple):
    """Something that cost time: seconds with their interval, their share of the wall time, and what to look at."""

    code: str
    seconds: float
    low_s: float
    high_s: float
    share: float
    basis: Basis
    message: Message
    setting: str | None = None


def find_costs(
    run: Run, ledger: Ledger, best: Best | None, *, least_share: float = LEAST_SHARE
) -> tuple[CostFinding, ...]:
    """The findings that cost at least this share of the time, most first."""
    wall_s = ledger.wall_s
    if not wall_s > 0 or not len(run):
        return ()
    overfit = best if best is not None and best.is_past and best.share_after >= LEAST_SHARE else None
    found = [_after_best(ledger, overfit)] if overfit is not None else []
    found += [*_phases(run, ledger, overfit), *_repeated(run, ledger, overfit), *_slower(run, ledger, overfit)]
    kept = (one for one in _within(found, wall_s) if one.share >= least_share)
    return tuple(sorted(kept, key=lambda one: -one.seconds))


def _within(found: list[CostFinding], wall_s: float) -> Iterator[CostFinding]:
    """The findings that fit into the run together; levels and repeats are estimates, and one may claim too much."""
    room_s = wall_s
    for one in found:
        if one.seconds <= room_s + LEAST_SHARE * wall_s:
            seconds = min(one.seconds, room_s)
            room_s -= seconds
            yield one._replace(seconds=seconds, share=seconds / wall_s, low_s=min(one.low_s, seconds))


def _after_best(ledger: Ledger, best: Best) -> CostFinding:
    width = ledger.wall_high_s - ledger.wall_low_s if np.isfinite(ledger.wall_high_s) else 0.0
    doubt = width / 2 * best.share_after
    step = next((total for total in ledger.phases if total.phase == "step"), None)
    message = say(
        "finding-after-best",
        step=best.step,
        loss=Decimal(best.val_loss, 4),
        seconds=Seconds(best.seconds_after),
        share=Share(best.share_after),
    )
    return CostFinding(
        "after_best",
        best.seconds_after,
        max(0.0, best.seconds_after - doubt),
        best.seconds_after + doubt,
        best.share_after,
        step.basis if step is not None else "inferred",
        message,
        "max_steps",
    )


def _phases(run: Run, ledger: Ledger, best: Best | None) -> Iterator[CostFinding]:
    kept = _share_before(run, ledger, best) if best is not None else {}
    for total in ledger.timed_phases:
        if total.phase not in _NO_FINDING:
            yield _phase(total, ledger.wall_s, kept.get(total.phase, 1.0))


def _phase(total: PhaseTotal, wall_s: float, kept: float) -> CostFinding:
    seconds = total.seconds * kept
    share = seconds / wall_s
    key = f"finding-{total.phase}"
    count = max(1, round(total.num * kept))
    message = say(key, count=count, seconds=Seconds(seconds), share=Share(share))
    return CostFinding(
        total.phase,
        seconds,
        total.low_s * kept,
        total.high_s * kept,
        share,
        total.basis,
        message,
        _SETTINGS.get(total.phase),
    )


def _share_before(run: Run, ledger: Ledger, best: Best) -> dict[Phase, float]:
    """Of each phase, the share of its seconds that lies before the end of the best evaluation."""
    stops = run.stops
    places: dict[Phase, list[int]] = {
        "evaluation": [stop.step for stop in stops if stop.evaluated],
        "checkpoint": [stop.step for stop in stops if stop.saved],
    }
    # Where the rows' clock stands still for them, their number is all that says where they lie.
    shares = {name: sum(step <= best.step for step in own) / len(own) for name, own in places.items() if own}
    before: dict[Phase, float] = {}
    whole: dict[Phase, float] = {}
    for one in timeline(run, ledger):
        whole[one.phase] = whole.get(one.phase, 0.0) + one.seconds
        before[one.phase] = before.get(one.phase, 0.0) + min(one.seconds, max(0.0, best.at_s - one.start_s))
    return shares | {phase: before[phase] / seconds for phase, seconds in whole.items() if seconds > 0}


def _slower(run: Run, ledger: Ledger, best: Best | None) -> Iterator[CostFinding]:
    """Stretches of steps above the run's own normal level."""
    normal_s = _normal_level(ledger)
    if normal_s is None or run.format.habits.step_cost_follows_schedule:
        return
    stretches: list[list[Regime]] = []
    regimes = _by_process(run, ledger.step.regimes if ledger.step is not None else ())
    for place, regime in enumerate(regimes):
        if best is not None and regime.first_row >= best.row:
            break
        if regime.typical_s <= _SLOWER * normal_s:
            continue
        # The steps of another process begin again: one stretch of both would end before it begins.
        if stretches and stretches[-1][-1] is regimes[place - 1] and regimes[place - 1].last_step < regime.first_step:
            stretches[-1].append(regime)
        else:
            stretches.append([regime])
    costs = sorted(((_extra_s(own, normal_s, run, best), own) for own in stretches), key=lambda one: -one[0])
    for seconds, own in costs[:_MOST_STRETCHES]:
        share = seconds / ledger.wall_s
        until = own[-1].last_step if best is None else min(own[-1].last_step, int(run.steps.step[best.row]))
        count = sum(max(0, min(regime.last_step, until) - regime.first_step + 1) for regime in own)
        message = say(
            "finding-slower",
            first=own[0].first_step,
            last=until,
            level=Seconds(normal_s + seconds / count if len(own) > 1 and count else own[0].typical_s),
            normal=Seconds(normal_s),
            seconds=Seconds(seconds),
            share=Share(share),
        )
        # The normal level itself is known to about a twentieth of what is above it.
        yield CostFinding("slower", seconds, 0.95 * seconds, 1.05 * seconds, share, "inferred", message)


def _by_process(run: Run, regimes: Sequence[Regime]) -> list[Regime]:
    """The levels, cut where the run was started again."""
    steps, found = run.steps.step, list[Regime]()
    starts = [segment.first_row for segment in run.segments[1:]]
    for regime in regimes:
        cuts = [row for row in starts if regime.first_row < row <= regime.last_row]
        edges = [regime.first_row, *cuts, regime.last_row + 1]
        for first, end in pairwise(edges):
            own = regime._replace(first_row=first, last_row=end - 1)
            first_step = int(steps[first]) if first != regime.first_row else regime.first_step
            last_step = int(steps[end - 1]) if end - 1 != regime.last_row else regime.last_step
            found.append(own._replace(first_step=first_step, last_step=last_step))
    return found


def _extra_s(regimes: list[Regime], normal_s: float, run: Run, best: Best | None) -> float:
    last = int(run.steps.step[best.row]) if best is not None else None
    total = 0.0
    for regime in regimes:
        end = regime.last_step if last is None else min(regime.last_step, last)
        total += max(0, end - regime.first_step + 1) * (regime.typical_s - normal_s)
    return total


def _normal_level(ledger: Ledger) -> float | None:
    """The quickest level that a fair share of the steps had."""
    regimes = ledger.step.regimes if ledger.step is not None else ()
    sizes = [max(1, regime.last_step - regime.first_step + 1) for regime in regimes]
    levels = [
        regime.typical_s
        for regime, size in zip(regimes, sizes, strict=True)
        if size >= _LEAST_OF_STEPS * sum(sizes) and regime.typical_s > 0
    ]
    return min(levels, default=None)


def _repeated(run: Run, ledger: Ledger, best: Best | None) -> Iterator[CostFinding]:
    """Steps that a restart made the run do again: those of the process before it are lost."""
    if ledger.step is None or len(run.segments) < 2:
        return
    lost = 0
    for index, (one, following) in enumerate(pairwise(run.segments), start=1):
        if one.training != following.training or (best is not None and following.first_row > best.row):
            continue
        lost += num_repeated(run, index)
    if not lost:
        return
    # At the normal level: what is above it counts as a slower stretch already.
    seconds = lost * (_normal_level(ledger) or ledger.step.typical_s)
    share = seconds / ledger.wall_s
    message = say("finding-repeated", count=lost, seconds=Seconds(seconds), share=Share(share))
    low, high = min(seconds, lost * ledger.step.low_s), max(seconds, lost * ledger.step.high_s)
    yield CostFinding("lost_work", seconds, low, high, share, "inferred", message, "checkpoint_interval")
