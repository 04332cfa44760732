"""What cost most time, most first: each second of the run counts in one finding at most.

What came after the best validation loss is taken first, whatever it was spent on. Of the time before that, each phase
that is no training is a finding, and so are stretches above the run's own normal level and iterations that a restart
made the run do twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from stepscope.core.message import Decimal, Message, Seconds, Share, say
from stepscope.ledger.best import Best
from stepscope.ledger.done_again import lost_seconds
from stepscope.ledger.levels import slower_stretches
from stepscope.ledger.phases import Basis, Ledger, Phase, PhaseTotal
from stepscope.ledger.timeline import timeline
from stepscope.run.model import Run
from stepscope.run.repeated import num_repeated, restarts

LEAST_SHARE = 0.01  # of the wall time; less is not worth a word
_MOST_STRETCHES = 5
_DOUBT = 0.05  # of seconds that rest on a level
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
    stretches = slower_stretches(run, ledger, end_row=None if best is None else best.row)
    for slow in sorted(stretches, key=lambda one: -one.seconds)[:_MOST_STRETCHES]:
        share = slow.seconds / ledger.wall_s
        message = say(
            "finding-slower",
            first=slow.first_step,
            last=slow.last_step,
            level=Seconds(slow.level_s),
            normal=Seconds(slow.normal_s),
            seconds=Seconds(slow.seconds),
            share=Share(share),
        )
        # The normal level itself is known to about a twentieth of what is above it.
        low_s, high_s = (1 - _DOUBT) * slow.seconds, (1 + _DOUBT) * slow.seconds
        yield CostFinding("slower", slow.seconds, low_s, high_s, share, "inferred", message)


def _repeated(run: Run, ledger: Ledger, best: Best | None) -> Iterator[CostFinding]:
    """Steps that a restart made the run do again: those of the process before it are lost."""
    own = restarts(run, None if best is None else best.row)
    count = sum(num_repeated(run, index) for index in own)
    seconds = float(lost_seconds(run, ledger)[own].sum()) if own else 0.0
    if not count or not seconds > 0:
        return
    share = seconds / ledger.wall_s
    message = say("finding-repeated", count=count, seconds=Seconds(seconds), share=Share(share))
    low_s, high_s = (1 - _DOUBT) * seconds, (1 + _DOUBT) * seconds
    yield CostFinding("lost_work", seconds, low_s, high_s, share, "inferred", message, "checkpoint_interval")
