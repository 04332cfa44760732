"""Evaluations and checkpoints that no line of a recording shows: how much of its time may be theirs.

Where the arrivals of the lines are the clock, a row holds all that was done up to its line. A save that prints nothing
is in some row then, or in the seconds that no row explains, and a step seems longer by it. How much that can be at
most follows from the fastest rows: a step takes at least what they take.
"""

from __future__ import annotations

from stepscope.columns.statistics import quantile
from stepscope.core.units import NS
from stepscope.ledger.accounts import ORDER
from stepscope.ledger.epoch_rows import since_trained
from stepscope.ledger.phases import Ledger, Phase, PhaseTotal
from stepscope.run.model import Run

_SILENT: tuple[Phase, ...] = ("evaluation", "checkpoint")
_REST: tuple[Phase, ...] = ("stall", "unlogged")
# Of the rows, those up to this share are taken to have neither; what is less than this share of the run is no matter.
_FASTEST, _LEAST_SHARE = 0.1, 0.005
# Rows that differ by less than this are as even as rows are.
_STEADY = 0.95


def with_unseen(ledger: Ledger, run: Run) -> Ledger:
    """The ledger of a recording with what its lines leave open: each of both phases that none of them shows."""
    phases = {total.phase: total for total in ledger.phases}
    missing = [phase for phase in _SILENT if phase not in phases]
    if not run.is_recorded or not ledger.wall_ns:
        return ledger
    phases |= _with_the_end(phases)
    if not missing:
        return _with_phases(ledger, phases)
    step = phases.get("step")
    most_s = sum(_seconds(phases, phase) for phase in _REST)
    if step is not None:
        # What comes after the last line of a step may have been steps without one.
        step = step._replace(high_s=step.high_s + _seconds(phases, "unlogged"))
        phases["step"] = step
        low_s = min(step.low_s, _least_s(run, step)) if run.clock.is_wall else step.low_s
        if run.clock.is_wall and run.format.counts_epochs:
            low_s = min(low_s, step.seconds / 2)  # each may hold one, seldom more than half of it
        if low_s < _STEADY * step.seconds:
            phases["step"] = step._replace(low_s=low_s)
            most_s += step.seconds - low_s
        elif most_s:
            most_s += max(0.0, step.seconds - low_s)
    shared_s = _beside_evaluations_s(run, phases) if "checkpoint" in missing else 0.0
    if shared_s:
        own = phases["evaluation"]
        phases["evaluation"] = own._replace(low_s=max(0.0, own.low_s - shared_s))
        most_s += shared_s
    most_s += sum(_in_rows_s(ledger, phase) for phase in ("warmup", "gap"))
    if most_s < _LEAST_SHARE * ledger.wall_s:
        return _with_phases(ledger, phases)
    for phase in missing:
        phases[phase] = PhaseTotal(
            phase=phase,
            seconds=0.0,
            low_s=0.0,
            high_s=min(most_s, ledger.wall_s),
            basis="assumed",
            ns=0,
            num=0,
            share=0.0,
        )
    return _with_phases(ledger, phases)


def _with_phases(ledger: Ledger, phases: dict[Phase, PhaseTotal]) -> Ledger:
    return ledger._replace(phases=tuple(phases[phase] for phase in ORDER if phase in phases))


def _with_the_end(phases: dict[Phase, PhaseTotal]) -> dict[Phase, PhaseTotal]:
    """Evaluations and checkpoints that are known, with the seconds of which no line says whose they are: a test after
    the last step is an evaluation as well."""
    left_s = _seconds(phases, "unlogged")
    known = {phase: phases[phase] for phase in _SILENT if phase in phases}
    return {phase: total._replace(high_s=total.high_s + left_s) for phase, total in known.items()}


def _beside_evaluations_s(run: Run, phases: dict[Phase, PhaseTotal]) -> float:
    """What checkpoints may have of the seconds between the printed times of rows whose lines have the evaluations'
    results, or since the line that says that training is done: nothing shows where the one ends and the other begins.
    Seldom more than half.
    """
    evaluated = [stop for stop in run.stops if stop.evaluated]
    stops = [stop for stop in evaluated if not stop.evaluation_inside or since_trained(run, stop) is not None]
    lines = set(run.steps.line.tolist())
    if run.clock.is_wall and any(since_trained(run, stop) is None for stop in stops):
        return 0.0
    if not stops or any(stop.evaluation_took_s is not None for stop in stops):
        return 0.0
    return _seconds(phases, "evaluation") / 2 if all(stop.line in lines for stop in stops) else 0.0


def _seconds(phases: dict[Phase, PhaseTotal], phase: Phase) -> float:
    return phases[phase].seconds if phase in phases else 0.0


def _least_s(run: Run, step: PhaseTotal) -> float:
    """What the steps took at least: each as long as those of the fastest rows."""
    steps = run.steps
    timed = steps.span > 0
    timed[steps.first_rows] = False
    if not timed.any():
        return step.low_s
    return quantile(steps.dur_ns[timed] / NS, _FASTEST) * step.num


def _in_rows_s(ledger: Ledger, phase: Phase) -> float:
    """Seconds of slow rows that are booked as a phase of the start for no other reason than that they came early."""
    return sum(part.seconds for slow in ledger.slow for part in slow.parts if part.phase == phase)
