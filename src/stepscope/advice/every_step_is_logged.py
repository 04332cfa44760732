"""A115: every step is printed, and steps are short.

What it looks at
    `log_interval` and the typical step.

Why it costs time
    A printed loss must be fetched from the GPU: the next step cannot be queued until this one is done. Printing,
    flushing and a metrics client come on top, some 1 to 4 ms each time.

Example
    Steps of 15 ms, each printed: up to a fifth of the time waits for a figure that nobody reads step by step.

What to change
    Raise `log_interval` to 10 or 100. The loss is seen less often; nothing else changes.
"""

from __future__ import annotations

from stepscope.advice._base import Advice, Saving, Situation, paste
from stepscope.core.message import Seconds, say
from stepscope.forecast.finish import Forecast

CODE = "A115"
_SHORT_S = 0.05
_INTERVAL = 10
# Seconds that fetching and printing one loss takes: nothing where the trainer waits for the GPU anyway, 0.3 ms
# measured for nanoGPT's line on a processor, some milliseconds with a metrics client on top.
_LINE_S = (0.0, 0.0003, 0.004)


def advise(situation: Situation) -> Advice | None:
    """Print one step in ten; None where steps are long or already printed seldom."""
    run, step = situation.run, situation.ledger.step
    every = run.settings.count("log_interval")
    if step is None or every != 1 or step.typical_s >= _SHORT_S or not run.clock.is_per_step:
        return None
    num = len(run)
    if situation.is_future and isinstance(situation.forecast, Forecast):
        num = situation.forecast.schedule.num_steps
    low, middle, high = (min(seconds, 0.2 * step.typical_s) * num * (1 - 1 / _INTERVAL) for seconds in _LINE_S)
    return Advice(
        code=CODE,
        setting="log_interval",
        now=every,
        proposed=_INTERVAL,
        saves=Saving(low, middle, high),
        costs=say("advice-a115-costs", count=_INTERVAL),
        evidence=say("advice-a115-evidence", duration=Seconds(step.typical_s)),
        phases=("step",),
        paste=paste(run, ("log_interval", _INTERVAL)),
        assumed=say("advice-a115-assumed"),
    )
