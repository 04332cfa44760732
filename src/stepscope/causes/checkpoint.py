"""C02: saving the checkpoint blocks the step.

What it looks at
    The checkpoint's own line before the step, with what is known of its cost apart from the evaluation's; without a
    line, whether the slow steps keep the checkpoint's interval.

Why it costs time
    `torch.save` copies, pickles and writes some 12 bytes per parameter while the GPU waits. A remote or worn disk makes
    that long, and longer from one to the next.

Example
    31.8 s with a checkpoint, 31.3 s without one at the same evaluation: 0.5 s for 128 MB.

What to change
    Save less often or only on improvement, to a local disk first, weights alone in between, or asynchronously in a
    process of its own.
"""

from __future__ import annotations

from stepscope.causes._evidence import Case, Rhythmic
from stepscope.causes._stated import stated_interval
from stepscope.core.message import Seconds, say
from stepscope.ledger.phases import Finding

CODE = "C02"
PLACE = 11


def explain_step(case: Case) -> Finding | None:
    """The checkpoint that the step's parts hold."""
    own = sum(part.seconds for part in case.slow.parts if part.phase == "checkpoint")
    if own <= 0:
        return None
    excess = max(case.excess_s, 1e-9)
    confidence = case.slow.confidence if case.slow.cause == "checkpoint" else round(0.5 * own / excess, 2)
    message = say("cause-c02-evidence", duration=Seconds(own))
    return Finding(CODE, "checkpoint", None, confidence, own, message, case.slow.evidence_lines[-1:])


def explain_period(rhythm: Rhythmic) -> Finding | None:
    """A comb at the interval of checkpoints that print no line here."""
    evidence = rhythm.evidence
    every = stated_interval(evidence.run.settings, "checkpoint", rhythm.period.every)
    is_silent = not any(evidence.is_near_stop(row) for row in rhythm.period.rows)
    if every is None or not (evidence.run.clock.runs_during("checkpoint") or is_silent):
        return None
    message = say("cause-c02-period", every=every, count=rhythm.period.num_events)
    return Finding(CODE, "checkpoint", "checkpoint", 0.75, rhythm.period.each_s, message)
