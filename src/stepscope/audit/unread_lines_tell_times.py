"""R03: lines that nobody reads hold times, rates or losses.

What it looks at
    Families of unread lines that come again and again while the run goes on, and that hold a duration, a rate, a
    running clock or a loss.

Why it matters
    Times that are in the log and not in the account are missing from the total, or would have shown that a time was
    misread.

Example
    `batch_time_cost: 1.00 sec` on a line of its own after each step line.

What to change
    `stepscope formats try LOG` shows what each format makes of these lines; a format of your own (`--format-file`) can
    read them.
"""

from __future__ import annotations

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import say
from stepscope.core.redact import redact
from stepscope.lines import hints

CODE = "R03"
_LEAST_SHARE = 0.05


def check(evidence: AuditEvidence) -> Check:
    """The largest family that holds a time, else one that holds a loss where no row has any."""
    timed = [family for family in evidence.repeated if _tells(family.first, has_loss=evidence.has_loss)]
    worst = next(iter(timed), None)
    if worst is None or evidence.weight(worst) < _LEAST_SHARE:
        return Check(CODE, "agrees", say("audit-unread-times-none"))
    message = say("audit-unread-times", count=worst.num, text=redact(worst.first, 80), line=worst.first_line)
    return Check(CODE, "disagrees", message, doubt=evidence.weight(worst) * (0.5 if evidence.has_times else 1.0))


def _tells(text: str, *, has_loss: bool) -> bool:
    return not hints.is_preparation(text) and (
        hints.may_tell_time(text) or (not has_loss and hints.may_tell_loss(text))
    )
