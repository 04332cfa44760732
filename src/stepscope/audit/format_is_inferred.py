"""R10: the format was worked out from the log itself.

What it looks at
    Whether a format of the catalogue or of the user claims the log, or only its structure shows what its lines are; how
    sure the least sure assumption about the steps and their time is; and whether a second clock confirms the time.

Why it matters
    Names and units of a log that nobody has described are guesses until something else in the log agrees with them.

Example
    A column `Wall_Time` that grows to 16.2: seconds, or hours?

What to change
    Keep the format and correct it: `stepscope formats try LOG --save FILE`, then `--format-file FILE`.
"""

from __future__ import annotations

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import Share, say

CODE = "R10"


def check(evidence: AuditEvidence) -> Check:
    """The doubt that the reading itself has."""
    inferred = evidence.run.format.inferred
    if inferred is None:
        return Check(CODE, "agrees", say("audit-format-known", format=evidence.run.format.title))
    sure = min([inferred.confidence, *(one.confidence for one in inferred.assumptions[:2])])
    return Check(CODE, "cannot tell", say("audit-format-inferred", confidence=Share(sure)), doubt=1 - sure)
