"""Ledger → Ledger with causes: each slow step, rhythm, level and header asked of the catalogue, in its order.

The first cause that is sure enough is named and takes its seconds to its phase; the others are kept as candidates.
Seconds are only ever moved out of "unexplained", so the phases still add up to the wall time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from stepscope.causes import SURE, in_order
from stepscope.causes._evidence import Case, Evidence, Rhythmic, Shift
from stepscope.core.units import NS, seconds_to_ns
from stepscope.ledger.accounts import ORDER
from stepscope.ledger.attribute import attribute
from stepscope.ledger.phases import ExplainedLevel, Finding, Ledger, Phase, PhaseTotal, Rhythm, SlowStep, joined
from stepscope.ledger.priced import with_prices
from stepscope.ledger.trainings import merge_trainings
from stepscope.run.model import Run
from stepscope.source.hardware import Hardware
from stepscope.source.trace_file import Spans

_LEAST = 0.1
_ROUNDING_NS = 1000


def diagnose(ledger: Ledger, run: Run, hardware: Hardware | None = None) -> Ledger:
    """The ledger with a cause, or candidates, for everything that stands out. Each training is looked at by itself."""
    if ledger.trainings:
        return merge_trainings([(part, diagnose(own, part, hardware)) for part, own in ledger.trainings])._replace(
            trainings=()
        )
    if ledger.baseline is None:
        return ledger  # no normal step, and so nothing that differs from one
    evidence = Evidence(run=run, ledger=ledger, baseline=ledger.baseline, hardware=hardware)
    rhythms = _rhythms(evidence)
    by_row = {row: rhythm.guess for rhythm in reversed(rhythms) if rhythm.guess for row in rhythm.period.rows}
    slow, moved = [], list[tuple[Phase, float]]()
    for own in ledger.slow:
        stall_s = evidence.stalls.get(own.row, 0)
        case = Case(evidence, own, stall_s, by_row.get(own.row))
        explained, phase = _explain(case)
        slow.append(explained)
        if phase is not None:
            moved.append((phase, stall_s))
    explained_ledger = ledger._replace(
        slow=tuple(slow),
        phases=_moved(ledger.phases, moved),
        rhythms=rhythms,
        levels=_levels(evidence),
        findings=_asked("explain_run", evidence),
        baseline=None,  # diagnosed: not to be diagnosed again
    )
    return with_prices(explained_ledger, run)


def attribute_with_causes(
    run: Run, *, confidence: float = 0.9, hardware: Hardware | None = None, spans: Spans | None = None
) -> Ledger:
    """Where the time of a run went, with causes: `attribute` and `diagnose` in one call.

    confidence
        How likely the truth is inside each interval.
    hardware
        The GPU at one moment: it may show why steps were slow.
    spans
        What was timed from inside the process.
    """
    return diagnose(attribute(run, confidence=confidence, spans=spans), run, hardware)


def _asked(question: str, what: object) -> tuple[Finding, ...]:
    """What the catalogue answers, in the order it was asked in."""
    found = [ask(what) for ask in _able(question)]
    return tuple([finding for finding in found if finding is not None and finding.confidence >= _LEAST])


@cache
def _able(question: str) -> tuple[Callable[[object], Finding | None], ...]:
    return tuple(getattr(module, question) for module in in_order(question))


def _ranked(found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: -finding.confidence)) if len(found) > 1 else found


def _rhythms(evidence: Evidence) -> tuple[Rhythm, ...]:
    periods = evidence.ledger.periods.found
    found = []
    for period in periods:
        others = tuple(other for other in periods if other is not period)
        answers = _asked("explain_period", Rhythmic(evidence, period, others))
        sure = next((answer for answer in answers if answer.confidence >= SURE), None)
        found.append(Rhythm(period, sure or next(iter(_ranked(answers)), None)))
    return tuple(found)


def _levels(evidence: Evidence) -> tuple[ExplainedLevel, ...]:
    step = evidence.ledger.step
    regimes = () if step is None else step.regimes
    found = []
    for index, regime in enumerate(regimes):
        if not index:
            found.append(ExplainedLevel(regime, None, ()))
            continue
        shift = Shift(evidence, regimes[index - 1], regime, regimes[index + 1 :])
        found.append(ExplainedLevel(regime, shift.change, _ranked(_asked("explain_level", shift))))
    return tuple(found)


def _explain(case: Case) -> tuple[SlowStep, Phase | None]:
    """The slow step with its cause, and the phase its unexplained seconds belong to."""
    slow = case.slow
    answers = _asked("explain_step", case)
    if case.rhythm is not None and case.stall_s:
        answers = _merged(answers, case.rhythm._replace(seconds=case.stall_s))
    chosen = next((answer for answer in answers if answer.confidence >= SURE), None)
    if chosen is None:
        # A named part that is not sure of all its seconds is still what the step is; nothing else is.
        named = next((answer for answer in answers if answer.cause == slow.cause and answer.phase is None), None)
        code = None if named is None or slow.cause == "unexplained" else named.code
        return slow._replace(code=code, candidates=_ranked(answers)), None
    rest = tuple(answer for answer in _ranked(answers) if answer is not chosen)
    explained = slow._replace(
        cause=chosen.cause,
        code=chosen.code,
        confidence=chosen.confidence,
        candidates=(chosen, *rest),
        evidence_lines=tuple(dict.fromkeys((*slow.evidence_lines, *chosen.lines))),
    )
    if chosen.phase is None or not case.stall_s:
        return explained, None
    parts = [
        part._replace(phase=chosen.phase, basis="inferred") if part.phase == "stall" else part for part in slow.parts
    ]
    return explained._replace(parts=joined(parts)), chosen.phase


def _merged(answers: tuple[Finding, ...], rhythm: Finding) -> tuple[Finding, ...]:
    """The answers with what the comb is, at its place in the order."""
    place = {str(module.CODE): int(module.PLACE) for module in (*in_order("explain_step"), *in_order("explain_period"))}
    return tuple(sorted((*answers, rhythm), key=lambda answer: place[answer.code]))


def _moved(totals: tuple[PhaseTotal, ...], moved: list[tuple[Phase, float]]) -> tuple[PhaseTotal, ...]:
    """The totals with seconds taken from "unexplained" to other phases, exact to the nanosecond."""
    by_phase = {total.phase: total for total in totals}
    stall = by_phase.get("stall")
    if stall is None or not moved:
        return totals
    wall_ns = sum(total.ns for total in totals)
    for phase, seconds in moved:
        # What rounding leaves of the last one goes with it, and no more than that.
        nanos = min(seconds_to_ns(seconds), stall.ns)
        is_last = stall.ns - nanos <= _ROUNDING_NS
        nanos = stall.ns if is_last else nanos
        stall = _changed(stall, -nanos, -stall.num if is_last else -min(1, stall.num - 1), wall_ns)
        known = by_phase.get(phase) or PhaseTotal(
            phase=phase, seconds=0.0, low_s=0.0, high_s=0.0, basis="inferred", ns=0, num=0, share=0.0
        )
        by_phase[phase] = _changed(known, nanos, 0 if phase == "step" else 1, wall_ns)
    by_phase["stall"] = stall
    return tuple(by_phase[phase] for phase in ORDER if phase in by_phase and by_phase[phase].num)


def _changed(total: PhaseTotal, nanos: int, num: int, wall_ns: int) -> PhaseTotal:
    seconds = (total.ns + nanos) / NS
    return total._replace(
        ns=total.ns + nanos,
        seconds=seconds,
        low_s=min(max(0.0, total.low_s + nanos / NS), seconds),
        high_s=max(total.high_s + nanos / NS, seconds),
        num=total.num + num,
        share=(total.ns + nanos) / wall_ns if wall_ns else 0.0,
    )
