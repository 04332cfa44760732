"""C06: a batch of a new shape compiles again.

What it looks at
    A slow last step of an epoch (the partial batch), slow steps that grow rarer as fewer new lengths are seen, and a
    slower level that begins with a single very slow step.

Why it costs time
    Each new shape is compiled or tuned once; after that the compiler may switch to kernels for any shape, and those
    are slower for good.

Example
    The last batch of the first epoch takes 40 s, and every step after it 12 % longer.

What to change
    `drop_last=True`, pad or bucket to few lengths, mark the dimension as dynamic, `TORCH_LOGS=recompiles`.
"""

from __future__ import annotations

import numpy as np

from stepscope.causes._evidence import Case, Evidence, Shift
from stepscope.core.message import Seconds, Share, say
from stepscope.ledger.phases import Finding

CODE = "C06"
PLACE = 42
_NEAR_ROWS = 3
_TALL = 3.0  # times a step: a compile is never less
_LEAST_NEW = 8


def explain_step(case: Case) -> Finding | None:
    """The partial batch at an epoch's end, or one of many slow steps that die out."""
    evidence, steps = case.evidence, case.evidence.run.steps
    if not case.stall_s or evidence.is_compiled is False:
        return None
    epoch, step = evidence.epoch_steps, int(steps.step[case.row])
    tall = case.stall_s >= _TALL * float(evidence.baseline.level[case.row])
    if epoch and (step + 1 - evidence.run.format.layout.first_step) % epoch == 0 and tall and steps.span[case.row] == 1:
        confidence = 0.8 if evidence.is_compiled else 0.65
        message = say("cause-c06-partial", count=epoch)
        return Finding(CODE, "recompile", "warmup", confidence, case.stall_s, message)
    fading = evidence.once(_fading)
    if fading is None or not tall or case.row not in evidence.aperiodic_set:
        return None
    message = say("cause-c06-fading", count=len(evidence.aperiodic), share=Share(fading))
    return Finding(CODE, "recompile", "warmup", 0.7 if evidence.is_compiled else 0.6, case.stall_s, message)


def _fading(evidence: Evidence) -> float | None:
    """The share of the unexplained rows that lie in the first quarter of the run, when they clearly die out."""
    rows = evidence.aperiodic
    if len(rows) < _LEAST_NEW:
        return None
    parts = np.histogram(rows, bins=4, range=(0, len(evidence.run)))[0]
    share = float(parts[0] / len(rows))
    return share if share > 0.6 and parts[0] > parts[1] >= parts[2] >= parts[3] else None


def explain_level(shift: Shift) -> Finding | None:
    """A slower level that a single tall step begins."""
    evidence = shift.evidence
    if shift.change <= 0 or evidence.is_compiled is False:
        return None
    rows = [row for row in evidence.stalls if -_NEAR_ROWS <= shift.after.first_row - row <= _NEAR_ROWS]
    tall = [row for row in rows if evidence.stalls[row] >= _TALL * shift.before.typical_s]
    if not tall:
        return None
    step = int(evidence.run.steps.step[tall[0]])
    message = say("cause-c06-level", step=step, duration=Seconds(evidence.stalls[tall[0]]))
    return Finding(CODE, "recompile", None, 0.7 if evidence.is_compiled else 0.5, 0.0, message)
