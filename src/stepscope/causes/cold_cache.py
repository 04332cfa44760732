"""C13: the first pass over the data reads it from a cold disk.

What it looks at
    A level that falls during the first epoch, or early in the run, and stays flat afterwards.

Why it costs time
    What has been read once is in the page cache; until then every batch waits for the disk. Tuning kernels for new
    shapes looks the same.

Example
    1.17 s per step up to 1,800, 0.59 s ever after.

What to change
    Read the file once before training (`cat data/*.bin > /dev/null`), use a local disk, and never judge a run by its
    first epoch.
"""

from __future__ import annotations

from stepscope.causes._evidence import Shift
from stepscope.core.message import Share, say
from stepscope.ledger.phases import Finding

CODE = "C13"
PLACE = 112
_EARLY = 0.4


def explain_level(shift: Shift) -> Finding | None:
    """A fall early in the run that nothing takes back."""
    evidence = shift.evidence
    steps = evidence.run.steps
    if shift.change >= 0 or shift.before.first_row > 0.1 * len(evidence.run):
        return None
    done = (shift.after.first_row + 1) / len(evidence.run)
    epoch = evidence.epoch_steps
    in_first_epoch = bool(epoch and int(steps.step[shift.after.first_row]) <= 1.1 * epoch + int(steps.step[0]))
    if not in_first_epoch and done > _EARLY:
        return None
    shape = evidence.shape
    settles = shape is not None and shape.kind == "saturating" and shape.change < 0
    confidence = (0.5 if in_first_epoch else 0.4) + (0.2 if settles else 0.0)
    message = say("cause-c13-evidence", share=Share(-shift.change), done=Share(done))
    return Finding(CODE, "data", None, confidence, 0.0, message)
