"""Spans → Ledger: every second is booked where it happened.

A training that recorded its steps, evaluations, checkpoints and waits from inside leaves nothing to infer. The time
from the first line to the last is cut at the beginnings of the steps; each piece gives its spans to their phases. What
is left of a piece is training, as much as is usual, and beyond that unexplained.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.formats import stepscope_spans
from stepscope.ledger.accounts import ORDER
from stepscope.ledger.baseline import Baseline, find_baseline
from stepscope.ledger.phases import Basis, Cause, Ledger, Part, Phase, PhaseTotal, SlowStep, joined
from stepscope.ledger.slow_rows import is_warmup
from stepscope.ledger.span_price import span_price
from stepscope.run.model import Floats, Ints, Run
from stepscope.run.save_tails import save_tails
from stepscope.run.span_rows import covered_upto, line_begins, row_starts
from stepscope.source.trace_file import SUSPENDED, Spans

# A span inside another counts as the first of these: nothing goes on while the machine sleeps; a checkpoint in the
# middle of an evaluation is one; a compile, a wait for data or a collection belongs to the work it interrupts.
_TAIL = "checkpoint tail"
_PHASES: tuple[tuple[str, Phase], ...] = (
    (SUSPENDED, "gap"),
    ("checkpoint", "checkpoint"),
    (_TAIL, "checkpoint"),
    ("evaluation", "evaluation"),
    ("compile", "warmup"),
    ("data", "data"),
    ("gc", "gc"),
    ("communication", "communication"),
    ("logging", "logging"),
)
_CAUSES: dict[Phase, Cause] = {
    "evaluation": "evaluation",
    "checkpoint": "checkpoint",
    "warmup": "warmup",
    "data": "data",
    "gc": "gc",
    "gap": "interruption",
    "logging": "logging",
    "stall": "unexplained",
}
_SURE = 0.98
# What passes between a hook and what it times, at either end.
_HOOK_S = 0.001
# A load of a batch beyond this many times the usual, and by this much, is a wait.
_LONG_FETCH, _LEAST_FETCH_NS = 2.0, 20_000_000
# Spans of these kinds are too short and too many to be worth naming in a step.
_NOTABLE_S = 0.001
# A stop makes its step slow from this share of a normal step on.
_NOTABLE_STOP, _TIMES_USUAL = 0.5, 3.0
_STOPS: tuple[Phase, ...] = ("evaluation", "checkpoint")
_INSIDE: tuple[Phase, ...] = ("data", "gc", "logging", "communication")


class _Pieces(NamedTuple):
    """The time of the run in pieces: before the first step, the steps, what follows them.

    `row` is the step of each piece, -1 where it has none; `rest` is the phase of what no span covers there.
    """

    edges: Ints
    row: Ints
    rest: tuple[Phase | None, ...]


class _Booked(NamedTuple):
    """The pieces with the nanoseconds of every phase in them, and by row: what no span covers, and what of that is
    beyond a normal step, unexplained or as a start."""

    pieces: _Pieces
    nanos: dict[Phase, Ints]
    net_s: Floats
    stall_s: Floats
    warm_s: Floats


def with_rows(run: Run, spans: Spans | None) -> Spans | None:
    """The spans of a recording, with what its rows say: the pauses after saves that belong to those.

    Where no hook told of steps, the rows are the lines of a run that was read by its spans all the same.
    """
    if not spans or run.stamps is None:
        return spans
    ends, first_ns = run.steps.t_ns, run.stamps.first_ns
    is_by_lines = run.is_recorded and run.clock == stepscope_spans.FORMAT.clock and len(ends) > 1
    if is_by_lines and len(spans.get("step", ())) <= 1:
        spans = {**spans, "step": np.stack([line_begins(run.steps, first_ns), ends], axis=1)}
    if not is_recorded(run, spans):
        return spans
    # Of all trainings of the recording: one alone may have saved too seldom to tell.
    starts, ends = _rows(run, spans)
    return {**spans, _TAIL: save_tails(starts, ends, spans, max(run.stamps.last_ns, int(ends[-1])))}


def is_recorded(run: Run, spans: Spans | None) -> bool:
    """Whether the rows of a run are the steps that these spans have."""
    if not spans or "step" not in spans or not len(run.steps.t_ns):
        return False
    ends = spans["step"][:, 1]
    place = np.minimum(np.searchsorted(ends, run.steps.t_ns), len(ends) - 1)
    return bool((ends[place] == run.steps.t_ns).all())


def framed(trainings: Sequence[Run], spans: Spans) -> list[Run]:
    """The trainings of a recording, each from where it begins to where the next does: no second is between them."""
    begins = [int(_rows(part, spans)[0][0]) for part in trainings]
    found = []
    for index, part in enumerate(trainings):
        assert part.stamps is not None
        first = part.stamps.first_ns if not index else begins[index]
        last = begins[index + 1] if index + 1 < len(begins) else part.stamps.last_ns
        found.append(dataclasses.replace(part, stamps=part.stamps._replace(first_ns=first, last_ns=last)))
    return found


def book_spans(ledger: Ledger, run: Run, spans: Spans, baseline: Baseline) -> Ledger:
    """The ledger with every second booked by its span."""
    spans = dict(spans)
    assert run.stamps is not None
    spans["data"] = _waits(spans)
    starts, ends = _rows(run, spans)
    pieces = _pieces(run, starts, ends)
    booked = _booked(spans, pieces)
    net_s = _net(pieces, booked, len(run))
    net = _without_spans(run, baseline, net_s)
    work = _Booked(pieces, booked, net_s, *_excess(run, net, net_s))
    slow = _slow(run, baseline._replace(slow=baseline.slow | net.slow), work)
    phases = _totals(work, _counts(spans, pieces), int(run.steps.span.sum()))
    wall_ns = sum(total.ns for total in phases)  # of 100 days and more, a float's last digit apart from the clock's
    open_s: dict[Phase, float] = {
        "checkpoint": float((spans[_TAIL][:, 1] - spans[_TAIL][:, 0]).sum()) / NS,
        "warmup": float(work.warm_s.sum()),
        "stall": float(work.stall_s.sum()),
    }
    return ledger._replace(
        wall_ns=wall_ns,
        wall_low_s=wall_ns / NS,
        wall_high_s=wall_ns / NS,
        phases=tuple(_doubted(total, wall_ns, open_s) for total in phases),
        slow=slow,
        evaluation_price=span_price(spans.get("evaluation"), _HOOK_S),
        checkpoint_price=span_price(_whole_saves(spans), _HOOK_S),
        split="trace" if {"evaluation", "checkpoint"} & spans.keys() else ledger.split,
        stamps_unusable=False,
    )


def _waits(spans: Spans) -> Ints:
    """Waits for data: those for other processes, and what a load of one's own took beyond the usual.

    A loader without workers makes the batch in the step's own time, as the model does its part of it.
    """
    waits = spans.get("data", np.zeros((0, 2), dtype=np.int64))
    fetches = spans.get("fetch")
    if fetches is None or not len(fetches):
        return waits
    lengths = fetches[:, 1] - fetches[:, 0]
    usual = int(median(lengths))
    is_long = lengths > max(_LONG_FETCH * usual, usual + _LEAST_FETCH_NS)
    long = fetches[is_long].copy()
    long[:, 0] += usual
    return np.concatenate([waits, long])


def _rows(run: Run, spans: Spans) -> tuple[Ints, Ints]:
    """Where the rows of the run begin and end, each of which may be several of the recorded steps."""
    steps = spans["step"][np.argsort(spans["step"][:, 1], kind="stable")]
    starts, ends = row_starts(steps[:, 0], steps[:, 1], spans), steps[:, 1]
    last = np.searchsorted(ends, run.steps.t_ns)
    every = int(median(np.diff(last))) if len(last) > 1 else 1
    first = np.concatenate([[max(0, int(last[0]) - every + 1)], last[:-1] + 1])
    # A damaged recording may have more rows than steps.
    return starts[np.minimum(first, len(starts) - 1)], run.steps.t_ns


def _pieces(run: Run, starts: Ints, ends: Ints) -> _Pieces:
    assert run.stamps is not None
    first, last = run.stamps.first_ns, run.stamps.last_ns
    edges, row, rest = [first], [-1], list[Phase | None](["warmup"])
    begins = {segment.first_row for segment in run.segments if segment.first_row}
    for index, start in enumerate(starts.tolist()):
        if index in begins:
            edges.append(int(ends[index - 1]))
            row.append(-1)
            rest.append("gap")
        edges.append(start)
        row.append(index)
        rest.append(None)
    edges.append(max(int(ends[-1]), int(starts[-1])))
    row.append(-1)
    rest.append("unlogged")
    edges.append(last)
    table = np.clip(np.maximum.accumulate(np.array(edges, dtype=np.int64)), first, max(first, last))
    return _Pieces(table, np.array(row, dtype=np.int64), tuple(rest))


def _booked(spans: Spans, pieces: _Pieces) -> dict[Phase, Ints]:
    """Nanoseconds of every phase in each piece, each second once."""
    found: dict[Phase, Ints] = {}
    pool = np.zeros((0, 2), dtype=np.int64)
    before = np.zeros(len(pieces.edges), dtype=np.int64)
    known = {kind for kind, _ in _PHASES} | {"step", "fetch", "optimizer", "backward"}
    others: tuple[tuple[str, Phase], ...] = tuple((kind, "unlogged") for kind in spans if kind not in known)
    for kind, phase in (*_PHASES, *others):
        own = spans.get(kind)
        if own is None or not len(own):
            continue
        pool = np.concatenate([pool, own])
        upto = covered_upto(pool, pieces.edges)
        nanos = np.diff(upto - before)
        before = upto
        if phase in _INSIDE:
            nanos = np.where(pieces.row >= 0, nanos, 0)  # before the first step all of this is start-up
        found[phase] = found[phase] + nanos if phase in found else nanos
    return found


def _net(pieces: _Pieces, booked: dict[Phase, Ints], num: int) -> Floats:
    """Seconds of each row that no span covers."""
    rest = np.diff(pieces.edges) - sum(booked.values(), np.zeros(len(pieces.row), dtype=np.int64))
    net = np.zeros(num)
    own = pieces.row >= 0
    net[pieces.row[own]] = np.maximum(rest[own], 0) / NS
    return net


def _without_spans(run: Run, baseline: Baseline, net_s: Floats) -> Baseline:
    """What is normal of the rows without all that was timed in them; as `baseline` where that cannot be told."""
    dur = np.maximum(np.round(net_s * NS / np.maximum(run.steps.span, 1)), 1).astype(np.int64)
    steps = dataclasses.replace(run.steps, kept_dur=dur)
    return find_baseline(dataclasses.replace(run, steps=steps), np.zeros(len(net_s), dtype=bool)) or baseline


def _excess(run: Run, net: Baseline, net_s: Floats) -> tuple[Floats, Floats]:
    """By row, the seconds beyond a normal step that nothing explains, and those that are start-up."""
    level = net.level * run.steps.span
    beyond = np.where(net.slow, np.maximum(net_s - level, 0.0), 0.0)
    # What remains of a step that waited is no more than noise.
    beyond[beyond < 0.5 * np.maximum(net.level, _NOTABLE_S)] = 0.0
    is_warm = np.array([bool(beyond[row]) and is_warmup(run, net, row) for row in range(len(net_s))])
    return np.where(is_warm, 0.0, beyond), np.where(is_warm, beyond, 0.0)


def _are_held(
    pieces: _Pieces, booked: dict[Phase, Ints], phases: tuple[Phase, ...], level_s: Floats
) -> npt.NDArray[np.bool_]:
    """By row, whether these phases have a notable part of it, and more than in most: some evaluate in every step."""
    nanos = sum((booked[phase] for phase in phases if phase in booked), np.zeros(len(pieces.row), dtype=np.int64))
    own = pieces.row >= 0
    seconds = np.zeros(len(level_s))
    seconds[pieces.row[own]] = nanos[own] / NS
    return np.asarray(seconds > np.maximum(_NOTABLE_STOP * level_s, _TIMES_USUAL * float(median(seconds))))


def _slow(run: Run, baseline: Baseline, work: _Booked) -> tuple[SlowStep, ...]:
    """The steps that were slow, or had a stop, with what they were made of; costliest first."""
    pieces, booked, net_s, stall_s, warm_s = work
    place = {int(row): index for index, row in enumerate(pieces.row.tolist()) if row >= 0}
    is_held = _are_held(pieces, booked, _STOPS, baseline.level * run.steps.span)
    is_held |= _are_held(pieces, booked, _INSIDE, baseline.level * run.steps.span)
    found = []
    for row in range(len(net_s)):
        index = place[row]
        if not baseline.slow[row] and not is_held[row]:
            continue
        own = {phase: float(nanos[index]) / NS for phase, nanos in booked.items() if nanos[index] > _NOTABLE_S * NS}
        own["stall"], own["warmup"] = float(stall_s[row]), own.get("warmup", 0.0) + float(warm_s[row])
        own["step"] = float(net_s[row] - stall_s[row] - warm_s[row])
        parts = [
            Part(phase, seconds, max(0.0, seconds - _HOOK_S), seconds + _HOOK_S, "measured")
            for phase, seconds in own.items()
            if seconds > 0
        ]
        parts.sort(key=lambda part: -part.seconds)
        cause: Cause = next((_CAUSES[part.phase] for part in parts if part.phase in _CAUSES), "unexplained")
        if all(part.phase == "step" for part in parts):
            continue
        found.append(
            SlowStep(
                row=row,
                step=int(run.steps.step[row]),
                line=int(run.steps.line[row]),
                seconds=sum(part.seconds for part in parts),
                cause=cause,
                confidence=0.0 if cause == "unexplained" else _SURE,
                parts=joined(parts),
                evidence_lines=(),
            )
        )
    return tuple(sorted(found, key=lambda slow: (-slow.seconds, slow.row)))


def _counts(spans: Spans, pieces: _Pieces) -> dict[Phase, int]:
    """How many spans of each phase lie in the time of the run."""
    counts: dict[Phase, int] = {}
    for kind, phase in _PHASES:
        own = spans.get(kind)
        if own is None or kind == _TAIL:
            continue
        first = pieces.edges[0] if phase in {"evaluation", "checkpoint", "warmup", "gap"} else pieces.edges[1]
        is_own = (own[:, 1] > first) & (own[:, 0] < pieces.edges[-1])
        if phase in _INSIDE:
            is_own &= own[:, 1] - own[:, 0] >= _NOTABLE_S * NS
        counts[phase] = counts.get(phase, 0) + int(is_own.sum())
    return counts


def _totals(work: _Booked, counts: dict[Phase, int], num_steps: int) -> list[PhaseTotal]:
    """Every phase; what no span covers is what its piece says."""
    pieces, booked = work.pieces, work.nanos
    nanos: dict[Phase, int] = {phase: int(own.sum()) for phase, own in booked.items()}
    rest = np.diff(pieces.edges) - sum(booked.values(), np.zeros(len(pieces.row), dtype=np.int64))
    usual = int(median(rest[pieces.row >= 0])) if (pieces.row >= 0).any() else 0
    for phase, own in zip(pieces.rest, rest.tolist(), strict=True):
        # What follows the last step is the end of its row, if it is no longer than a row.
        target: Phase = "step" if phase is None or (phase == "unlogged" and own <= usual) else phase
        nanos[target] = nanos.get(target, 0) + own
        if target in {"gap", "unlogged"} and own > 0:
            counts[target] = counts.get(target, 0) + 1
    beyond: tuple[tuple[Phase, Floats], ...] = (("stall", work.stall_s), ("warmup", work.warm_s))
    for slow, seconds in beyond:
        moved = round(float(seconds.sum()) * NS)
        nanos[slow] = nanos.get(slow, 0) + moved
        nanos["step"] = nanos.get("step", 0) - moved
        counts[slow] = counts.get(slow, 0) + int((seconds > 0).sum())
    counts["step"] = num_steps
    counts["warmup"] = max(1, counts.get("warmup", 0))
    return [
        PhaseTotal(phase, nanos[phase] / NS, 0.0, 0.0, "measured", nanos[phase], max(1, counts.get(phase, 1)), 0.0)
        for phase in ORDER
        if nanos.get(phase, 0) > 0 or (phase in {"evaluation", "checkpoint"} and counts.get(phase, 0))
    ]


def _doubted(total: PhaseTotal, wall_ns: int, open_s: dict[Phase, float]) -> PhaseTotal:
    """A total with its share and its interval: the hooks' own delay, and what may as well have been training.

    open_s
        Seconds that are in a phase by inference: the pauses after saves, slow first steps, slow steps.
    """
    doubt = min(_HOOK_S * 2 * total.num, 10 * _HOOK_S) + 2e-5 * total.num
    own = open_s.get(total.phase, 0.0)
    up = sum(open_s.values()) if total.phase == "step" else 0.0
    basis: Basis = "inferred" if total.phase == "checkpoint" and own > 0.5 * total.seconds else "measured"
    return total._replace(
        low_s=max(0.0, total.seconds - doubt - own),
        high_s=total.seconds + doubt + up,
        basis=basis,
        share=total.ns / wall_ns if wall_ns else 0.0,
    )


def _whole_saves(spans: Spans) -> Ints | None:
    """The checkpoints, each with the seconds after it that belong to it."""
    saves, tails = spans.get("checkpoint"), spans[_TAIL]
    if saves is None or not len(tails):
        return saves
    ends = dict(tails.tolist())
    return np.array([(begin, ends.get(end, end)) for begin, end in saves.tolist()], dtype=np.int64)
