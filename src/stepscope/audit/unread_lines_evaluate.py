"""R04: evaluations are in the log and not in the account.

What it looks at
    Lines that nobody reads, or that the format passes over, with words such as `val`, `eval` or `test` and a figure, in
    a log whose account has no evaluation; and evaluations that were seen but whose cost nothing shows.

Why it matters
    The seconds of an evaluation that is not booked are missing from the total, or are taken for slow steps; and the
    forecast leaves those to come out.

Example
    `Test: [0/197]  Time 2.10 (2.10)` after each epoch, and no evaluation in the account.

What to change
    `stepscope formats try LOG` shows what each format makes of these lines. `--set eval_interval=N` states how often
    the run evaluates.
"""

from __future__ import annotations

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import say
from stepscope.core.redact import redact
from stepscope.lines import hints

CODE = "R04"
_TIMED, _UNTIMED, _UNPRICED = 1.0, 0.5, 0.3
_OUTSIDE = 0.85  # the only clock stands still meanwhile: the total is short by all of them


def check(evidence: AuditEvidence) -> Check:
    """The largest family that may be an evaluation, where none was read."""
    run, num = evidence.run, evidence.run.events.kind.count("evaluation")
    if evidence.ledger.seconds("evaluation") > 0:
        return Check(CODE, "agrees", say("audit-evaluations-booked"))
    # What comes once with each of several trainings sums it up.
    least = run.num_trainings if run.num_trainings > 1 and num else 0
    found = [own for own in evidence.ignored if own.num > least and hints.may_be_evaluation(own.first)]
    timed = next((family for family in found if hints.may_tell_time(family.first)), None)
    worst = timed or next(iter(found), None)
    if worst is not None and (timed is not None or not num):
        is_outside = run.stamps is None and not run.clock.runs_during("evaluation")
        doubt = _TIMED if timed is not None else _OUTSIDE if is_outside else _UNTIMED
        doubt *= min(1.0, worst.num / max(1, num))  # beside those that were read
        message = say("audit-evaluations-unread", count=worst.num, text=redact(worst.first, 80), line=worst.first_line)
        return Check(CODE, "disagrees", message, doubt=doubt)
    if num and not run.clock.runs_during("evaluation"):
        return Check(CODE, "cannot tell", say("audit-evaluations-unpriced", count=num), doubt=_UNPRICED)
    return Check(CODE, "cannot tell", say("audit-evaluations-none"))
