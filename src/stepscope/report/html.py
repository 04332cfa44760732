"""The report as one page: no network, opens from disk, prints, light and dark, readable on a phone.

Every word is put on the page here, escaped; the script only draws what is in the page's own JSON. A
Content-Security-Policy allows just that script, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

from stepscope.i18n import Language
from stepscope.quote import quote
from stepscope.report import card, page_data, words
from stepscope.report.build import Report
from stepscope.report.inferred import inferred_lines

_FOLDER = Path(__file__).parent / "page"
_SHOWN_SLOW = 30


def render(report: Report, language: Language) -> str:
    """The page."""
    title = f"{report.run.format.title} · {quote(', '.join(report.run.paths), 200)}"
    return page(title, body(report, language), language)


def page(title: str, content: str, language: Language, *, extra_script: str = "", policy: str = "") -> str:
    """A whole page around `content`, which is markup already."""
    script, style = scripts() + extra_script, styles()
    rule = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'"
    return (
        f'<!DOCTYPE html>\n<html lang="{language.code}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(rule + policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<main id="main">\n{content}\n</main>\n<script>{script}</script>\n</body>\n</html>\n'
    )


@cache
def scripts() -> str:
    """The page's own script, the chart library first."""
    return "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("uplot.min.js", "page.js"))


@cache
def styles() -> str:
    """The page's own style."""
    return "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("uplot.min.css", "page.css"))


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def body(report: Report, language: Language) -> str:
    """Everything inside the page's `main`."""
    blocks = [_head(report, language), _alarms(report, language)]
    if report.has_steps:
        blocks += [_strip(language), _time(report, language), _slow(report, language)]
    blocks += [_finish(report, language), _change(report, language), _loss(report, language), _log(report, language)]
    data = json.dumps(page_data.data(report, language), ensure_ascii=False, allow_nan=False)
    # Inside a script element only "</" could end it.
    blocks.append(f'<script type="application/json" id="data">{data.replace("<", chr(92) + "u003c")}</script>')
    return "\n".join(block for block in blocks if block)


def _head(report: Report, language: Language) -> str:
    run = report.run
    lines = [f"<h1>{escape(run.format.title)} · {escape(quote(', '.join(run.paths), 1000))}</h1>"]
    verdict = [words.headline(report, language) + ".", *words.normal_lines(report, language)[:1]]
    lines.append(f'<p class="verdict">{escape(words.capital(" ".join(verdict)))}</p>')
    lines.append(f'<p class="finish">{escape(words.finish_lines(report, language)[0])}</p>')
    if report.has_steps:
        lines.append(_bar(report, language))
    lines += [f'<p class="dim">{escape(text)}</p>' for text in words.normal_lines(report, language)[1:]]
    details = words.hardware_details(report, language)
    if report.hardware is not None and report.hardware.gpu and details:
        text = language.text("run-gpu", gpu=report.hardware.gpu, details=details)
        lines.append(f'<p class="dim">{escape(text)}</p>')
    lines += [f'<p class="dim">{escape(text)}</p>' for text in card.lines(report, language)]
    return "\n".join(lines)


def _bar(report: Report, language: Language) -> str:
    """The time bar, as a picture with a legend that says the same in words."""
    left, pieces, legend = 0.0, [], []
    for total in report.ledger.phases:
        name, share = language.text(f"phase-{total.phase}"), language.percent(total.share)
        text = escape(f"{name} {share} · {language.duration(total.seconds)}")
        pieces.append(
            f'<rect class="{total.phase}" x="{left:.3f}" y="0" width="{total.share * 100:.3f}" height="10">'
            f"<title>{text}</title></rect>"
        )
        legend.append(
            f'<li><svg aria-hidden="true" viewBox="0 0 10 10"><rect class="{total.phase}" width="10" height="10"/>'
            f"</svg>{text}</li>"
        )
        left += total.share * 100
    label = escape(language.text("section-time"))
    return (
        f'<svg class="bar" role="img" aria-label="{label}" viewBox="0 0 100 10" preserveAspectRatio="none">'
        f'{"".join(pieces)}</svg>\n<ul class="legend">{"".join(legend)}</ul>'
    )


def _alarms(report: Report, language: Language) -> str:
    if not report.alarms:
        return ""
    found = [f'<p class="alarm">{escape(language.say(alarm.message))}</p>' for alarm in report.alarms]
    return _section("section-alarms", language, *found)


def _strip(language: Language) -> str:
    hint = escape(language.text("page-strip-hint"))
    label = escape(language.text("page-strip"))
    return (
        f"<h2>{label}</h2>\n"
        f'<div id="strip" class="chart" tabindex="0" role="img" aria-label="{label}"></div>\n'
        f'<p id="strip-tip" class="tip dim" aria-live="polite"></p>\n<p class="dim">{hint}</p>'
    )


def _time(report: Report, language: Language) -> str:
    head = [language.text(f"time-table-{name}") for name in ("phase", "time", "share", "range", "basis")]
    rows = [
        (
            language.text(f"phase-{total.phase}"),
            language.duration(total.seconds),
            language.percent(total.share),
            language.span(total.low_s, total.high_s),
            language.text(f"basis-{total.basis}"),
        )
        for total in report.ledger.phases
    ]
    rows.append((language.text("time-total"), language.duration(report.ledger.wall_s), "", "", ""))
    return _section("section-time", language, _table(head, rows, numbers={1, 2, 3}))


def _slow(report: Report, language: Language) -> str:
    ledger = report.ledger
    if not ledger.slow:
        return _section("section-slow", language, f"<p>{escape(language.text('slow-none'))}</p>")
    head = [language.text(f"slow-column-{name}") for name in ("step", "took", "why")]
    rows = []
    for slow in sorted(ledger.slow[:_SHOWN_SLOW], key=lambda slow: slow.row):
        parts = " + ".join(words.part_text(part, language) for part in slow.parts)
        why = f"{parts}. {words.capital(words.evidence_text(report, slow, language))}"
        rows.append((language.number(slow.step), language.duration(slow.seconds), why))
    blocks = [_table(head, rows, numbers={0, 1})]
    hidden = list(ledger.slow[_SHOWN_SLOW:])
    if hidden:
        blocks.append(f"<p>{escape(words.more_slow(hidden, language))}</p>")
    blocks += [f'<p class="dim">{escape(remark)}</p>' for remark in words.slow_remarks(report, language)]
    return _section("section-slow", language, *blocks)


def _finish(report: Report, language: Language) -> str:
    lines = [f"<p>{escape(text)}</p>" for text in words.finish_lines(report, language)]
    end = report.forecast
    assumptions = getattr(end, "assumptions", ())
    lines += [f'<p class="dim">{escape(language.say(message))}</p>' for message in assumptions]
    return _section("section-finish", language, *lines)


def _change(report: Report, language: Language) -> str:
    changes = words.change_lines(report, language, most=len(report.advice))
    if not changes:
        return _section("section-change", language, f"<p>{escape(words.no_change_text(report, language))}</p>")
    items = []
    for advice, (line, why, costs) in zip(report.advice, changes, strict=True):
        paste = f"<br><code>{escape(advice.paste)}</code>" if advice.paste else ""
        items.append(f"<li><strong>{escape(line)}</strong><br>{escape(why)} {escape(costs)}{paste}</li>")
    blocks = [f"<ol>{''.join(items)}</ol>", f'<p class="dim">{escape(words.change_scope(report, language))}</p>']
    return _section("section-change", language, *blocks, _sliders(report, language))


def _sliders(report: Report, language: Language) -> str:
    base = page_data.what_if_base(report)
    if base is None:
        return ""
    rows = []
    for name, low, high, now in page_data.slider_ranges(base):
        rows.append(
            f'<label for="slide-{name}"><code>{name}</code></label>'
            f'<input id="slide-{name}" name="{name}" type="range" min="{low}" max="{high}" value="{now}" step="{low}">'
            f'<output for="slide-{name}">{language.number(now)}</output>'
        )
    return (
        f"<h2>{escape(language.text('page-whatif'))}</h2>\n"
        f'<div id="sliders" class="sliders">{"".join(rows)}</div>\n'
        '<p id="whatif" class="finish" aria-live="polite"></p>'
    )


def _loss(report: Report, language: Language) -> str:
    if not page_data.has_losses(report):
        return ""
    label = escape(language.text("live-loss"))
    return f'<h2>{label}</h2>\n<div id="loss" class="chart" role="img" aria-label="{label}"></div>'


def _log(report: Report, language: Language) -> str:
    lines = [words.unread_text(report, language), *inferred_lines(report, language)]
    settings = words.settings_line(report, language)
    lines += [settings] if settings else []
    lines.append(report.run.clock.note)
    return _section("section-log", language, *(f'<p class="dim">{escape(text)}</p>' for text in lines if text))


def _section(key: str, language: Language, *blocks: str) -> str:
    return "\n".join([f"<h2>{escape(language.text(key))}</h2>", *blocks])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: set[int]) -> str:
    def cells(kind: str, values: Sequence[str]) -> str:
        return "".join(
            f"<{kind}{' class=' + chr(34) + 'number' + chr(34) if column in numbers else ''}>{escape(value)}</{kind}>"
            for column, value in enumerate(values)
        )

    lines = [f"<tr>{cells('th', head)}</tr>", *(f"<tr>{cells('td', row)}</tr>" for row in rows)]
    return f'<div class="scroll" tabindex="0"><table>{"".join(lines)}</table></div>'
