"""When everything happened: the run as slices on one line of time, none overlapping, for drawings and other tools.

A row's own seconds lie before its line; the silent steps before those, at the level of their regime. Inside a slow row
the order is that of the trainer's loop: evaluation, checkpoint, everything else, then the step. Where lines have
timestamps and a row ends later than the sum so far, the time between is `unlogged`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stepscope.core.units import NS
from stepscope.ledger.phases import Ledger, Phase, SlowStep
from stepscope.run.model import NO_TIME, Floats, Run

# Normal rows are drawn one by one up to this many; in longer runs neighbours are merged, but never slow rows.
MOST_SLICES = 20_000
_ORDER: dict[str, int] = {"evaluation": 0, "checkpoint": 1, "warmup": 2, "step": 9}


class Slice(NamedTuple):
    """A stretch of time in one phase, seconds since the first. `first_step` and `last_step` are the steps it covers."""

    phase: Phase
    start_s: float
    seconds: float
    first_step: int
    last_step: int


def row_ends(run: Run, ledger: Ledger) -> Floats:
    """When each row was printed, in seconds since the run's first."""
    steps = run.steps
    if not len(steps):
        return np.zeros(0)
    seconds = steps.seconds + silent_steps(run) * levels(run, ledger)
    ends: Floats = np.cumsum(seconds)
    if len(steps.t_ns) and bool((steps.t_ns != NO_TIME).all()):
        stamped = (steps.t_ns - steps.t_ns[0]) / NS + ends[0]
        # Timestamps that go back, or that a buffer held up, are no better than the sum.
        if bool((np.diff(stamped) >= 0).all()):
            return np.asarray(np.maximum.accumulate(np.maximum(stamped, 0.0)))
    return ends


def timeline(run: Run, ledger: Ledger, *, most: int = MOST_SLICES) -> list[Slice]:
    """The slices in order. An empty run gives none."""
    if not len(run):
        return []
    steps, ends = run.steps, row_ends(run, ledger)
    silent_s = silent_steps(run) * levels(run, ledger)
    slow = {found.row: found for found in ledger.slow}
    merge = max(1, -(-len(run) // most))
    found: list[Slice] = []
    seconds = steps.seconds + silent_s
    # As lists: columns are slow to ask for one row at a time.
    numbers, segments, own_s, ends_s = steps.step.tolist(), steps.segment.tolist(), seconds.tolist(), ends.tolist()
    before = 0.0
    row = 0
    while row < len(run):
        last = row
        if row not in slow:
            while last + 1 < len(run) and last + 1 - row < merge and last + 1 not in slow:
                if segments[last + 1] != segments[row]:
                    break
                last += 1
        end = ends_s[last]
        room = max(0.0, end - before)
        own = own_s[row] if last == row else float(seconds[row : last + 1].sum())
        first_step = numbers[row - 1] + 1 if row and numbers[row] > numbers[row - 1] else numbers[row]
        if room > own * 1.001 + 1e-6:
            found.append(Slice("unlogged", before, room - own, first_step, first_step))
            before += room - own
            room = own
        if row in slow:
            pieces = _slow_slices(slow[row], before, float(silent_s[row]), first_step)
        else:
            pieces = [Slice("step", before, room, first_step, numbers[last])]
        # Parts that are estimates may add up to a little more or less than the room there is.
        total = sum(piece.seconds for piece in pieces)
        scale = room / total if total > 0 else 0.0
        found += [
            piece._replace(start_s=before + (piece.start_s - before) * scale, seconds=piece.seconds * scale)
            for piece in pieces
        ]
        before = end
        row = last + 1
    return [piece for piece in found if piece.seconds > 0]


def _slow_slices(slow: SlowStep, start: float, silent_s: float, first_step: int) -> list[Slice]:
    """A slow row in its parts, after the unprinted steps before it."""
    found = []
    if silent_s > 0:
        found.append(Slice("step", start, silent_s, first_step, max(first_step, slow.step - 1)))
        start += silent_s
    for part in sorted(slow.parts, key=lambda part: _ORDER.get(part.phase, 5)):
        found.append(Slice(part.phase, start, part.seconds, slow.step, slow.step))
        start += part.seconds
    return found


def silent_steps(run: Run) -> Floats:
    """How many unprinted steps lie before each row that its own figure does not cover."""
    steps = run.steps
    gaps = np.diff(steps.step, prepend=steps.step[:1]) - steps.span
    gaps[np.flatnonzero(np.diff(steps.segment, prepend=-1))] = 0
    return np.asarray(np.maximum(0, gaps), dtype=np.float64)


def levels(run: Run, ledger: Ledger) -> Floats:
    """Seconds of a normal step near each row."""
    found = np.zeros(len(run))
    if ledger.step is None:
        return found
    found[:] = ledger.step.typical_s
    for regime in ledger.step.regimes:
        found[regime.first_row : regime.last_row + 1] = regime.typical_s
    return found
