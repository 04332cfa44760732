"""C35: the step waited for its data, and the log says so.

What it looks at
    The wait for data that the trainer prints with a step (`data_time`, `loader_time`, `reader_cost`, a timer of its
    batch generator), against its usual value.

Why it costs time
    The GPU has nothing to do until the batch is there.

Example
    `loader_time: 19.8` next to `step_time: 1.3`.

What to change
    More workers and prefetch, cheaper decoding and augmentation, data on a local disk, `pin_memory=True`.
"""

from __future__ import annotations

import numpy as np

from stepscope.causes._evidence import Case, Rhythmic, Shift
from stepscope.core.message import Seconds, Share, say
from stepscope.ledger.phases import Finding

CODE = "C35"
PLACE = 16
# A printed wait of at least this share of the excess is what made the step slow.
MOST = 0.5


def explain_step(case: Case) -> Finding | None:
    """A printed wait that makes up most of the excess."""
    steps = case.evidence.run.steps
    booked = sum(part.seconds for part in case.slow.parts if part.phase == "data")
    if booked > 0:
        confidence = round(0.98 * min(1.0, booked / max(case.excess_s, 1e-9)), 2)
        message = say("cause-c35-evidence", duration=Seconds(booked))
        return Finding(CODE, "data", None, confidence, booked, message, case.slow.evidence_lines)
    more = case.waited_s
    if not case.stall_s or not more or more < MOST * case.stall_s:
        return None
    share = min(1.0, more / case.stall_s)
    usual = Seconds(case.evidence.usual_wait_s)
    message = say("cause-c35-figure", own=Seconds(float(steps.data_s[case.row])), usual=usual)
    line = int(steps.line[case.row])
    return Finding(CODE, "data", "data", round(0.95 * share, 2), min(more, case.stall_s), message, (line,))


def explain_period(rhythm: Rhythmic) -> Finding | None:
    """A comb of rows whose printed waits make up most of what they take beyond the others."""
    evidence, period = rhythm.evidence, rhythm.period
    waits = evidence.run.steps.data_s[np.asarray(period.rows)]
    if not np.isfinite(waits).any():
        return None
    more = float(np.nanmedian(waits)) - evidence.usual_wait_s
    if more < MOST * period.each_s:
        return None
    usual = Seconds(evidence.usual_wait_s)
    message = say("cause-c35-figure", own=Seconds(float(np.nanmedian(waits))), usual=usual)
    return Finding(CODE, "data", "data", 0.95, period.each_s, message)


def explain_level(shift: Shift) -> Finding | None:
    """A level whose printed wait changed with it."""
    waits = shift.evidence.run.steps.data_s
    parts = [waits[r.first_row : r.last_row + 1] for r in (shift.before, shift.after)]
    if any(not np.isfinite(part).any() for part in parts):
        return None
    before, after = (float(np.nanmedian(part)) for part in parts)
    share = (after - before) / (shift.after.typical_s - shift.before.typical_s)
    if share < MOST:
        return None
    message = say("cause-c35-level", before=Seconds(before), after=Seconds(after), share=Share(min(share, 1.0)))
    return Finding(CODE, "data", None, round(0.9 * min(share, 1.0), 2), 0.0, message)
