"""The forecast: when the run will be done, what is left, and how likely it meets a deadline."""

from __future__ import annotations

from stepscope.analysis.report import Report
from stepscope.core.message import Moment, Seconds, Share
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.i18n import Language
from stepscope.report.wording.sentence import capital

_INTERVAL_UNKNOWN = ("assume-default-interval", "assume-evaluations-unannounced")


def finish_lines(report: Report, language: Language) -> list[str]:
    """When the run will be done and what is left, or why that cannot be said."""
    end = report.forecast
    if isinstance(end, NoForecast):
        lines = [language.text("finish-none", reason=language.say(end.reason))]
        if end.level_s is not None:
            lines.append(
                language.text("finish-rate", duration=Seconds(end.level_s), thousand=Seconds(1000 * end.level_s))
            )
        if end.ask_step is not None:
            lines.append(ask_again(end.ask_step, end.ask_s, language))
        return lines
    if end.is_finished:
        return [language.text("finish-complete", step=end.schedule.last_step, total=end.schedule.max_steps)]
    lines = [left_text(end, language) if report.has_ended else eta_line(report, end, language)]
    lines.append(language.text("left-line", items=", ".join(left_items(end, language))))
    if report.has_ended:
        lines.append(language.text("finish-ended"))
    elif report.moment is not None and report.moment_from is not None:
        lines.append(capital(from_text(report, language)))
    return lines + interval_lines(end, language) + deadline_lines(report, language)


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
    return language.text("eta-line", left=left, finish=finish) if finish else left


def left_text(end: Forecast, language: Language) -> str:
    """The time left with its interval."""
    span = language.span(end.low_s, end.high_s)
    return language.text("finish-left", duration=Seconds(end.remaining_s), span=span, confidence=Share(end.confidence))


def finish_text(report: Report, end: Forecast, language: Language) -> str | None:
    """The clock time of the end with its interval."""
    moments = [report.finish(seconds) for seconds in (end.remaining_s, end.low_s, end.high_s)]
    middle, low, high = moments
    if middle is None or low is None or high is None:
        return None
    return language.text(
        "finish-at", time=Moment(middle, report.moment), low=Moment(low, middle), high=Moment(high, middle)
    )


def from_text(report: Report, language: Language) -> str:
    """The moment that the clock times are counted from."""
    assert report.moment is not None
    return language.text(f"finish-from-{report.moment_from}", time=Moment(report.moment)).rstrip(".") + "."


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
