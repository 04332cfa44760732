"""What was timed from inside the process replaces what was inferred from outside.

A trace says when each evaluation, checkpoint, compile, wait for data and collection began and how long it took, by the
clock that also stamped the lines. So each row's seconds are those spans and, for the rest, what they were before. The
phases still add up to the same wall time: what a span takes, normal steps or unexplained seconds give.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.core.units import NS
from stepscope.ledger.accounts import ORDER
from stepscope.ledger.phases import Basis, Cause, Ledger, Part, Phase, PhaseTotal, SlowStep, joined
from stepscope.ledger.span_price import span_price
from stepscope.ledger.timestamps import LATE_S
from stepscope.run.model import NO_TIME, Floats, Ints, Run
from stepscope.source.trace_file import SUSPENDED, Spans

# A span inside another counts as the first of these: nothing goes on while the machine sleeps; a checkpoint or a
# compile in the middle of an evaluation is one; a wait for data or a collection belongs to the work it interrupts.
_PHASES: tuple[tuple[str, Phase], ...] = (
    (SUSPENDED, "gap"),
    ("checkpoint", "checkpoint"),
    ("compile", "warmup"),
    ("evaluation", "evaluation"),
    ("data", "data"),
    ("gc", "gc"),
)
_CAUSES: dict[Phase, Cause] = {
    "evaluation": "evaluation",
    "checkpoint": "checkpoint",
    "warmup": "warmup",
    "data": "data",
    "gc": "gc",
    "gap": "interruption",
    "stall": "unexplained",
}
# How sure the cause of a traced slow step is.
_SURE = 0.98


class _TracedSeconds(NamedTuple):
    """Seconds of a phase by row, with those after the last row at the end, and how many spans they are."""

    phase: Phase
    seconds: Floats
    num: int


def tells_of(run: Run, spans: Spans) -> bool:
    """Whether a span lies in the time of the run: a trace may be that of another one."""
    stamps = run.stamps
    return stamps is not None and any(
        bool(((own[:, 0] <= stamps.last_ns) & (own[:, 1] >= stamps.first_ns)).any())
        for own in spans.values()
        if len(own)
    )


def apply_trace(ledger: Ledger, run: Run, spans: Spans) -> Ledger:
    """The ledger with its traced phases measured; unchanged where the rows have no timestamps to place spans by."""
    t_ns, stamps = run.steps.t_ns, run.stamps
    if stamps is None or not stamps.dated or not len(t_ns) or (t_ns == NO_TIME).any():
        return ledger
    edges = np.maximum.accumulate(np.concatenate([[stamps.first_ns], t_ns, [stamps.last_ns]]))
    measured = _by_row(spans, edges)
    if not measured:
        return ledger
    slow = tuple(_with_trace(step, measured) for step in ledger.slow)
    end_s = float(edges[-1] - edges[-2]) / NS - sum(float(one.seconds[-1]) for one in measured)
    phases = _totals(ledger, slow, measured, max(0.0, end_s) if run.clock.is_wall else None)
    if phases is None:
        return ledger  # more spans than time: not this run's trace
    return ledger._replace(
        phases=phases,
        slow=slow,
        evaluation_price=span_price(spans.get("evaluation"), LATE_S) or ledger.evaluation_price,
        checkpoint_price=span_price(spans.get("checkpoint"), LATE_S) or ledger.checkpoint_price,
        split="trace" if {"evaluation", "checkpoint"} & set(spans) else ledger.split,
    )


def _by_row(spans: Spans, edges: Ints) -> list[_TracedSeconds]:
    found: list[_TracedSeconds] = []
    pool: list[Ints] = []
    before = np.zeros(len(edges))
    for kind, phase in _PHASES:
        own = spans.get(kind)
        if own is None:
            continue
        pool.append(own)
        covered = _covered(np.concatenate(pool), edges)
        inside = (own[:, 1] > edges[0]) & (own[:, 0] < edges[-1])
        found.append(_TracedSeconds(phase, np.maximum(np.diff(covered - before), 0.0), int(inside.sum())))
        before = covered
    return [one for one in found if one.num]


def _covered(spans: Ints, edges: Ints) -> Floats:
    """Seconds that spans cover up to each edge, every second once."""
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    ends = np.maximum.accumulate(spans[:, 1])
    starts = np.maximum(spans[:, 0], np.concatenate([[spans[0, 0]], ends[:-1]]))
    lengths = np.maximum(ends - starts, 0)
    upto = np.concatenate([[0], np.cumsum(lengths)])
    place = np.searchsorted(starts, edges, side="right")
    last = np.maximum(place - 1, 0)
    partial = np.where(place > 0, np.clip(edges - starts[last], 0, lengths[last]), 0)
    return np.asarray((upto[last] + partial) / NS, dtype=np.float64)


def _with_trace(slow: SlowStep, measured: list[_TracedSeconds]) -> SlowStep:
    """A slow step whose parts are what the trace saw of it; the rest stays what it was, the step first."""
    own = {one.phase: float(one.seconds[slow.row]) for one in measured if one.seconds[slow.row] > LATE_S}
    total = sum(part.seconds for part in slow.parts)
    if not own or total <= 0:
        return slow
    scale = min(1.0, total / sum(own.values()))  # a span may reach over the printed time's end
    traced = {one.phase for one in measured}
    parts = [
        Part(phase, seconds * scale, max(0.0, seconds * scale - LATE_S), seconds * scale + LATE_S, "measured")
        for phase, seconds in own.items()
    ]
    rest = total - sum(part.seconds for part in parts)
    kept = sorted((part for part in slow.parts if part.phase not in traced), key=lambda part: part.phase != "step")
    parts += _untraced_parts(kept, rest)
    merged = joined(sorted(parts, key=lambda part: -part.seconds))
    cause: Cause = next((_CAUSES[part.phase] for part in merged if part.phase in _CAUSES), slow.cause)
    return slow._replace(parts=merged, cause=cause, confidence=_SURE if cause != "unexplained" else slow.confidence)


def _untraced_parts(known: list[Part], rest: float) -> list[Part]:
    """`rest` seconds that the trace does not cover, given to the parts known before, in their order."""
    parts: list[Part] = []
    for part in known:
        seconds = min(rest, part.seconds)
        if seconds > 0 and part.phase == "stall" and seconds <= LATE_S:
            # Shorter than the delay between printing a line and its timestamp.
            parts.append(Part("step", seconds, 0.0, seconds, "inferred"))
        elif seconds > 0:
            parts.append(part._replace(seconds=seconds, low_s=min(part.low_s, seconds), high_s=max(seconds, LATE_S)))
        rest -= max(0.0, seconds)
    if rest > 0:
        # Seconds that were inferred to be an evaluation or a checkpoint, and were not.
        parts.append(Part("stall" if rest > LATE_S else "step", rest, 0.0, rest, "inferred"))
    return parts


def _totals(
    ledger: Ledger, slow: tuple[SlowStep, ...], measured: list[_TracedSeconds], end_s: float | None
) -> tuple[PhaseTotal, ...] | None:
    """Every phase with the trace's seconds; normal steps take the rest. None where less than nothing would be left.

    end_s
        Seconds after the last row that no span covers: what was in no row may be no more than that. None: unknown.
    """
    nanos = {total.phase: total.ns for total in ledger.phases}
    counts = {total.phase: total.num for total in ledger.phases}
    _replace_slow(nanos, counts, ledger.slow, slow)
    _replace_measured(nanos, counts, measured, [step.row for step in slow])
    if end_s is not None and "unlogged" in nanos:
        nanos["unlogged"] = min(nanos["unlogged"], round(end_s * NS))
    nanos["step"] = ledger.wall_ns - sum(own for phase, own in nanos.items() if phase != "step")
    if nanos["step"] < 0 and nanos.get("unlogged", 0) > 0:
        # The trace saw what the unexplained seconds were.
        taken = min(-nanos["step"], nanos["unlogged"])
        nanos["unlogged"] -= taken
        nanos["step"] += taken
    if any(own < 0 for own in nanos.values()):
        return None
    known = {total.phase: total for total in ledger.phases}
    traced = {one.phase for one in measured}
    found = []
    for phase in ORDER:
        ns = nanos.get(phase, 0)
        if ns <= 0 and phase not in traced:
            continue
        total = known.get(phase) or PhaseTotal(phase, 0.0, 0.0, 0.0, "measured", 0, 0, 0.0)
        share = ns / ledger.wall_ns if ledger.wall_ns else 0.0
        total = total._replace(ns=ns, num=counts.get(phase, 0), share=share)
        found.append(_with_interval(total, is_traced=phase in traced))
    return tuple(found)


def _replace_slow(
    nanos: dict[Phase, int], counts: dict[Phase, int], before: tuple[SlowStep, ...], after: tuple[SlowStep, ...]
) -> None:
    """Take the parts that slow steps had out of the totals, and put in those that they have now."""
    for old, new in zip(before, after, strict=True):
        for part in old.parts:
            nanos[part.phase] = nanos.get(part.phase, 0) - round(part.seconds * NS)
        for part in new.parts:
            nanos[part.phase] = nanos.get(part.phase, 0) + round(part.seconds * NS)
            counts.setdefault(part.phase, 1)


def _replace_measured(
    nanos: dict[Phase, int], counts: dict[Phase, int], measured: list[_TracedSeconds], slow_rows: list[int]
) -> None:
    """Put the seconds of the trace in place of the phases that it times."""
    is_slow = np.zeros(len(measured[0].seconds), dtype=bool)
    is_slow[slow_rows] = True
    for one in measured:
        if one.phase in {"warmup", "gap"}:  # start-up and restarts are part of these totals too
            nanos[one.phase] = nanos.get(one.phase, 0) + round(float(one.seconds[~is_slow].sum()) * NS)
            counts[one.phase] = max(counts.get(one.phase, 0), one.num)
        else:
            nanos[one.phase] = round(float(one.seconds.sum()) * NS)
            counts[one.phase] = one.num


def _with_interval(total: PhaseTotal, *, is_traced: bool) -> PhaseTotal:
    """A total whose nanoseconds are new, with the seconds and the doubt that go with them."""
    seconds = total.ns / NS
    doubt = LATE_S * total.num
    if not is_traced:
        up = total.high_s - total.seconds if total.phase != "step" else 0.0
        doubt = max(up, total.seconds - total.low_s)
    basis: Basis = "measured" if is_traced or total.phase == "step" else total.basis
    return total._replace(seconds=seconds, low_s=max(0.0, seconds - doubt), high_s=seconds + doubt, basis=basis)
