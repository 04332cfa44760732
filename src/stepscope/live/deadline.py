"""A job that its scheduler will end: the chance to be done before that, and the latest step at which to save.

Said once, as soon as there is a forecast that makes it likely to matter, and again when the moment to save has come.
"""

from __future__ import annotations

import datetime as dt
import math

from stepscope.alarms._base import Alarm
from stepscope.analysis.report import Report
from stepscope.core.message import Moment, Share, say
from stepscope.forecast.finish import Forecast

# Less likely than this to be done in time, it is worth a word.
_SURE = 0.9
# What a job needs besides its checkpoint before it is ended: to notice, to write, to leave.
_MARGIN_S = 30.0
# So long before the last moment at which to save it is said that it has come, or this share of the job's age.
_LEAD_S, _LEAD_SHARE = 120.0, 0.02


def deadline_alarms(report: Report, now: dt.datetime) -> list[Alarm]:
    """The alarms of a run that has a deadline; none for one that is almost certainly done before it."""
    end, deadline, chance = report.forecast, report.ask.deadline, report.deadline_probability
    if deadline is None or chance is None or chance >= _SURE or not isinstance(end, Forecast) or end.is_finished:
        return []
    latest = latest_save(report)
    if latest is None:
        return []
    step, by = latest
    time = Moment(deadline, now)
    message = say("alarm-walltime", time=time, share=Share(chance), step=step, total=end.schedule.max_steps)
    found = [Alarm("walltime", "warning", None, None, message)]
    lead_s = max(_LEAD_S, _LEAD_SHARE * report.ledger.wall_s)
    if (by - now).total_seconds() <= lead_s:
        found.insert(0, Alarm("save_now", "error", None, None, say("alarm-save-now", time=time, step=step)))
    return found


def latest_save(report: Report) -> tuple[int, dt.datetime] | None:
    """The last step that can be done and saved before the deadline at the slower end of the forecast, and when."""
    end, deadline, moment = report.forecast, report.ask.deadline, report.moment
    if not isinstance(end, Forecast) or deadline is None or moment is None or not end.schedule.num_steps:
        return None
    price = report.ledger.checkpoint_price
    save_s = price.seconds if price is not None else 0.0
    left_s = (deadline - moment).total_seconds() - 2 * save_s - _MARGIN_S
    pace_s = end.high_s / end.schedule.num_steps
    num = max(0, math.floor(left_s / pace_s)) if pace_s > 0 else 0
    last = int(report.run.steps.step[-1])
    step = min(end.schedule.max_steps, last + num)
    return step, moment + dt.timedelta(seconds=max(0.0, left_s))
