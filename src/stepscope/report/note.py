"""The answer as a blog note with front matter: the long one of `explain`, the short one of `eta`."""

from __future__ import annotations

import re

from stepscope import __version__
from stepscope.analysis.report import Report
from stepscope.core.message import Moment, Seconds, Share
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.i18n import Language
from stepscope.report import markdown, story
from stepscope.report.inferred import inferred_lines
from stepscope.report.wording.finish import finish_lines, from_text, left_items
from stepscope.report.wording.hardware import hardware_details
from stepscope.report.wording.headline import normal_lines
from stepscope.report.wording.sentence import capital
from stepscope.report.wording.summary import DEAD, alarms_apart, summary_lines

_TITLE_STEPS = 5
_PLAIN = re.compile(r"[A-Za-zÀ-ÿ][\w À-ÿ,.’'()-]*\Z")


def render(report: Report, language: Language, *, translated: bool = False) -> str:
    """The long note: the answer to the worry, the lines it speaks of, the time left, what to change, a summary."""
    report = story.with_quotes(report)
    body = [*markdown.doubt_blocks(report, language, level=3), *story.opening(report, language)]
    # What a dead run died of is said above.
    alarms = alarms_apart(report) if report.state.value in DEAD else report.alarms
    if alarms:
        body += [f"### {language.text('section-alarms')}", markdown.alarm_list(alarms, language)]
    body += _section("section-normal", story.normal(report, language), language)
    slow = story.slow_ones(report, language) if report.ledger.slow else []
    body += _section("section-slow", slow, language)
    first = story.first(report, language)
    if first is not None:
        body += [f"### {first[0]}", *first[1]]
    body += _section("section-finish", story.left(report, language), language)
    body += _section("section-change", story.changes(report, language), language)
    body += _inferred(report, language)
    body += _section("note-section-summary", story.ending(report, language), language)
    return front_matter(_title(report, language), language, translated) + "\n\n".join(body) + "\n"


def _section(title: str, blocks: list[str], language: Language) -> list[str]:
    """Blocks under their title; nothing where there are none."""
    return [f"### {language.text(title)}", *blocks] if blocks else []


def render_eta(report: Report, language: Language, *, translated: bool = False) -> str:
    """The short note: progress, evaluations left, the finish time."""
    end = report.forecast
    if isinstance(end, Forecast):
        title = language.text("note-title-eta", duration=Seconds(end.remaining_s))
    else:
        title = language.text("note-title-eta-none")
    return front_matter(title, language, translated) + eta_body(report, language)


def eta_body(report: Report, language: Language) -> str:
    """The short note without its front matter."""
    end = report.forecast
    doubt = markdown.doubt_blocks(report, language, level=3)
    if isinstance(end, NoForecast) or end.is_finished:
        return (
            "\n\n".join([*doubt, *map(markdown.prose, finish_lines(report, language)), *_inferred(report, language)])
            + "\n"
        )
    blocks = [*doubt, f"### {language.text('section-progress')}", _bullets(_progress(report, end, language))]
    blocks += [f"### {language.text('section-evaluations')}", _bullets(_evaluations(report, end, language))]
    blocks += [f"### {language.text('section-estimate')}", _bullets(_estimate(report, end, language))]
    closing = _closing(report, end, language)
    return "\n\n".join([*blocks, *closing, *_inferred(report, language)]) + "\n"


def _inferred(report: Report, language: Language) -> list[str]:
    """The assumptions about an unrecognised log."""
    lines = [markdown.escape(line) for line in inferred_lines(report, language)]
    return [f"### {language.text('section-inferred')}", _bullets(lines)] if lines else []


def front_matter(title: str, language: Language, translated: bool) -> str:
    """The note's head, with the keys that the blog's other notes carry."""
    values = {
        "audio": "false",
        "generated": "true",
        "image": "false",
        "lang": language.code,
        "layout": "post",
        "model": f"stepscope {__version__}",
        "title": _yaml(title),
        "translated": "true" if translated else "false",
        "type": "note",
    }
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in values.items()) + "---\n\n"


def _yaml(text: str) -> str:
    """A YAML scalar: plain where nothing in it could be taken for syntax, else in single quotes."""
    return text if _PLAIN.match(text) else "'" + text.replace("'", "''") + "'"


def _title(report: Report, language: Language) -> str:
    steps = sorted(slow.step for slow in report.ledger.slow)
    if not steps:
        return summary_lines(report, language)[0] if report.state.value in DEAD else language.text("note-title-none")
    if len(steps) > _TITLE_STEPS:
        return language.text("note-title-many", count=len(steps))
    names = [language.number(step) for step in steps]
    listed = names[0]
    if len(names) > 1:
        listed = language.text("note-list-and", first=", ".join(names[:-1]), last=names[-1])
    return language.text("note-title", count=len(steps), steps=listed)


def _progress(report: Report, end: Forecast, language: Language) -> list[str]:
    schedule = end.schedule
    lines = [
        language.text("note-progress-done", step=schedule.last_step, total=schedule.max_steps),
        language.text("note-progress-left", count=schedule.num_steps),
    ]
    return lines + normal_lines(report, language)


def _evaluations(report: Report, end: Forecast, language: Language) -> list[str]:
    every, count = report.run.settings.count("eval_interval"), end.schedule.num_evaluations
    if every is None or count is None:
        return [language.text("note-evaluation-unknown")]
    lines = []
    price = report.ledger.evaluation_price
    if price is not None:
        span = language.span(price.low_s, price.high_s)
        lines.append(language.text("note-evaluation-every", every=every, duration=Seconds(price.seconds), span=span))
    upcoming = (end.schedule.last_step // every + 1) * every
    if count >= 3:
        last = end.schedule.max_steps // every * every
        lines.append(language.text("note-evaluation-next", next=upcoming, after=upcoming + every, last=last))
    elif count:
        lines.append(language.text("finish-next-evaluation", step=upcoming))
    lines.append(language.text("note-evaluation-left", count=count))
    return lines


def _estimate(report: Report, end: Forecast, language: Language) -> list[str]:
    lines = [*left_items(end, language)]
    lines.append(f"**{language.text('note-total', duration=Seconds(end.remaining_s))}**")
    span = language.span(end.low_s, end.high_s)
    lines.append(language.text("note-interval", span=span, confidence=Share(end.confidence)))
    lines += [markdown.prose(language.say(message)) for message in end.assumptions]
    details = hardware_details(report, language)
    if details:
        lines.append(markdown.prose(language.text("note-hardware-assumed", details=details)))
    return lines


def _closing(report: Report, end: Forecast, language: Language) -> list[str]:
    """The finish time in a sentence of its own, and what it is counted from."""
    if report.has_ended:
        return [language.text("finish-ended")]
    moments = [report.finish(seconds) for seconds in (end.remaining_s, end.low_s, end.high_s)]
    middle, low, high = moments
    if middle is None or low is None or high is None:
        return []
    text = language.text(
        "note-closing", time=Moment(middle, report.moment), low=Moment(low, middle), high=Moment(high, middle)
    )
    return [f"**{text}** {capital(from_text(report, language))}"]


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
