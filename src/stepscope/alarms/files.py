"""files: the files of the run were put in another order than given, or one of them repeats another.

What it looks at
    The first and last steps and timestamps of each file.

Why it matters
    Parts in the wrong order look like restarts, and the same lines twice like lost work.

Example
    `part-2.log part-1.log`: read the other way round, by their timestamps.

What to change
    Nothing, if the order is right.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence
from stepscope.core.message import say
from stepscope.core.redact import redact

CODE = "files"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm for the order, one for files left out."""
    run, found = evidence.run, []
    if run.order != "given":
        message = say("alarm-files-order", by=run.order, paths=redact(", ".join(run.paths)))
        found.append(Alarm(code=CODE, severity="info", step=None, line=None, message=message))
    if run.repeated_paths:
        paths, count = redact(", ".join(run.repeated_paths)), len(run.repeated_paths)
        message = say("alarm-files-repeated", paths=paths, count=count)
        found.append(Alarm(code=CODE, severity="info", step=None, line=None, message=message))
    return found
