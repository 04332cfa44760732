"""C24: logging itself takes time.

What it looks at
    Steps shorter than a tenth of a second that are slow at a multiple of the log interval.

Why it costs time
    Sending or flushing metrics, reading values off the GPU (`.item()` waits for it), histograms of weights.

Example
    25 ms per step, 60 ms at every 100th, with `log_interval = 100`.

What to change
    Log less often, from the CPU copy of the last step's loss, in a thread; `wandb.watch` with a large `log_freq`.
"""

from __future__ import annotations

from stepscope.causes._evidence import Rhythmic
from stepscope.core.message import Decimal, say
from stepscope.ledger.phases import Finding

CODE = "C24"
PLACE = 24
_SHORT_S = 0.1


def explain_period(rhythm: Rhythmic) -> Finding | None:
    """A comb on a multiple of the log interval, when every step is printed and steps are short."""
    settings, step = rhythm.evidence.run.settings, rhythm.evidence.ledger.step
    stated = settings.get("log_interval")
    every = settings.count("log_interval")
    if step is None or step.typical_s > _SHORT_S or not every or every < 2 or stated is None:
        return None
    if not rhythm.period.is_whole or rhythm.period.every % every:
        return None
    message = say("cause-c24-evidence", every=Decimal(rhythm.period.every, 0), interval=every)
    return Finding(CODE, "logging", "logging", 0.65 if rhythm.period.every == every else 0.4, 0.0, message)
