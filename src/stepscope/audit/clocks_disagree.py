"""R01: independent clocks of the log disagree.

What it looks at
    The printed times of the steps against the timestamps of their lines, and the total that the trainer prints at its
    end against what steps, evaluations and checkpoints add up to. More than 3 % apart, beyond what the clocks can
    resolve, is a disagreement.

Why it matters
    Two clocks that were read by different rules and agree are the best evidence that both were understood. Where they
    differ, a unit, a window or a part of the run was misread.

Example
    `time: 0.41` on every line, and the timestamps of these lines are 41 seconds apart: the figure is the time of one
    step and a line comes every hundred.

What to change
    Look at one line and its timestamp. Name the trainer's format, or teach it: `stepscope formats try LOG` shows how
    each format reads the log, `--format-file FILE` reads it with a format of your own.
"""

from __future__ import annotations

from stepscope.audit._base import AuditEvidence, Check
from stepscope.audit._clocks import pairs_of
from stepscope.core.message import Seconds, say

CODE = "R01"
# A difference of this share leaves nothing of the reading.
_ALL = 0.5


def check(evidence: AuditEvidence) -> Check:
    """Hold every pair of clocks against each other; the worst decides."""
    pairs = pairs_of(evidence.run, evidence.ledger)
    if not pairs:
        return Check(CODE, "cannot tell", say("audit-clocks-none"))
    worst = max(pairs, key=lambda pair: pair.excess)
    used, other = Seconds(worst.used_s), Seconds(worst.other_s)
    if worst.excess == 0:
        return Check(CODE, "agrees", say("audit-clocks-agree", name=worst.name, used=used, other=other))
    return Check(
        CODE,
        "disagrees",
        say("audit-clocks-differ", name=worst.name, used=used, other=other),
        abs(worst.used_s - worst.other_s),
        min(1.0, worst.excess / _ALL),
    )
