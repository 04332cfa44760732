"""The report as one page: no network, opens from disk, prints, light and dark, readable on a phone.

Every word is put on the page here, escaped; the script only draws what is in the page's own JSON. A
Content-Security-Policy allows just that script, by its hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from stepscope.analysis.report import Report
from stepscope.core.message import Share
from stepscope.core.redact import redact
from stepscope.core.unseen import to_json
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER
from stepscope.report import assets, page_ahead, page_data, templating
from stepscope.report import json as document
from stepscope.report.gpu import samples_line, verdict_lines
from stepscope.report.inferred import inferred_lines
from stepscope.report.wording.change import change_lines, change_scope, no_change_text
from stepscope.report.wording.clocks import clock_text
from stepscope.report.wording.finish import finish_lines
from stepscope.report.wording.hardware import hardware_details
from stepscope.report.wording.headline import headline, normal_lines, settings_line, unread_text
from stepscope.report.wording.phases import phase_cells
from stepscope.report.wording.reading import agreement_line, doubt_lines
from stepscope.report.wording.sentence import capital
from stepscope.report.wording.slow import drawn_phase, evidence_text, more_slow, part_text, slow_remarks
from stepscope.report.wording.trend import speed_lines

_SHOWN_SLOW, _OPEN_SLOW = 50, 8


def render(report: Report, language: Language) -> str:
    """The page."""
    title = f"{report.run.format.title} · {redact(', '.join(report.run.paths), 200)}"
    return page(title, body(report, language), language)


def page(
    title: str, content: str, language: Language, *, extra_script: str = "", extra_style: str = "", policy: str = ""
) -> str:
    """A whole page around `content`, which is markup already."""
    script, style = assets.scripts() + extra_script, assets.styles() + extra_style
    return templating.render(
        "base.html",
        language,
        title=title,
        content=content,
        script=script,
        style=style,
        policy=assets.policy(script, style, further=policy),
    )


def body(report: Report, language: Language, *, name: str | None = None) -> str:
    """Everything inside the page's `main`; `name` is what the run is called where that is not its path."""
    drawn = page_data.data(report, language)
    blocks = [_doubt(report, language), _head(report, language, name or ", ".join(report.run.paths))]
    blocks.append(_alarms(report, language))
    if report.has_steps:
        blocks += [_strip(report, language), _time(report, language), _slow(report, language)]
    elif report.has_times:
        blocks.append(_time(report, language))
    blocks += [_finish(report, language, drawn["ahead"]), _backtests(report, language), _change(report, language)]
    blocks += [_curves(drawn, language), _gpu_samples(report, language), _log(report, language)]
    blocks += [embedded("data", drawn), embedded("report", document.document(report))]
    return "\n".join(block for block in blocks if block)


def embedded(name: str, content: object) -> str:
    """Data for the page's script, and for the reader who saved the page: it holds the JSON document too."""
    text = to_json(content)
    # Inside a script element only "</" could end it.
    return f'<script type="application/json" id="{name}">{text.replace("<", chr(92) + "u003c")}</script>'


def _head(report: Report, language: Language, name: str) -> str:
    run = report.run
    lines = [f"<h1>{escape(run.format.title)} · {escape(redact(name, 1000))}</h1>"]
    verdict = [headline(report, language) + ".", *normal_lines(report, language)[:1]]
    lines.append(f'<p class="verdict">{escape(capital(" ".join(verdict)))}</p>')
    lines.append(f'<p class="finish">{escape(capital(finish_lines(report, language)[0]))}</p>')
    if report.has_times:
        lines.append(_bar(report, language))
    lines += [
        f'<p class="dim">{escape(text)}</p>'
        for text in [*normal_lines(report, language)[1:], *speed_lines(report, language)]
    ]
    details = hardware_details(report, language)
    if report.hardware is not None and report.hardware.gpu and details:
        text = language.text("run-gpu", gpu=report.hardware.gpu, details=details)
        lines.append(f'<p class="dim">{escape(text)}</p>')
    lines += [f'<p class="dim">{escape(text)}</p>' for text in verdict_lines(report, language)]
    return "<header>\n" + "\n".join(lines) + "\n</header>"


def _bar(report: Report, language: Language) -> str:
    """The time bar, as a picture with a legend that says the same in words."""
    left, pieces = 0.0, []
    for total in report.ledger.timed_phases:
        name, share = language.text(f"phase-{total.phase}"), language.percent(total.share)
        text = f"{name} {share} · {language.duration(total.seconds)}"
        pieces.append((total.phase, left, total.share * 100, text))
        left += total.share * 100
    marks = "".join(legend(f'<rect class="{phase}" width="10" height="10"/>', text) for phase, _, _, text in pieces)
    bar = templating.component("bar", pieces, language.text("section-time"))
    return f'{bar}\n<ul class="legend">{marks}</ul>'


def _doubt(report: Report, language: Language) -> str:
    found = [f'<p class="alarm">{escape(text)}</p>' for text in doubt_lines(report, language)]
    return section(language.text("section-reading"), *found) if found else ""


def _alarms(report: Report, language: Language) -> str:
    if not report.alarms:
        return ""
    found = [f'<p class="alarm">{escape(language.say(alarm.message))}</p>' for alarm in report.alarms]
    return section(language.text("section-alarms"), *found)


def _strip(report: Report, language: Language) -> str:
    """Every step that was logged, with what is marked in it named below."""
    label = escape(language.text("page-strip"))
    buttons = ""
    for move, sign in (("in", "+"), ("out", "−"), ("left", "←"), ("right", "→"), ("all", "↔")):
        name = escape(language.text(f"page-zoom-{move}"), quote=True)
        buttons += f'<button type="button" data-move="{move}" aria-label="{name}" title="{name}">{sign}</button>'
    return (
        f'<section aria-labelledby="strip-title">\n<div class="title"><h2 id="strip-title">{label}</h2>'
        f'<div class="tools" role="group" aria-label="{label}">{buttons}</div></div>\n'
        f'<div id="strip" class="chart" tabindex="0" role="group" aria-label="{label}" aria-describedby="strip-hint">'
        f'</div>\n<ul class="legend">{"".join(_marks(report, language))}</ul>\n'
        f'<p id="strip-tip" class="tip" aria-live="polite"></p>\n'
        f'<p id="strip-hint" class="dim screen">{escape(language.text("page-strip-hint"))}</p>\n</section>'
    )


def _marks(report: Report, language: Language) -> list[str]:
    """The legend of the strip: only the colours that are in it."""
    found = [("step", language.text("page-normal"))]
    shown = {drawn_phase(slow) for slow in report.ledger.slow}
    found += [(phase, language.text(f"phase-{phase}")) for phase in ORDER if phase in shown and phase != "step"]
    marks = [legend(f'<rect class="{phase}" width="10" height="10"/>', text) for phase, text in found]
    outside = {phase for _, phase in page_data.stops_outside(report)}
    marks += [
        legend(
            f'<path class="{phase}" d="M0 0H10L5 9Z"/>',
            language.text("page-outside", phase=language.text(f"phase-{phase}")),
        )
        for phase in ("evaluation", "checkpoint")
        if phase in outside
    ]
    if report.ledger.step is not None and len(report.ledger.step.regimes) > 1:
        marks.append(legend('<path class="level" d="M0 5H10"/>', language.text("page-level")))
    return marks


def legend(shape: str, text: str) -> str:
    """One entry of a legend: `shape` is markup of ten by ten units."""
    return templating.component("mark", shape, text)


def _time(report: Report, language: Language) -> str:
    head = [language.text(f"time-table-{name}") for name in ("phase", "time", "share", "range", "basis")]
    cells = [phase_cells(total, language) for total in report.ledger.phases]
    rows = [(own.name, own.time, own.share, own.span, own.basis) for own in cells]
    total = (language.text("time-total"), language.duration(report.ledger.wall_s), "", "", "")
    phases, title = [one.phase for one in report.ledger.phases], language.text("section-time")
    return section(title, table(head, rows, numbers={1, 2, 3}, title=title, phases=phases, total=total))


def _slow(report: Report, language: Language) -> str:
    ledger = report.ledger
    if not ledger.slow:
        return section(language.text("section-slow"), f"<p>{escape(language.text('slow-none'))}</p>")
    head = [language.text(f"slow-column-{name}") for name in ("step", "took", "why")]
    rows = []
    for slow in sorted(ledger.slow[:_SHOWN_SLOW], key=lambda slow: slow.row):
        parts = " + ".join(part_text(part, language) for part in slow.parts)
        why = f"{parts}. {capital(evidence_text(report, slow, language))}"
        rows.append((language.number(slow.step), language.duration(slow.seconds), why))
    title = language.text("section-slow")
    blocks = [table(head, rows[:_OPEN_SLOW], numbers={0, 1}, title=title, stacks=True)]
    if len(rows) > _OPEN_SLOW:
        more = language.text("page-more-slow", count=len(rows) - _OPEN_SLOW)
        rest = table(head, rows[_OPEN_SLOW:], numbers={0, 1}, title=more, stacks=True)
        blocks.append(f"<details><summary>{escape(more)}</summary>{rest}</details>")
    hidden = list(ledger.slow[_SHOWN_SLOW:])
    if hidden:
        blocks.append(f"<p>{escape(more_slow(hidden, language))}</p>")
    blocks += [f'<p class="dim">{escape(remark)}</p>' for remark in slow_remarks(report, language)]
    return section(language.text("section-slow"), *blocks)


def _finish(report: Report, language: Language, drawn: dict[str, Any] | None) -> str:
    lines = [f"<p>{escape(text)}</p>" for text in finish_lines(report, language)]
    end = report.forecast
    assumptions = getattr(end, "assumptions", ())
    lines += [f'<p class="dim">{escape(language.say(message))}</p>' for message in assumptions]
    if drawn is not None:
        marks = [legend('<path class="path" d="M0 9L10 1"/>', language.text("page-fan-past"))]
        if drawn["forecast"]:
            marks.append(legend('<path class="wedge" d="M0 9L10 5V0Z"/>', language.text("page-fan-ahead")))
        if drawn["backtests"]:
            marks.append(legend('<path class="earlier" d="M0 9L10 5V0Z"/>', language.text("page-fan-earlier")))
        label = escape(language.text("page-fan"))
        lines.append(f'<div id="ahead" class="chart" role="img" aria-label="{label}"></div>')
        lines.append(f'<ul class="legend">{"".join(marks)}</ul>')
    return section(language.text("section-finish"), *lines)


def _backtests(report: Report, language: Language) -> str:
    """Forecasts of earlier moments, and what happened."""
    earlier = report.backtests
    if not earlier:
        return ""
    head = [language.text(f"backtest-column-{name}") for name in ("at", "said", "range", "took", "off")]
    rows = [
        (
            language.text("backtest-at", share=Share(one.share), step=one.step),
            language.duration(one.remaining_s),
            language.span(one.low_s, one.high_s),
            language.duration(one.actual_s) + (" ✓" if one.is_inside else " ✗"),
            ("+" if one.error >= 0 else "−") + language.percent(abs(one.error)),
        )
        for one in earlier
    ]
    held = sum(one.is_inside for one in earlier)
    summary = language.text("backtest-summary", count=len(earlier), held=held, step=earlier[0].target_step)
    title = language.text("section-backtest")
    return section(
        language.text("section-backtest"),
        f"<p>{escape(summary)}</p>",
        table(head, rows, numbers={1, 2, 3, 4}, title=title),
    )


def _change(report: Report, language: Language) -> str:
    changes = change_lines(report, language, most=len(report.advice))
    if not changes:
        nothing = f"<p>{escape(no_change_text(report, language))}</p>"
        return section(language.text("section-change"), nothing, _sliders(report, language))
    items = []
    for advice, (line, why, costs) in zip(report.advice, changes, strict=True):
        paste = f"<br><code>{escape(advice.paste)}</code>" if advice.paste else ""
        items.append(f"<li><strong>{escape(line)}</strong><br>{escape(why)} {escape(costs)}{paste}</li>")
    blocks = [f"<ol>{''.join(items)}</ol>", f'<p class="dim">{escape(change_scope(report, language))}</p>']
    return section(language.text("section-change"), *blocks, _sliders(report, language))


def _sliders(report: Report, language: Language) -> str:
    base = page_ahead.what_if_base(report)
    if base is None:
        return ""
    names = {canonical: own for own, canonical in report.run.format.controls.names.items()}
    rows = []
    for name, low, high, now in page_ahead.slider_ranges(base):
        shown = escape(names.get(name, name))
        rows.append(
            f'<label for="slide-{name}"><code>{shown}</code></label>'
            f'<input id="slide-{name}" name="{name}" type="range" min="{low}" max="{high}" value="{now}" step="{low}">'
            f'<output for="slide-{name}">{language.number(now)}</output>'
        )
    return (
        f"<h3>{escape(language.text('page-whatif'))}</h3>\n"
        f'<div id="sliders" class="sliders">{"".join(rows)}</div>\n'
        '<p id="whatif" class="finish" aria-live="polite"></p>'
    )


def _curves(drawn: dict[str, Any], language: Language) -> str:
    """Loss and throughput, as far as the log has them."""
    wanted = [(name, key) for name, key in (("loss", "live-loss"), ("throughput", "page-throughput")) if drawn[name]]
    blocks = []
    for name, key in wanted:
        label = escape(capital(language.text(key)))
        blocks.append(
            f'<section>\n<h2>{label}</h2>\n<div id="{name}" class="chart" role="img" aria-label="{label}"></div>\n'
            "</section>"
        )
    return "\n".join(blocks)


def _gpu_samples(report: Report, language: Language) -> str:
    """The GPU's load and power during the run, where samples were kept."""
    line = samples_line(report, language)
    if line is None:
        return ""
    charts = [
        f'<div id="{name}" class="chart" role="img" aria-label="{escape(language.text(key))}"></div>'
        for name, key in (("card-load", "page-gpu-load"), ("card-power", "page-gpu-power"))
    ]
    return section(language.text("page-gpu"), f"<p>{escape(line)}</p>", *charts)


def _log(report: Report, language: Language) -> str:
    lines = [unread_text(report, language), agreement_line(report, language) or "", *inferred_lines(report, language)]
    settings = settings_line(report, language)
    lines += [settings] if settings else []
    lines.append(clock_text(report, language))
    return section(language.text("section-log"), *(f'<p class="dim">{escape(text)}</p>' for text in lines if text))


def section(title: str, *blocks: str) -> str:
    """A part of the page under its title; `blocks` are markup already."""
    return templating.component("section", title, blocks)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: set[int],
    title: str,
    phases: Sequence[str] = (),
    total: Sequence[str] = (),
    stacks: bool = False,
) -> str:
    """A table of `components.html`, which says what each of these is."""
    return templating.component("table", head, rows, title, numbers=numbers, phases=phases, total=total, stacks=stacks)
