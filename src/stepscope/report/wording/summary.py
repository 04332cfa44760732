"""The answer in three lines, the same in every renderer: how the run is, the time that matters, what cost most.

What leads depends on the state. A run that died says of what, and what to do about it; one that goes on says when it
will be done; one that is over, what it took.
"""

from __future__ import annotations

import re

from stepscope.alarms._base import Alarm
from stepscope.analysis.findings import CostFinding
from stepscope.analysis.out_of_memory import memory_asked, smaller_batch
from stepscope.analysis.parts import parts_message
from stepscope.analysis.report import Report
from stepscope.analysis.state import StateKind
from stepscope.analysis.waits import data_message
from stepscope.audit._lacks import lacks_steps, may_say, named_step
from stepscope.core.message import About, Decimal, Message, Moment, Range, Seconds, Share, say
from stepscope.core.redact import redact
from stepscope.core.units import NS
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.i18n import Language
from stepscope.ledger.phases import PhaseTotal
from stepscope.ledger.timeline import row_ends, timeline
from stepscope.lines import hints
from stepscope.report.wording.finish import rough_messages
from stepscope.report.wording.headline import has_two_speeds, progress, training_before, unread_reason
from stepscope.report.wording.money import with_money
from stepscope.report.wording.sentence import capital
from stepscope.run.deaths import Death, final_death
from stepscope.run.stops import last_stops

DEAD: frozenset[StateKind] = frozenset({"crashed", "out_of_memory", "interrupted", "killed"})
# The finding that says what an alarm says, with what it cost.
_REPEATED = 20  # lines of a kind that may be iterations, though none names its step
_COST_OF = {"slowdown": "slower", "restarted": "lost_work"}
# Alarms that only say how a run ended, which the state does already.
_SAID_BY_STATE = frozenset({"crash", "oom", "interrupted", "killed", "ended_early"})
_STOPS = frozenset({"evaluation", "checkpoint"})
_MIB, _GIB = 1 << 20, 1 << 30
_MOST_CAUSE = 200
_WHERE_FROM = re.compile(r"^\S*/(?=\S)")  # the folders of a source file that a warning begins with
_SCHEDULER = re.compile(r"(?:slurmstepd|srun): (?=error|\*)")
_NEARLY_ALL = 0.95
_BY_MEANS = frozenset({"data-by-means", "data-in-means"})
_WORTH_SAYING = 0.01
_MUCH_OUTSIDE = 0.1  # of the time: more than a warning costs
_CHANGED = frozenset({"jump", "drift"})
_WORTH_A_LINE = 0.05
_MUCH_FASTER = 0.2
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
        return say(f"summary-{value}-unread" if _unread_steps(report) is not None else f"summary-{value}-early")
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
    lost, alarm = _lost(report), leading_alarm(report)
    is_wasted = any(one.code == "nan" and one.message is alarm for one in report.alarms)
    if lost is not None and not is_wasted:
        lines.append(lost)
    elif alarm is not None and report.has_times:
        lines.append(alarm)
    elif report.has_times:
        lines.append(say("summary-lost-all", wall=Seconds(report.ledger.wall_s)))
    elif len(lines) < 2:
        lines.append(_unread_steps(report) or say("summary-nothing-lost"))
    return lines


def _unread_steps(report: Report) -> Message | None:
    """What no line was read as, though lines that were not understood may be iterations; None where none may."""
    family = named_step(report.run) or lacks_steps(report.run)
    is_one = family is not None and (family.num >= _REPEATED or hints.names_step(family.first))
    return may_say("reason-no-steps-unread", family) if family is not None and is_one else None


def _cause(report: Report, death: Death | None) -> Message:
    if death is None:
        return report.state.evidence
    hang = next((alarm.message for alarm in report.alarms if alarm.code == "hang"), None)
    if hang is not None and death.cause.kind == "hang":
        return hang  # which quotes the line, and says what it means
    line, text = death.cause.line, redact(_own_words(" ".join(death.cause.text.split())), _MOST_CAUSE)
    sizes = memory_asked(death.cause.text) if death.kind == "out_of_memory" else None
    if sizes is None:
        return say("summary-cause", text=text, line=line)
    asked, free = (_size(number) for number in (sizes.asked, sizes.free))
    return say("summary-memory", asked=asked, free=free, total=_size(sizes.total), line=line)


def _own_words(text: str) -> str:
    """What is said of an end, without the folders before it and the unfinished line that a scheduler wrote on."""
    found = _SCHEDULER.search(text)
    return text[found.start() :] if found is not None else without_folders(text)


def without_folders(text: str) -> str:
    """A line of a program without the folders of the source file that it begins with."""
    return _WHERE_FROM.sub("", text)


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
    # The row that holds the save began before it: only what came after the save has to be done again.
    stops = (one for one in timeline(run, report.ledger) if one.phase in _STOPS and one.first_step == saved[-1].step)
    at_s = max([at_s, *(one.start_s + one.seconds for one in stops)])
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
        return _took(report, "took")
    if isinstance(end, NoForecast) and state == "stopped":
        return _took(report, "ran")
    if isinstance(end, NoForecast):
        rough = rough_messages(report, end)
        return rough[-1] if rough else _so_far(report, end)
    left, span = About(end.remaining_s, end.low_s, end.high_s), Range(end.low_s, end.high_s)
    finish = report.finish(end.remaining_s) if state not in {"stopped", "unknown"} else None
    if report.run.settings["max_steps"].origin == "default":
        # Many runs have another total: the time left is true of this one only.
        count = end.schedule.max_steps
        if finish is None:
            return say("summary-left-default", left=left, range=span, count=count)
        time = Moment(finish, report.moment)
        return say("summary-left-done-default", left=left, range=span, count=count, time=time)
    if state == "stopped":
        return say("summary-resumed", wall=Seconds(report.ledger.wall_s), left=left, range=span)
    if finish is None:
        return say("summary-left-if" if state == "unknown" else "summary-left", left=left, range=span)
    return say("summary-left-done", left=left, range=span, time=Moment(finish, report.moment))


def _took(report: Report, key: str) -> Message:
    if not report.has_times:
        return _without_times(report)
    wall, step = Seconds(report.ledger.wall_s), report.ledger.step
    if step is None or has_two_speeds(report):
        return say(f"summary-{key}", wall=wall)
    return say(f"summary-{key}-each", wall=wall, level=Seconds(step.typical_s))


def _without_times(report: Report) -> Message:
    """Which times there are not; a printed time that was not read is no missing one."""
    inferred = report.run.format.inferred
    if inferred is not None and inferred.doubt is not None:
        key = "summary-doubt-unit" if inferred.doubt.key == "infer-doubt-unit" else "summary-doubt"
        return say(key, **inferred.doubt.args)
    reason = unread_reason(report)
    if reason is not None:
        return reason
    return _only_evaluations(report) or say("summary-no-times" if len(report.run) else "summary-no-steps")


def _only_evaluations(report: Report) -> Message | None:
    """What evaluations took, where a log times nothing else."""
    events = report.run.events
    took = [
        int(nanos) / NS
        for kind, nanos in zip(events.kind, events.took_ns, strict=True)
        if kind == "evaluation" and nanos > 0
    ]
    if not took:
        return None
    span = {"low": Seconds(min(took)), "high": Seconds(max(took))}
    return say("summary-only-evaluations", count=len(took), seconds=Seconds(sum(took)), **span)


def _so_far(report: Report, end: NoForecast) -> Message:
    """What has passed, where nothing tells what is left."""
    if not report.has_times:
        return _without_times(report)
    key = "total" if end.reason.key.startswith("reason-no-total") else "end"
    wall = Seconds(report.ledger.wall_s)
    step = report.ledger.step
    if step is None and end.level_s is None:
        return say(f"summary-so-far-no-{key}", wall=wall)
    if end.level_s is not None and (step is None or has_two_speeds(report)):
        # Of two speeds neither is the one to count on.
        return say(f"summary-each-no-{key}-mean", wall=wall, level=Seconds(end.level_s))
    assert step is not None
    return say(f"summary-each-no-{key}", wall=wall, level=Seconds(step.typical_s))


# -- what cost most ---------------------------------------------------------------------------------------


def leading_alarm(report: Report) -> Message | None:
    """What went wrong, graver than any cost; None where nothing did but the end that the state names."""
    grave = (alarm for alarm in report.alarms if alarm.severity == "error" and alarm.code not in _SAID_BY_STATE)
    return next((alarm.message for alarm in grave), None)


def other_alarms(report: Report) -> list[Alarm]:
    """The alarms that the three lines do not say already."""
    said = {id(message) for message in summary(report)}
    return [alarm for alarm in alarms_apart(report) if id(alarm.message) not in said]


def alarms_apart(report: Report) -> list[Alarm]:
    """The alarms that neither the state nor the largest cost says already, for a view without the three lines."""
    return [
        alarm for alarm in report.alarms if not _is_said_by_state(report, alarm) and not _is_first_cost(report, alarm)
    ]


def says_line(alarm: Alarm) -> bool:
    """Whether the sentence itself names the line."""
    return "line" in alarm.message.args


def _is_said_by_state(report: Report, alarm: Alarm) -> bool:
    if report.state.value in DEAD:
        return alarm.code in _SAID_BY_STATE
    return alarm.code == "ended_early" and report.state.value == "stopped"


def _is_first_cost(report: Report, alarm: Alarm) -> bool:
    """Whether the largest cost is what the alarm is about: a slowdown is not said twice."""
    return bool(report.findings) and report.findings[0].code == _COST_OF.get(alarm.code)


def in_short(finding: CostFinding) -> Message:
    """A finding as one line."""
    return Message(f"cost-{finding.message.key.removeprefix('finding-')}", finding.message.args)


def leading_cost(report: Report) -> CostFinding | None:
    """The finding that the three lines say; None where they say something graver, or larger."""
    if report.state.value in DEAD or leading_alarm(report) is not None or not report.findings:
        return None
    outside = outside_of_log(report)
    return report.findings[0] if outside is None or outside.seconds <= report.findings[0].seconds else None


def outside_of_log(report: Report) -> PhaseTotal | None:
    """What the log does not account for; None where it is hardly anything."""
    found = next((total for total in report.ledger.timed_phases if total.phase == "unlogged"), None)
    return found if found is not None and found.share >= _WORTH_SAYING else None


def _loss(report: Report) -> Message:
    """The gravest trouble, else the largest cost, else that there is none."""
    alarm = leading_alarm(report)
    if alarm is not None:
        return alarm
    cost, outside = leading_cost(report), outside_of_log(report)
    before = training_before(report)
    is_idle = cost is None or cost.code == "gap"
    if before is not None and before.key != "run-before-same" and is_idle:
        return before
    if cost is not None:
        return with_money(report, in_short(cost), cost.seconds)
    if outside is not None and (report.findings or outside.share >= _MUCH_OUTSIDE):
        return _outside_text(report, outside)
    warning = next((one for one in report.alarms if one.severity == "warning"), None)
    if warning is not None and not _is_said_by_state(report, warning):
        return warning.message
    if not report.has_times:
        return _untimed(report)
    return _no_cost(report) if outside is None else _outside_text(report, outside)


def _outside_text(report: Report, outside: PhaseTotal) -> Message:
    message = say("summary-unlogged", seconds=Seconds(outside.seconds), share=Share(outside.share))
    return with_money(report, message, outside.seconds)


def _no_cost(report: Report) -> Message:
    """That nothing costs much, as far as the log shows it."""
    waits = data_message(report.run, report.ledger)
    if waits is not None and waits.key in _BY_MEANS:
        return waits
    if report.trend is not None and (has_two_speeds(report) or _changes_pace(report)):
        return report.trend.message
    part = parts_message(report.run)
    if part is not None:
        return part
    if int((report.run.steps.span > 0).sum()) < _FEW_ROWS:
        return say("summary-few")
    untimed = [one for one in report.ledger.phases if one.is_unpriced and one.num and one.phase in _STOPS]
    if untimed:
        key = "summary-healthy-inside" if all(one.is_in_steps for one in untimed) else "summary-healthy-part"
        return say(key, stops=_listed([say(f"left-{one.phase}", count=one.num) for one in untimed]))
    step = next((total for total in report.ledger.timed_phases if total.phase == "step"), None)
    if step is not None and step.share >= _NEARLY_ALL:
        return say("summary-healthy", share=Share(step.share))
    return say("summary-no-cost")


def _listed(messages: list[Message]) -> Message:
    first, *others = messages
    return say("note-list-and", first=first, last=others[0]) if others else first


def _changes_pace(report: Report) -> bool:
    """Whether iterations take so much longer, or so much less, at the end that "nothing to fix" would answer nothing.

    Where a schedule changes them, that is what was asked for.
    """
    found = report.trend
    if found is None or found.trend.kind not in _CHANGED or report.run.format.habits.step_cost_follows_schedule:
        return False
    is_slower = found.message.args.get("pace") == "slower"
    return abs(found.trend.change) >= (_WORTH_A_LINE if is_slower else _MUCH_FASTER)


def _untimed(report: Report) -> Message:
    """What to do about a log that does not say how long anything took."""
    if unread_reason(report) is not None:
        return say("summary-teach")
    # A recording has its times: what it lacks is the iterations.
    is_timed = report.run.is_recorded and report.trace is None
    return say("summary-for-trace" if is_timed else "summary-for-times")
