"""R12: nothing shows that what counts is a training.

What it looks at
    Whether losses, evaluations or checkpoints go with the steps, and whether the words around them are those of data
    that is loaded, filtered or downloaded.

Why it matters
    Datasets, downloads and evaluations draw the same bars as a training and print the same counts.

Example
    `Filter: 100%|████| 1000000/1000000 [00:09<00:00]` and nothing else: a dataset, not a complete run.

What to change
    If it is the training: `--set` states what the log does not say. If not, pass the log that the trainer writes.
"""

from __future__ import annotations

from stepscope.audit._base import AuditEvidence, Check
from stepscope.core.message import say

CODE = "R12"
_KNOWN, _GUESSED = 0.4, 1.0
# Somebody who asks about so few lines has chosen them: they are of a training.
_PASTED_LINES = 40


def check(evidence: AuditEvidence) -> Check:
    """Whether anything is learned in these steps."""
    run = evidence.run
    if not evidence.num_rows:
        return Check(CODE, "cannot tell", say("audit-trained-none"))
    if evidence.has_loss or len(run.events):
        return Check(CODE, "agrees", say("audit-trained"))
    is_guess = (run.format.inferred is not None or run.format.layout.bars_nest) and run.num_lines > _PASTED_LINES
    return Check(CODE, "cannot tell", say("audit-trained-unknown"), doubt=_GUESSED if is_guess else _KNOWN)
