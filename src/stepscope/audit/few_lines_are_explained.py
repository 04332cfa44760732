"""R09: few lines of the log are explained.

What it looks at
    How many lines, from the first step to the last, the format claims, against those that nobody reads.

Why it matters
    A trainer whose format is known writes little else between its steps. Where most lines are foreign, another program
    may be the one that trains.

Example
    Two lines of an engine's start-up were read, and 9,588 lines with a loss were not.

What to change
    `stepscope formats try LOG` shows how much each format explains.
"""

from __future__ import annotations

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import Share, say

CODE = "R09"
_ENOUGH = 0.3


def check(evidence: AuditEvidence) -> Check:
    """The share of lines read."""
    run = evidence.run
    if not run.num_lines or not evidence.num_rows:
        return Check(CODE, "cannot tell", say("audit-lines-none"))
    before = sum(family.num for family in run.unread if family.last_line < evidence.lines[0])
    lines = run.num_lines - before
    unread = max(0, run.num_unread - before)
    share = 1 - unread / max(1, lines)
    if share >= _ENOUGH:
        return Check(CODE, "agrees", say("audit-lines-many", share=Share(share)))
    return Check(CODE, "disagrees", say("audit-lines-few", share=Share(share)), doubt=(_ENOUGH - share) / _ENOUGH)
