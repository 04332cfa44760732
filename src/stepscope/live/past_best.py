"""Said while a run goes on: its validation loss has been above its best for so long that stopping costs nothing.

Afterwards the same is a finding (`analysis/findings.py`), with the seconds that it cost.
"""

from __future__ import annotations

import numpy as np

from stepscope.alarms._base import Alarm
from stepscope.analysis.report import Report
from stepscope.core.message import Argument, Decimal, Seconds, Share, say
from stepscope.forecast.finish import Forecast

# A finding may be of two evaluations; to tell somebody to stop a run takes more, and a fair share of the run.
_LEAST_LATER = 4
_LEAST_SHARE = 0.2
# Evaluations in a row, the last ones, that must be worse by this much: a loss that comes down again is none.
_RISE = 1.01


def past_best_alarms(report: Report) -> list[Alarm]:
    """The alarm of a run whose best model lies long behind; at most one, and the same one until a better comes."""
    if not _has_risen(report):
        return []
    best = report.best
    if best is None or not best.is_past or best.share_after < _LEAST_SHARE:
        return []
    later = _num_later(report, best.step)
    if later < _LEAST_LATER:
        return []
    said: dict[str, Argument] = {"step": best.step, "loss": Decimal(best.val_loss, 4), "count": later}
    end = report.forecast
    is_saved = any(stop.saved and stop.step == best.step for stop in report.run.stops)
    if isinstance(end, Forecast) and not end.is_finished:
        key = "alarm-past-best-left" if is_saved else "alarm-past-best-unsaved-left"
        message = say(key, **said, left=Seconds(end.remaining_s), share=Share(best.share_after))
    else:
        key = "alarm-past-best" if is_saved else "alarm-past-best-unsaved"
        message = say(key, **said, share=Share(best.share_after))
    return [Alarm("past_best", "warning", best.step, None, message)]


def _has_risen(report: Report) -> bool:
    """Whether it is worth a closer look: the last losses are all above the lowest one."""
    losses = report.run.events.val_loss
    known = losses[np.isfinite(losses)]
    if len(known) <= _LEAST_LATER:
        return False
    lowest = float(known.min())
    return lowest > 0 and bool((known[-_LEAST_LATER:] > lowest * _RISE).all())


def _num_later(report: Report, step: int) -> int:
    events = report.run.events
    return int((np.isfinite(events.val_loss) & (events.step > step)).sum())
