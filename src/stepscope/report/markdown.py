"""The report as Markdown: the same sections as in the terminal, for an issue, a wiki or a chat."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepscope.alarms._base import Alarm
from stepscope.analysis.report import Report
from stepscope.analysis.settle import TIMESTAMP_COMMAND
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.report.gpu import verdict_lines
from stepscope.report.inferred import inferred_lines
from stepscope.report.wording.change import change_lines, change_scope, no_change_text
from stepscope.report.wording.finish import finish_lines
from stepscope.report.wording.headline import headline, normal_lines, settings_line, unread_text
from stepscope.report.wording.phases import phase_cells
from stepscope.report.wording.reading import agreement_line, doubt_lines
from stepscope.report.wording.slow import more_slow, part_text, slow_remarks
from stepscope.report.wording.trend import no_slow_text, speed_lines

_SHOWN_SLOW = 10
_SPECIAL = re.compile(r"([\\`*_\[\]|#~])")
# What GitHub, GitLab and chats make a link of or call somebody by, escaped or not: @name, #12, !12, GH-12, an address.
_LIVE = re.compile(r"@\w|://|www\.|\bGH-\d|(?<!\w)[!$%&~]\d|#\d", re.IGNORECASE)
_WORDS = re.compile(r"([\s`|<>]+)")


def render(report: Report, language: Language) -> str:
    """The whole report as a Markdown document."""
    run = report.run
    title = f"# {run.format.title} · {escape(redact(', '.join(run.paths), 1000))} · {prose(headline(report, language))}"
    return "\n\n".join([title, *sections(report, language, level=2)]) + "\n"


def sections(report: Report, language: Language, *, level: int) -> list[str]:
    """The report's sections as blocks of Markdown, headed at `level`."""
    mark = "#" * level
    blocks = doubt_blocks(report, language, level=level)
    if report.alarms:
        blocks.append(f"{mark} {language.text('section-alarms')}")
        blocks.append(alarm_list(report.alarms, language))
    normal = [*normal_lines(report, language), *speed_lines(report, language), *verdict_lines(report, language)]
    if normal:
        blocks += [f"{mark} {language.text('section-normal')}", prose(" ".join(normal))]
    if report.has_steps:
        blocks += [f"{mark} {language.text('section-slow')}", *_slow(report, language)]
    if report.has_times:
        blocks += [f"{mark} {language.text('section-time')}", _time(report, language)]
    blocks += [f"{mark} {language.text('section-finish')}", *_finish(report, language)]
    blocks += [f"{mark} {language.text('section-change')}", _change(report, language)]
    inferred = inferred_lines(report, language)
    if inferred:
        blocks += [f"{mark} {language.text('section-inferred')}", "\n".join(f"- {escape(line)}" for line in inferred)]
    blocks += [f"{mark} {language.text('section-log')}", _read(report, language)]
    return blocks


def doubt_blocks(report: Report, language: Language, *, level: int) -> list[str]:
    """That the reading is in doubt, before anything else."""
    lines = [escape(line) for line in doubt_lines(report, language)]
    if not lines:
        return []
    items = "\n".join(f"- {line}" for line in lines[1:])
    return [f"{'#' * level} {language.text('section-reading')}", f"**{lines[0]}**", items]


def escape(text: str) -> str:
    """Text from outside as it should be read, never as Markdown or HTML. A word that would do something is code."""
    return "".join(f"`{word}`" if _LIVE.search(word) else _inert(word) for word in _WORDS.split(text))


def prose(text: str) -> str:
    """A sentence that may quote a log, with everything but its code escaped."""
    parts = text.split("`")
    return "".join(f"`{part}`" if index % 2 else escape(part) for index, part in enumerate(parts))


def _inert(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", text)


def fence(lines: list[str]) -> str:
    """Log lines as a code block that they cannot close."""
    return "\n".join(["```", *(line.replace("`", "'") for line in lines), "```"])


def alarm_list(alarms: Sequence[Alarm], language: Language) -> str:
    """Alarms with the line that each is about."""
    return "\n".join(f"- {_alarm(alarm, language)}" for alarm in alarms)


def _alarm(alarm: Alarm, language: Language) -> str:
    where = f" ({language.text('alarm-line', line=alarm.line)})" if alarm.line else ""
    return f"**{alarm.code}**: {escape(language.say(alarm.message))}{where}"


def _slow(report: Report, language: Language) -> list[str]:
    ledger = report.ledger
    if not ledger.slow:
        return [prose(no_slow_text(report, language))]
    head = [language.text(f"slow-column-{name}") for name in ("step", "took", "why")]
    rows = []
    shown = sorted(ledger.slow[:_SHOWN_SLOW], key=lambda slow: slow.row)
    for slow in shown:
        parts = " + ".join(prose(part_text(part, language)) for part in slow.parts)
        rows.append([language.number(slow.step), language.duration(slow.seconds), parts])
    blocks = [table(head, rows)]
    hidden = list(ledger.slow[_SHOWN_SLOW:])
    if hidden:
        blocks.append(prose(more_slow(hidden, language)))
    quotes = [line for slow in shown[:4] for line in report.excerpts(slow)]
    if quotes:
        blocks += [language.text("note-slow-lines"), fence(quotes)]
    remarks = slow_remarks(report, language)
    if remarks:
        blocks.append(prose(" ".join(remarks).replace(TIMESTAMP_COMMAND, f"`{TIMESTAMP_COMMAND}`")))
    return blocks


def _time(report: Report, language: Language) -> str:
    head = [language.text(f"time-table-{name}") for name in ("phase", "time", "share", "range", "basis")]
    cells = [phase_cells(total, language) for total in report.ledger.phases]
    rows = [[own.name, own.time, own.share, own.span, own.basis] for own in cells]
    rows.append([f"**{language.text('time-total')}**", f"**{language.duration(report.ledger.wall_s)}**", "", "", ""])
    return table(head, rows)


def _finish(report: Report, language: Language) -> list[str]:
    lines = [prose(line) for line in finish_lines(report, language)]
    return [f"**{lines[0]}**", " ".join(lines[1:])] if len(lines) > 1 else [f"**{lines[0]}**"]


def _change(report: Report, language: Language) -> str:
    changes = change_lines(report, language, code=_code)
    if not changes:
        return prose(no_change_text(report, language))
    own = [[prose(text) for text in change] for change in changes]
    lines = [f"{number}. **{line}.** {why} {costs}" for number, (line, why, costs) in enumerate(own, 1)]
    return "\n".join(lines) + "\n\n" + prose(change_scope(report, language))


def _read(report: Report, language: Language) -> str:
    settings = settings_line(report, language, code=_code)
    agreement = agreement_line(report, language)
    texts = [escape(unread_text(report, language)), escape(agreement) if agreement else None, prose(settings or "")]
    return " ".join(text for text in texts if text)


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
