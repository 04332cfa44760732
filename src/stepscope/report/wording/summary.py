"""The answer in three lines, the same in every renderer: how the run is, the time that matters, what cost most.

What leads depends on the state. A run that died says of what, and what to do about it; one that goes on says when it
will be done; one that is over, what it took.
"""

from __future__ import annotations

import re

from stepscope.alarms._base import Alarm
from stepscope.analysis.findings import CostFinding
from stepscope.analysis.out_of_memory import memory_asked, smaller_batch
from stepscope.analysis.report import Report
from stepscope.analysis.run_trend import RunTrend
from stepscope.analysis.state import StateKind
from stepscope.analysis.waits import data_message
from stepscope.core.message import Decimal, Message, Moment, Range, Seconds, Share, say
from stepscope.core.redact import redact
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.i18n import Language
from stepscope.ledger.timeline import row_ends
from stepscope.report.wording.finish import rough_messages
from stepscope.report.wording.headline import progress
from stepscope.report.wording.money import with_money
from stepscope.report.wording.sentence import capital
from stepscope.run.deaths import Death, final_death
from stepscope.run.stops import last_stops

DEAD: frozenset[StateKind] = frozenset({"crashed", "out_of_memory", "interrupted", "killed"})
# Alarms that only say how a run ended, which the state does already.
_SAID_BY_STATE = frozenset({"crash", "oom", "interrupted", "killed", "ended_early"})
_DEATHS = frozenset({"crash", "interrupted", "hang", "oom", "killed"})
_MIB, _GIB = 1 << 20, 1 << 30
_MOST_CAUSE = 200
_WHERE_FROM = re.compile(r"^\S*/(?=\S)")  # the folders of a source file that a warning begins with
_NEARLY_ALL = 0.95
_WORTH_SAYING = 0.01
_FAR = 0.1  # a mean that is further from the normal iteration needs to be called one
_TWO_SPEEDS = 1.5  # times as slow
_SLOWER = 0.15
_FEW_ROWS = 3  # with a time: fewer show no cost


def summary_lines(report: Report, language: Language) -> list[str]:
    """The answer in a language: three lines, four where a run died for want of memory."""
    return [capital(language.say(message)) for message in summary(report)]


def summary(report: Report) -> list[Message]:
    """How the run is, the time that matters, and what cost most or has to be done."""
    if report.state.value in DEAD:
        return [_state(report), *_death(report)]
    return [_state(report), _priced_time(report), _loss(report)]


def _state(report: Report) -> Message:
    value = report.state.value
    if value not in DEAD:
        return say(f"summary-{value}", where=progress(report))
    if not len(report.run):
        return say(f"summary-{value}-early")
    if not report.ledger.wall_s > 0:
        return say(f"summary-{value}-untimed", where=progress(report))
    return say(f"summary-{value}", wall=Seconds(report.ledger.wall_s), where=progress(report))


# -- a run that died --------------------------------------------------------------------------------------


def _death(report: Report) -> list[Message]:
    """Of what it died, and what to do or what is lost."""
    death = final_death(report.run)
    lines = [_cause(report, death)]
    if report.state.value == "out_of_memory":
        smaller = smaller_batch(report.run)
        lines.append(say("summary-smaller") if smaller is None else say("summary-smaller-batch", **smaller._asdict()))
    lost = _lost(report)
    if lost is not None:
        lines.append(lost)
    elif report.has_times:
        lines.append(_loss(report))
    elif len(lines) < 2:
        lines.append(say("summary-nothing-lost"))
    return lines


def _cause(report: Report, death: Death | None) -> Message:
    if death is None:
        return report.state.evidence
    line, text = death.cause.line, redact(_WHERE_FROM.sub("", " ".join(death.cause.text.split())), _MOST_CAUSE)
    sizes = memory_asked(death.cause.text) if death.kind == "out_of_memory" else None
    if sizes is None:
        return say("summary-cause", text=text, line=line)
    asked, free = (_size(number) for number in (sizes.asked, sizes.free))
    return say("summary-memory", asked=asked, free=free, total=_size(sizes.total), line=line)


def _size(number: float) -> Message:
    if number < _GIB:
        return say("size-mib", size=Decimal(number / _MIB, 0))
    return say("size-gib", size=Decimal(number / _GIB, 1))


def _lost(report: Report) -> Message | None:
    """What a resume from the last checkpoint has to do again; None where the log shows no checkpoint."""
    run, step = report.run, report.state.step
    saved = [stop for stop in last_stops(run) if stop.saved]
    if not saved or step is None or step < saved[-1].step:
        return None
    ends = row_ends(run, report.ledger)
    row = saved[-1].next_row
    at_s = float(ends[min(row, len(ends)) - 1]) if row else 0.0
    count, seconds = step - saved[-1].step, float(ends[-1]) - at_s
    return say("summary-lost", step=saved[-1].step, count=count, seconds=Seconds(max(0.0, seconds)))


# -- the time that matters --------------------------------------------------------------------------------


def _priced_time(report: Report) -> Message:
    """The time that matters with what it costs: what is left of a run that goes on, else what passed."""
    end, has_ended = report.forecast, report.state.value in {"finished", "stopped"}
    if isinstance(end, Forecast) and not end.is_finished and not has_ended:
        return with_money(report, _time(report), end.remaining_s, with_rate=True)
    wall_s = report.ledger.wall_s if report.has_times else 0.0
    return with_money(report, _time(report), wall_s, with_rate=True)


def _time(report: Report) -> Message:
    end, state = report.forecast, report.state.value
    if state == "finished" or (isinstance(end, Forecast) and end.is_finished):
        return _took(report)
    if isinstance(end, NoForecast):
        rough = rough_messages(report, end)
        return rough[0] if rough and state != "stopped" else _so_far(report, end)
    left, span = Seconds(end.remaining_s), Range(end.low_s, end.high_s)
    if state == "stopped":
        return say("summary-resumed", wall=Seconds(report.ledger.wall_s), left=left, range=span)
    finish = report.finish(end.remaining_s)
    if state == "unknown" or finish is None:
        return say("summary-left-if" if state == "unknown" else "summary-left", left=left, range=span)
    return say("summary-left-done", left=left, range=span, time=Moment(finish, report.moment))


def _took(report: Report) -> Message:
    if not report.has_times:
        return say("summary-no-times")
    wall, step = Seconds(report.ledger.wall_s), report.ledger.step
    if step is None:
        return say("summary-took", wall=wall)
    return say("summary-took-each", wall=wall, level=Seconds(step.typical_s))


def _so_far(report: Report, end: NoForecast) -> Message:
    """What has passed, where nothing tells what is left."""
    if not report.has_times:
        return say("summary-no-times" if len(report.run) else "summary-no-steps")
    key = "total" if end.reason.key.startswith("reason-no-total") else "end"
    wall = Seconds(report.ledger.wall_s)
    level_s = end.level_s or (report.ledger.step.typical_s if report.ledger.step is not None else None)
    if level_s is None:
        return say(f"summary-so-far-no-{key}", wall=wall)
    typical_s = report.ledger.step.typical_s if report.ledger.step is not None else level_s
    # What the next ones take, their stops included, is not what a normal one takes.
    is_mean = abs(level_s - typical_s) > _FAR * typical_s
    return say(f"summary-each-no-{key}{'-mean' if is_mean else ''}", wall=wall, level=Seconds(level_s))


# -- what cost most ---------------------------------------------------------------------------------------


def leading_alarm(report: Report) -> Message | None:
    """What went wrong, graver than any cost; None where nothing did but the end that the state names."""
    grave = (alarm for alarm in report.alarms if alarm.severity == "error" and alarm.code not in _SAID_BY_STATE)
    return next((alarm.message for alarm in grave), None)


def told_alarms(report: Report) -> list[Alarm]:
    """The alarms, one for a death: that the run ended early is said only where nothing says of what it died."""
    is_told = any(alarm.code in _DEATHS for alarm in report.alarms)
    return [alarm for alarm in report.alarms if not (is_told and alarm.code == "ended_early")]


def other_alarms(report: Report) -> list[Alarm]:
    """The alarms that the three lines do not say already."""
    is_dead, lead = report.state.value in DEAD, leading_alarm(report)
    said = lead if not is_dead or report.has_times else None
    return [
        alarm
        for alarm in told_alarms(report)
        if not (is_dead and alarm.code in _SAID_BY_STATE) and alarm.message is not said
    ]


def in_short(finding: CostFinding) -> Message:
    """A finding as one line."""
    return Message(f"cost-{finding.message.key.removeprefix('finding-')}", finding.message.args)


def _loss(report: Report) -> Message:
    """The gravest trouble, else the largest cost, else that there is none."""
    alarm = leading_alarm(report)
    if alarm is not None:
        return alarm
    if report.findings:
        return with_money(report, in_short(report.findings[0]), report.findings[0].seconds)
    if not report.has_times:
        return _untimed(report)
    shares = {total.phase: total for total in report.ledger.timed_phases}
    unlogged = shares.get("unlogged")
    if unlogged is not None and unlogged.share >= _WORTH_SAYING:
        return say("summary-unlogged", seconds=Seconds(unlogged.seconds), share=Share(unlogged.share))
    waits = data_message(report.run, report.ledger)
    if waits is not None and waits.key == "data-by-means":
        return waits
    if report.trend is not None and (_has_two_speeds(report) or _gets_slower(report.trend)):
        return report.trend.message
    step = shares.get("step")
    if step is not None and step.share >= _NEARLY_ALL:
        if int((report.run.steps.span > 0).sum()) < _FEW_ROWS:
            return say("summary-few")
        return say("summary-healthy", share=Share(step.share))
    return say("summary-no-cost")


def _gets_slower(found: RunTrend) -> bool:
    """Whether iterations take longer than at first by so much that "nothing to fix" would be wrong."""
    trend = found.trend
    is_slower = trend.change < 0 if found.unit != "s" else trend.change > 0
    return trend.kind in {"jump", "drift"} and is_slower and abs(trend.change) >= _SLOWER


def _has_two_speeds(report: Report) -> bool:
    """Whether iterations take either of two times: "nothing to fix" would be wrong then."""
    found = report.trend
    if found is None or found.trend.kind != "two speeds":
        return False
    speeds = found.trend.first, found.trend.last
    return min(speeds) > 0 and max(speeds) / min(speeds) >= _TWO_SPEEDS


def _untimed(report: Report) -> Message:
    """What to do about a log that does not say how long anything took."""
    reason = report.forecast.reason if isinstance(report.forecast, NoForecast) else None
    if reason is not None and reason.key.endswith("-unread"):
        return reason
    return say("summary-for-times")
