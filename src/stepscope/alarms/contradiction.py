"""contradiction: a stated setting and the log disagree.

What it looks at
    Intervals from a config file or the log's header against the spacing of the lines themselves; printed tokens per
    iteration against batch, block and accumulation; operations per step, which printed MFU and step times give to a
    percent, against ranks, batch and model size.

Why it matters
    A forecast built on the wrong interval counts the wrong number of evaluations; a comparison of two runs that differ
    in what they really ran says nothing.

Example
    `eval_interval = 500` in the config, evaluations every 100 steps in the log. A config of 11 million parameters, and
    an MFU that fits 72 million.

What to change
    Pass the config that the run was started with, or state the value with `--set eval_interval=100`. Where the MFU
    disagrees: look whether this copy of the trainer divides by another GPU's peak than nanoGPT's 312 TFLOPS.
"""

from __future__ import annotations

from stepscope.alarms._base import Alarm, AlarmEvidence, Severity
from stepscope.core.message import say
from stepscope.run.intervals import contradictions

CODE = "contradiction"


def find(evidence: AlarmEvidence) -> list[Alarm]:
    """One alarm per setting that the log disproves."""
    found = []
    for setting, stated, seen, by_mfu in contradictions(evidence.run):
        key = "alarm-contradiction-mfu" if by_mfu else "alarm-contradiction"
        message = say(key, setting=setting, stated=str(stated), seen=str(seen))
        # A fork may count its MFU against another GPU: worth a look, not a warning.
        severity: Severity = "info" if by_mfu else "warning"
        found.append(Alarm(code=CODE, severity=severity, step=None, line=None, message=message))
    return found
