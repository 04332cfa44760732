"""R07: the total does not follow from its parts.

What it looks at
    Seconds below zero, a total outside its own interval, and how much of the total is neither steps nor anything else
    that has a name.

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

CODE = "R07"
_FINE = 0.15
_GAP = 0.6  # a pause between two processes may well be one


def check(evidence: AuditEvidence) -> Check:
    """The share of the total that has no name."""
    ledger = evidence.ledger
    wall = ledger.wall_s
    if not ledger.phases or not evidence.num_rows:
        return Check(CODE, "cannot tell", say("audit-total-none"))
    parts = [total.seconds for total in ledger.phases]
    is_inside = ledger.wall_low_s <= wall * 1.001 + 1e-6 and wall <= ledger.wall_high_s * 1.001 + 1e-6
    if min(parts) < 0 or wall < 0 or not is_inside:
        return Check(CODE, "disagrees", say("audit-total-negative", duration=Seconds(wall)), wall, 1.0)
    lost = ledger.seconds("stall") + ledger.seconds("unlogged") + _GAP * ledger.seconds("gap")
    share = lost / wall if wall else 0.0
    if math.isfinite(ledger.wall_high_s) and share <= _FINE:
        return Check(CODE, "agrees", say("audit-total-explained", share=Share(1 - share)))
    doubt = min(1.0, max(share - _FINE, 0.0) / (1 - 2 * _FINE))
    return Check(
        CODE, "disagrees", say("audit-total-unexplained", share=Share(share), duration=Seconds(lost)), lost, doubt
    )
