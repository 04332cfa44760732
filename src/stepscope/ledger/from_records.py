"""The ledger of a run whose trainer has written down what every second went into (`stepscope train`).

Nothing is inferred then: totals, prices and the parts of slow steps are sums of the records, exact to the nanosecond.
Which steps are slow, what a normal one takes and how levels change is still found in the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS, seconds_to_ns
from stepscope.ledger.accounts import ORDER
from stepscope.ledger.phases import Cause, Ledger, Part, Phase, PhaseTotal, Price, SlowStep
from stepscope.run.model import Run
from stepscope.source.trainer_records import PHASES, Records

_CAUSES: Mapping[str, Cause] = {
    "evaluation": "evaluation",
    "checkpoint": "checkpoint",
    "warmup": "warmup",
    "data": "data",
    "gc": "gc",
    "logging": "logging",
}
# Named parts of a slow step explain it where they are this share of what it took too long.
_EXPLAINS = 0.5


def apply_records(ledger: Ledger, run: Run, records: Records) -> Ledger:
    """The ledger with everything measured; unchanged where the records are not those of the run's rows."""
    places = np.searchsorted(records.lines, run.steps.line)
    if not len(places) or (records.lines[np.minimum(places, len(records.lines) - 1)] != run.steps.line).any():
        return ledger
    totals = _totals(records)
    wall_ns = sum(total.ns for total in totals)
    level_s = 0.0 if ledger.step is None else ledger.step.typical_s
    return ledger._replace(
        wall_ns=wall_ns,
        wall_low_s=wall_ns / NS,
        wall_high_s=wall_ns / NS,
        phases=tuple(total._replace(share=total.ns / wall_ns if wall_ns else 0.0) for total in totals),
        slow=tuple(_measured(slow, records.seconds[places[slow.row]], level_s) for slow in ledger.slow),
        evaluation_price=_price(records.took["evaluation"]) or ledger.evaluation_price,
        checkpoint_price=_price(records.took["checkpoint"]) or ledger.checkpoint_price,
        split="trace",
    )


def _totals(records: Records) -> list[PhaseTotal]:
    num_steps = len(records.lines)
    seconds: dict[str, float] = dict(zip(PHASES, (records.seconds.sum(axis=0) + records.outside).tolist(), strict=True))
    seconds["gap"] = sum(records.gaps)
    counts = {name: len(took) for name, took in records.took.items()}
    counts |= {"step": num_steps, "data": num_steps, "logging": num_steps, "gap": len(records.gaps)}
    counts |= dict.fromkeys(("warmup", "unlogged"), records.num_processes)
    found = []
    for phase in ORDER:
        ns = seconds_to_ns(seconds.get(phase, 0.0))
        if ns > 0:
            each = ns / NS
            num = max(1, counts.get(phase, 1))
            found.append(PhaseTotal(phase, each, each, each, "measured", ns, num, 0.0))
    return found


def _measured(slow: SlowStep, own: np.ndarray, level_s: float) -> SlowStep:
    """A slow step with its recorded parts, and the largest of them as its cause where that explains it."""
    phases: list[Phase] = [phase for phase in ORDER if phase in PHASES]
    by_phase = dict(zip(PHASES, own.tolist(), strict=True))
    parts = [Part(phase, by_phase[phase], by_phase[phase], by_phase[phase], "measured") for phase in phases]
    parts = sorted((part for part in parts if part.seconds > 0), key=lambda part: -part.seconds)
    total = sum(part.seconds for part in parts)
    named = [part for part in parts if part.phase in _CAUSES]
    cause: Cause = "unexplained" if slow.cause in _CAUSES.values() else slow.cause
    confidence = slow.confidence
    if named and sum(part.seconds for part in named) >= _EXPLAINS * (total - level_s):
        cause, confidence = _CAUSES[named[0].phase], 1.0
    return slow._replace(parts=tuple(parts), seconds=total, cause=cause, confidence=confidence)


def _price(took: list[float]) -> Price | None:
    """What one usually takes; the first evaluation may hold what others do not."""
    if not took:
        return None
    seconds = np.array(took[1:] if len(took) > 2 else took)
    middle = float(median(seconds))
    spread = 1.645 * float(np.std(seconds)) / len(seconds) ** 0.5
    return Price(middle, max(0.0, middle - spread), middle + spread, "measured")
