"""A log of several trainings, one after the other: each has its own level and prices; the seconds of all add up."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from stepscope.core.settings import Settings
from stepscope.core.units import NS
from stepscope.ledger.outside import begin_ns
from stepscope.ledger.phases import Ledger, PhaseTotal
from stepscope.run.intervals import with_settings
from stepscope.run.model import Run

# So many trainings are looked at by themselves.
_MOST_ALONE = 100


def split_trainings(run: Run) -> list[Run]:
    """The trainings as runs of their own; what was worked out from the last one's lines holds for that one only.

    Of very many, the earliest are one run together: sorting the seconds of each takes milliseconds.
    """
    stated = Settings({name: setting for name, setting in run.settings.items() if setting.origin != "detected"})
    last = run.num_trainings - 1
    joined = max(0, run.num_trainings - _MOST_ALONE)
    parts = [(0, joined)] if joined else []
    parts += [(number, number) for number in range(joined + bool(joined), last)]
    earlier = [with_settings(dataclasses.replace(run.trainings(*part), settings=stated)) for part in parts]
    return [*earlier, run.training(last)]


def merge_trainings(trainings: Sequence[tuple[Run, Ledger]]) -> Ledger:
    """All seconds in one ledger, the time between two trainings as a gap; the level and prices are the last one's."""
    parts, ledgers = [part for part, _ in trainings], [ledger for _, ledger in trainings]
    first_rows = _first_rows(parts)
    between = [_between_s(*pair) for pair in zip(parts, parts[1:], ledgers, ledgers[1:], strict=False)]
    gaps = [_gap(seconds) for seconds in between if seconds > 0]
    totals: dict[str, list[PhaseTotal]] = {}
    for total in [*(total for ledger in ledgers for total in ledger.phases), *gaps]:
        totals.setdefault(total.phase, []).append(total)
    wall_ns = sum(total.ns for own in totals.values() for total in own)
    before = ledgers[-2].step if len(ledgers) > 1 else None
    gaps_s = sum(gap.seconds for gap in gaps)
    slow = [
        step._replace(row=step.row + first) if first else step
        for ledger, first in zip(ledgers, first_rows, strict=True)
        for step in ledger.slow
    ]
    return _moved(ledgers[-1], first_rows[-1])._replace(
        wall_ns=wall_ns,
        wall_low_s=min(gaps_s + math.fsum(ledger.wall_low_s for ledger in ledgers), wall_ns / NS),
        wall_high_s=max(gaps_s + math.fsum(ledger.wall_high_s for ledger in ledgers), wall_ns / NS),
        phases=tuple(_sum(own, wall_ns) for own in totals.values()),
        slow=tuple(sorted(slow, key=lambda step: -step.seconds)),
        stamps_unusable=any(ledger.stamps_unusable for ledger in ledgers),
        baseline=None,
        trainings=tuple(trainings),
        before_s=before.typical_s if before is not None else None,
    )


def _gap(seconds: float) -> PhaseTotal:
    """The time between two trainings."""
    return PhaseTotal(
        phase="gap",
        seconds=seconds,
        low_s=seconds,
        high_s=seconds,
        basis="measured",
        ns=round(seconds * NS),
        num=1,
        share=0.0,
    )


def _moved(ledger: Ledger, offset: int) -> Ledger:
    """The level, periods and rhythms of a ledger, numbered as in a run with `offset` rows before."""
    step = ledger.step
    if step is not None:
        regimes = tuple(regime.moved(offset) for regime in step.regimes)
        step = step._replace(rows=step.rows + offset, regimes=regimes)
    return ledger._replace(
        step=step,
        periods=ledger.periods.moved(offset),
        rhythms=tuple(rhythm._replace(period=rhythm.period.moved(offset)) for rhythm in ledger.rhythms),
        levels=tuple(level._replace(regime=level.regime.moved(offset)) for level in ledger.levels),
    )


def _first_rows(parts: list[Run]) -> list[int]:
    rows = [0]
    for part in parts[:-1]:
        rows.append(rows[-1] + len(part))
    return rows


def _between_s(before: Run, after: Run, one: Ledger, other: Ledger) -> float:
    """Seconds from the last line of one training to where the first step of the next began, by the timestamps."""
    if before.stamps is None or after.stamps is None or one.stamps_unusable or other.stamps_unusable:
        return 0.0
    if not len(after.steps.t_ns):
        return 0.0
    # Where only its first lines have timestamps, a training went on for as long as its ledger says.
    ended_ns = max(before.stamps.last_ns, before.stamps.first_ns + one.wall_ns)
    return max(0.0, (begin_ns(after) - ended_ns) / NS)


def _sum(totals: list[PhaseTotal], wall_ns: int) -> PhaseTotal:
    main = max(totals, key=lambda total: total.seconds)
    nanos = sum(total.ns for total in totals)
    return main._replace(
        seconds=nanos / NS,
        low_s=min(math.fsum(total.low_s for total in totals), nanos / NS),
        high_s=max(math.fsum(total.high_s for total in totals), nanos / NS),
        ns=nanos,
        num=sum(total.num for total in totals),
        share=nanos / wall_ns if wall_ns else 0.0,
    )
