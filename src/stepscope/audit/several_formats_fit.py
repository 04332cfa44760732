"""R11: several formats account for the log about as well.

What it looks at
    The candidates that were tried on the log, and how much of it each accounts for.

Why it matters
    Where the second is about as good as the first, the first may be the wrong one.

Example
    A log of one trainer that runs on another one's engine: both print steps.

What to change
    `stepscope formats try LOG` shows both accounts; `--format-file FILE` chooses.
"""

from __future__ import annotations

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import Share, say

CODE = "R11"
_CLOSE = 0.8


def check(evidence: AuditEvidence) -> Check:
    """The lead of the first candidate."""
    candidates = sorted(evidence.run.candidates, key=lambda one: -one.share)
    if not candidates:
        return Check(CODE, "cannot tell", say("audit-formats-none"))
    if len(candidates) == 1 or candidates[1].share < _CLOSE * candidates[0].share:
        return Check(CODE, "agrees", say("audit-formats-one", format=candidates[0].format))
    first, second = candidates[:2]
    message = say(
        "audit-formats-close",
        format=first.format,
        share=Share(first.share),
        other=second.format,
        rest=Share(second.share),
    )
    doubt = (second.share / first.share - _CLOSE) / (1 - _CLOSE) if first.share else 1.0
    return Check(CODE, "disagrees", message, doubt=min(1.0, doubt))
