"""The forecast: when the run will be done, what is left, and how likely it meets a deadline."""

from __future__ import annotations

import datetime as dt

from stepscope.analysis.report import Report
from stepscope.core.message import About, Decimal, Message, Moment, Range, Seconds, Share, say
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.forecast.rough import is_first_alone
from stepscope.i18n import Language
from stepscope.report.wording.money import with_money
from stepscope.report.wording.sentence import capital

_INTERVAL_UNKNOWN = ("assume-default-interval", "assume-evaluations-unannounced")


def finish_lines(report: Report, language: Language) -> list[str]:
    """When the run will be done and what is left, or why that cannot be said."""
    end = report.forecast
    if isinstance(end, NoForecast) and report.has_ended and end.reason.key.startswith("reason-over"):
        return [capital(language.say(end.reason))]
    if isinstance(end, NoForecast):
        lines = [language.say(message) for message in rough_messages(report, end)]
        lines.append(no_finish_text(report, end, language))
        lines += _last_event(report, language)
        if end.level_s is not None:
            lines.append(rate_text(end, end.level_s, language))
        if end.ask_step is not None:
            lines.append(ask_again(end.ask_step, end.ask_s, language))
        return lines
    if end.is_finished:
        return [language.text("finish-complete", step=end.schedule.last_step, total=end.schedule.max_steps)]
    lines = [capital(left_text(end, language)) if report.has_ended else eta_line(report, end, language)]
    lines.append(language.text("left-line", items=", ".join(left_items(end, language))))
    if report.has_ended:
        lines.append(language.text("finish-ended"))
    elif report.moment is not None and report.moment_from is not None:
        lines.append(capital(from_text(report, language)))
    return lines + interval_lines(end, language) + deadline_lines(report, language)


def no_finish_text(report: Report, end: NoForecast, language: Language) -> str:
    """Why there is no forecast, or none but a rough estimate."""
    message = "finish-none-rough" if rough_messages(report, end) else "finish-none"
    return language.text(message, reason=language.say(end.reason))


def _last_event(report: Report, language: Language) -> list[str]:
    """Of a log without an iteration, the last thing it shows."""
    events = report.run.events
    if len(report.run) or not len(events):
        return []
    line, kind = max(zip(events.line.tolist(), events.kind, strict=True))
    return [language.text("finish-last-event", phase=language.text(f"phase-{kind}"), line=line)]


def rough_messages(report: Report, end: NoForecast) -> list[Message]:
    """What is left by figures that are no forecast, labelled as what they are."""
    rough = end.rough
    if rough is None:
        return []
    left, span = Seconds(rough.seconds), Range(rough.low_s, rough.high_s)
    is_first = is_first_alone(report.run)
    if rough.by == "few":
        bar = [say("rough-bar", duration=Seconds(rough.bar_s))] if rough.bar_s else []
        return [*bar, say("rough-first" if is_first else "rough-few", duration=left, range=span)]
    if rough.by == "two":
        factor = Decimal(rough.high_s / rough.low_s, 0 if rough.high_s >= 10 * rough.low_s else 1)
        return [say("rough-two", low=Seconds(rough.low_s), high=Seconds(rough.high_s), factor=factor)]
    if rough.by == "own":
        return [say("rough-own-first" if is_first else "rough-own", duration=left)]
    return [say("rough-bar", duration=left)]


def rate_text(end: NoForecast, level_s: float, language: Language) -> str:
    """What a thousand more iterations take, their evaluations included where their cost is known."""
    ahead = end.ahead
    if ahead is None or not ahead.num_evaluations:
        seconds = 1000 * level_s if ahead is None else ahead.seconds
        return language.text("finish-rate", duration=Seconds(level_s), thousand=Seconds(seconds))
    return language.text(
        "finish-rate-evaluations",
        duration=Seconds(level_s),
        thousand=Seconds(ahead.seconds),
        count=ahead.num_evaluations,
    )


def interval_lines(end: Forecast, language: Language) -> list[str]:
    """What the forecast assumes about the evaluation interval, where nothing states it."""
    return [language.say(message) for message in end.assumptions if message.key in _INTERVAL_UNKNOWN]


def ask_again(step: int, seconds: float | None, language: Language) -> str:
    """The step from which on there will be a forecast, and the time until then."""
    if seconds is None:
        return language.text("finish-ask-step", step=step)
    return language.text("finish-ask", step=step, duration=Seconds(seconds))


def deadline_lines(report: Report, language: Language) -> list[str]:
    """How likely the run meets the deadline; empty when none was asked about."""
    chance = report.deadline_probability
    if report.ask.deadline is None or chance is None:
        return []
    time = Moment(report.ask.deadline, report.moment)
    if chance >= 0.99:
        return [language.text("deadline-sure", time=time)]
    if chance <= 0.01:
        return [language.text("deadline-hardly", time=time)]
    return [language.text("deadline-chance", time=time, share=Share(chance))]


def eta_line(report: Report, end: Forecast, language: Language) -> str:
    """Time left and clock time, on one line."""
    left = left_text(end, language)
    finish = language.text("finish-ended") if report.has_ended else finish_text(report, end, language)
    line = say("eta-line", left=left, finish=finish) if finish else say("eta-line-left", left=left)
    return capital(language.say(with_money(report, line, end.remaining_s, with_rate=True)))


def left_text(end: Forecast, language: Language) -> str:
    """The time left with its interval."""
    left = About(end.remaining_s, end.low_s, end.high_s)
    if not language.is_range(end.low_s, end.high_s):
        return language.text("summary-left", left=left, range="")
    span = language.span(end.low_s, end.high_s)
    return language.text("finish-left", duration=left, span=span, confidence=Share(end.confidence))


def finish_text(report: Report, end: Forecast, language: Language) -> str | None:
    """The clock time of the end with its interval."""
    moments = [report.finish(seconds) for seconds in (end.remaining_s, end.low_s, end.high_s)]
    middle, low, high = moments
    if middle is None or low is None or high is None:
        return None
    if report.state.value == "stopped":
        return language.text("finish-would", time=Moment(middle), low=Moment(low, middle), high=Moment(high, middle))
    if len({language.clock(one, report.moment) for one in (middle, low, high)}) == 1:
        return language.text("finish-at-one", time=Moment(middle, report.moment))
    return language.text(
        "finish-at", time=Moment(middle, report.moment), low=Moment(low, middle), high=Moment(high, middle)
    )


def from_text(report: Report, language: Language) -> str:
    """The moment that the clock times are counted from."""
    found = report.last_moment
    assert found.time is not None
    key, time = f"finish-from-{found.source}", Moment(found.time)
    if found.plus_s:
        time = Moment(found.time - dt.timedelta(seconds=found.plus_s))
        text = language.text("finish-from-stamp-plus", time=time, duration=Seconds(found.plus_s))
    else:
        text = language.text(key, time=time)
    if found.assumed is not None:
        text = language.text(f"finish-from-no-{found.assumed}", text=text, year=str(found.time.year))
    return text.rstrip(".") + "."


def left_items(end: Forecast, language: Language) -> list[str]:
    """Steps, evaluations and checkpoints still to come, each with its price."""
    items = []
    for name in ("step", "evaluation", "checkpoint"):
        left = end.left[name]
        if not left.num:
            continue
        what = language.text(f"left-{name}", count=left.num)
        if left.seconds is None:
            items.append(language.text("left-unpriced", what=what))
        else:
            items.append(language.text("left-priced", what=what, duration=Seconds(left.seconds)))
    return items
