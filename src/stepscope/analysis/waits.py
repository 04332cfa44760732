"""Whether the run waits for its data, as its own lines say."""

from __future__ import annotations

import numpy as np

from stepscope.core.message import Message, Seconds, Share, say
from stepscope.ledger.data_waits import printed_waits, usual_wait_s
from stepscope.ledger.phases import Ledger
from stepscope.run.model import Floats, Run

# From this share of the time on, loading is what a run waits for; below that one, it is not what slows it down.
_BOTTLENECK = 0.3
_MINOR = 0.01  # as little is no finding
_SHORT = 0.05  # of a normal step
# Most of the waiting was done at once where slow steps hold this share of it.
_AT_ONCE = 0.7
_ENOUGH = 3
_UNLIKE = 0.1  # as a share of the time
_OF_STEP = {"data-bottleneck": "data-bottleneck-step", "data-share": "data-share-step"}
_APART = 0.05  # shares of the time and of an iteration that a reader would not take for the same


def data_message(run: Run, ledger: Ledger) -> Message | None:
    """The share of the time that went into waiting for data; None where no line says, or no step time was read."""
    total = next((total for total in ledger.phases if total.phase == "data"), None)
    waits = printed_waits(run) if len(run) else None
    mean = mean_wait_share(run)
    if ledger.step is None or (waits is None and total is None and mean is None):
        return None
    share = total.share if total is not None else 0.0
    if mean is not None and mean >= _BOTTLENECK and mean > share + _UNLIKE:
        wait, step_s = run.asides.mean_wait_s or 0.0, run.asides.mean_s or 0.0
        key = (
            "data-in-means" if waits is None else "data-by-means"
        )  # where no iteration prints its own wait, none hides it
        return say(key, share=Share(mean), wait=Seconds(wait), step=Seconds(step_s))
    slow = [
        (part.seconds, one.step)
        for one in ledger.slow
        for part in one.parts
        if part.phase == "data" and part.seconds > 0
    ]
    if total is not None and share >= _MINOR and sum(seconds for seconds, _ in slow) > _AT_ONCE * total.seconds:
        seconds, step = max(slow)
        return say("data-at-once", share=Share(share), count=len(slow), step=step, duration=Seconds(seconds))
    if waits is None or not ledger.step.typical_s:
        return None
    once = _first_wait(run, ledger, waits) if len(slow) <= 1 else None
    if once is not None:
        return once
    normal = np.zeros(len(run), dtype=bool)
    normal[ledger.step.rows] = True
    wait = usual_wait_s(waits, normal)
    if run.means and share > wait / ledger.step.typical_s + _UNLIKE:
        of_epoch = run.means[-1]
        wait_s = Seconds(of_epoch.data_s or 0.0)
        return say("data-by-means", share=Share(share), wait=wait_s, step=Seconds(of_epoch.mean_s))
    key = "data-bottleneck" if share >= _BOTTLENECK else "data-share" if share >= _MINOR else "data-minor"
    of_step = wait / ledger.step.typical_s
    if key in _OF_STEP and abs(of_step - share) > _APART:
        # Of the whole time it is another share, which the ledger has: two figures in one sentence must agree.
        key, share = _OF_STEP[key], of_step
    return say(key, share=Share(share), wait=Seconds(wait), step=Seconds(ledger.step.typical_s))


def mean_wait_share(run: Run) -> float | None:
    """The share of waiting in the mean that the log prints of all steps, also those it does not print."""
    mean_s, wait_s = run.asides.mean_s, run.asides.mean_wait_s
    return None if not mean_s or wait_s is None else min(1.0, wait_s / mean_s)


def waiting_share(run: Run, ledger: Ledger) -> float:
    """The share of the time that went into waiting for data, by the lines or by the means on them."""
    total = next((total for total in ledger.phases if total.phase == "data"), None)
    return max(total.share if total is not None else 0.0, mean_wait_share(run) or 0.0)


def _first_wait(run: Run, ledger: Ledger, waits: Floats) -> Message | None:
    """That only the first row of the log waited long for its data."""
    first = next((one for one in ledger.slow if one.row == 0), None)
    if first is None or len(run) < _ENOUGH or not np.isfinite(waits[0]):
        return None
    usual = usual_wait_s(waits[1:], np.ones(len(run) - 1, dtype=bool))
    assert ledger.step is not None
    if waits[0] < ledger.step.typical_s or usual > _SHORT * ledger.step.typical_s:
        return None
    step = int(run.steps.step[0])
    return say("data-first", step=step, duration=Seconds(float(waits[0])), usual=Seconds(usual))
