"""R07: the total does not follow from its parts.

What it looks at
    Seconds below zero, a total outside its own interval, and how much of the total is neither steps nor anything else
    that has a name. So is what passed between the lines of an evaluation and the next row, where it is far more than
    the steps of that row take.

Why it matters
    A clock that was misread rarely misreads every line alike: the parts and the whole then differ, and the difference
    lands in what nothing explains.

Example
    Lines of the afternoon are not read because of their `PM`: 44 of 60 hours are unexplained.

What to change
    Look at the lines around the largest stretch that nothing explains: `stepscope explain LOG --format json` has its
    step and line.
"""

from __future__ import annotations

import math

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import Seconds, Share, say
from stepscope.core.units import NS
from stepscope.run.model import NO_TIME

CODE = "R07"
_FINE = 0.15
_LATER = 5.0  # times what the steps of a row take
_GAP = 0.6  # a pause between two processes may well be one


def _after_stops(evidence: AuditEvidence) -> float:
    """Seconds between the last line of an evaluation and the next row, where they are far more than its steps take.

    They are booked as the evaluation's or the checkpoint's, but both were over by their own lines.
    """
    steps, typical = evidence.run.steps, evidence.typical_s
    if not evidence.run.clock.is_wall or evidence.run.is_recorded or not len(steps.t_ns) or not typical:
        return 0.0
    found = 0.0
    for stop in evidence.run.stops:
        if stop.row is None or stop.end_ns is None or steps.t_ns[stop.row] == NO_TIME:
            continue
        last_ns = max(stop.end_ns, stop.save_ns or stop.end_ns)
        after_s = (int(steps.t_ns[stop.row]) - last_ns) / NS
        own_s = typical * max(1, int(steps.span[stop.row]))
        found += after_s - own_s if after_s > _LATER * own_s else 0.0
    return found


def check(evidence: AuditEvidence) -> Check:
    """The share of the total that has no name."""
    ledger = evidence.ledger
    wall = ledger.wall_s
    if not ledger.phases or not evidence.num_rows or not wall:
        return Check(CODE, "cannot tell", say("audit-total-none"))
    parts = [total.seconds for total in ledger.phases]
    is_inside = ledger.wall_low_s <= wall * 1.001 + 1e-6 and wall <= ledger.wall_high_s * 1.001 + 1e-6
    if min(parts) < 0 or wall < 0 or not is_inside:
        return Check(CODE, "disagrees", say("audit-total-negative", duration=Seconds(wall)), wall, 1.0)
    gap_s = ledger.seconds("gap")
    lost = ledger.seconds("unlogged") + _GAP * gap_s
    clock = evidence.run.clock
    # A moment that was misread makes a pause; a time that is printed next to its step was as long as it says.
    lost += ledger.seconds("stall") if clock.is_wall or clock.is_running else 0.0
    lost = min(wall, lost + _after_stops(evidence))
    share = lost / wall if wall else 0.0
    if math.isfinite(ledger.wall_high_s) and share <= _FINE:
        return Check(CODE, "agrees", say("audit-total-explained", share=Share(1 - share)))
    doubt = min(1.0, max(share - _FINE, 0.0) / (1 - 2 * _FINE))
    key, shown_s = ("audit-total-gap", gap_s) if _GAP * gap_s > lost / 2 else ("audit-total-unexplained", lost)
    message = say(key, share=Share(shown_s / wall), duration=Seconds(shown_s))
    return Check(CODE, "disagrees", message, lost, doubt)
