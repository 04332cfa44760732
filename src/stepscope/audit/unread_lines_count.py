"""R02: lines that nobody reads count up.

What it looks at
    Families of unread lines, equal but for their numbers, that have a whole number which rises from line to line, while
    the run goes on or after it.

Why it matters
    Steps are what counts up in a log. Unread lines that do it are most likely steps too: of another trainer, of another
    form of the same line, of a second run. Then the rows that were read are not the training, or not all of it.

Example
    7,000 lines `iter: 20  total_loss: 1.82 …` in a log of which two lines `step=0` were read.

What to change
    `stepscope formats try LOG` shows which format would read them; `--format-file FILE` names one of your own.
"""

from __future__ import annotations

from itertools import pairwise

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import say
from stepscope.core.redact import redact
from stepscope.lines import hints
from stepscope.run.model import UnreadFamily

CODE = "R02"
_LEAST_LINES = 5
_LEAST_DOUBT = 0.02


def check(evidence: AuditEvidence) -> Check:
    """The family that counts and is the largest."""
    found = [family for family in evidence.repeated if family.num >= _LEAST_LINES and counts_up(family)]
    weights = [(evidence.weight(family) * _likeness(family), family) for family in found]
    doubt, worst = max(weights, key=lambda one: one[0], default=(0.0, None))
    if worst is None or doubt < _LEAST_DOUBT:
        return Check(CODE, "agrees", say("audit-unread-counts-none"))
    message = say("audit-unread-counts", count=worst.num, text=redact(worst.first, 80), line=worst.first_line)
    return Check(CODE, "disagrees", message, doubt=doubt)


def counts_up(family: UnreadFamily) -> bool:
    """Whether a whole number at one place of its lines rises from the first to the second, and on to the last."""
    columns = [hints.whole_numbers(text) for text in (family.first, family.second, family.last)]
    if family.num < _LEAST_LINES or len({len(column) for column in columns}) != 1:
        return False
    for numbers in zip(*columns, strict=True):
        first, second, last = numbers
        rises = all(before <= after for before, after in pairwise(numbers)) and last > first
        # A counter comes near its last number in as many equal strides as there are lines.
        stride = max(1, second - first)
        if rises and 0.3 <= (last - first) / (stride * (family.num - 1)) <= 3:
            return True
    return False


def _likeness(family: UnreadFamily) -> float:
    """How much a line that counts looks like a step of the training."""
    if hints.is_preparation(family.first):
        return 0.2
    return 1.0 if hints.may_tell_loss(family.first) or hints.may_tell_time(family.first) else 0.6
