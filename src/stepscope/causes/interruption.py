"""C22: the run stood still once: suspended, blocked or hung.

What it looks at
    One gap far longer than anything else in the run, with normal steps on both sides; surer where the trainer's own
    clock did not count it but the timestamps did.

Why it costs time
    A closed lid, Ctrl-Z, a console frozen by a mouse click, a full pipe, a hung file system or network. It says nothing
    about the future and is never multiplied into the forecast.

Example
    0.7 s per step, one pause of 3 h 18 min between two lines, and 0.7 s again.

What to change
    `caffeinate` or `systemd-inhibit`, `tmux` instead of a console window, a time limit on evaluation and saving.
"""

from __future__ import annotations

from stepscope.causes._evidence import Case
from stepscope.core.message import Seconds, say
from stepscope.ledger.phases import Finding

CODE = "C22"
PLACE = 80
_LEAST_S = 60.0
_STEPS = 50.0  # least length in normal steps
_ALONE = 10.0  # least length against the next longest stall


def explain_step(case: Case) -> Finding | None:
    """A single gap among normal rows."""
    evidence, row = case.evidence, case.row
    level = float(evidence.baseline.level[row])
    if case.stall_s < max(_LEAST_S, _STEPS * level):
        return None
    if case.stall_s < _ALONE * evidence.longest_other_stall(row):
        return None
    neighbours = [other for other in (row - 1, row + 1) if 0 <= other < len(evidence.run)]
    calm = all(not evidence.baseline.slow[other] for other in neighbours)
    by_stamps = evidence.run.clock.is_wall or bool(len(evidence.run.steps.t_ns))
    confidence = 0.6 + (0.1 if calm else 0.0) + (0.05 if by_stamps else 0.0)
    message = say("cause-c22-evidence", duration=Seconds(case.stall_s), level=Seconds(level))
    # The pause is certain, its reason is not: its seconds stay unexplained in the ledger.
    return Finding(CODE, "interruption", None, confidence, case.stall_s, message)
