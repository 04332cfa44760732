"""C28: the first step after a resume also loads, compiles and skips what was done.

What it looks at
    The first step of a later process, or of a process that does not begin at the run's first step.

Why it costs time
    The checkpoint is read, the model compiled again, and many loaders skip the batches already seen one by one.

Example
    66 s at step 44,000, right after `Resuming training from out`.

What to change
    Save the loader's state with the checkpoint, keep the compiler's cache, resume from a local disk.
"""

from __future__ import annotations

from stepscope.causes._evidence import Case
from stepscope.core.message import Seconds, say
from stepscope.ledger.phases import Finding

CODE = "C28"
PLACE = 29


def explain_step(case: Case) -> Finding | None:
    """The warm-up of a process that continues a run."""
    evidence, slow = case.evidence, case.slow
    run = evidence.run
    if slow.cause != "warmup" or not evidence.is_first(case.row):
        return None
    own = sum(part.seconds for part in slow.parts if part.phase == "warmup")
    segment = run.segments[int(run.steps.segment[case.row])]
    first_step = int(run.steps.step[segment.first_row])
    # One line in a hundred is printed: a first line a little after the beginning is still the beginning.
    started_late = first_step > run.format.layout.first_step + 10 * (run.settings.count("log_interval") or 1)
    if own <= 0 or not started_late:
        return None
    message = say("cause-c28-evidence", step=first_step, duration=Seconds(own))
    return Finding(CODE, "warmup", None, slow.confidence, own, message)
