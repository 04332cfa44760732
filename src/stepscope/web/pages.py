"""The pages that only the app has: the list of runs, a comparison, an error. A run's own page is `report/html.py`."""

from __future__ import annotations

import itertools
from html import escape
from pathlib import Path
from urllib.parse import quote as as_address

import numpy as np

from stepscope.analysis.compare import Align, Comparison
from stepscope.analysis.report import Report
from stepscope.columns.statistics import distinct
from stepscope.core.errors import StepscopeError
from stepscope.core.redact import redact
from stepscope.forecast.finish import Forecast
from stepscope.i18n import Language
from stepscope.report import comparison_html, html
from stepscope.report.wording.finish import left_text
from stepscope.report.wording.headline import headline
from stepscope.report.wording.slow import drawn_phase
from stepscope.web.run_folder import ListedRun

_POLICY = "; connect-src 'self'; form-action 'self'"
_SPARK = 40
NUMBER = ' class="number"'


def script() -> str:
    """What the app's pages do beyond the report's: live updates, dropping and pasting a log."""
    return (Path(__file__).parent / "app.js").read_text(encoding="utf-8")


def page(title: str, content: str, language: Language) -> str:
    """A page of the app."""
    return html.page(title, content, language, extra_script=script(), policy=_POLICY)


def run_page(key: str, name: str, report: Report, language: Language) -> str:
    """A run's page, which keeps itself up to date; `key` is its name in addresses."""
    back = f'<nav><a href="./">{escape(language.text("web-all-runs"))}</a></nav>'
    live = f'<div id="live" data-path="{escape(key, quote=True)}" hidden></div>'
    return page(
        redact(name, 200), f'{back}{live}<div id="run">{html.body(report, language, name=name)}</div>', language
    )


def list_page(entries: list[ListedRun], language: Language) -> str:
    """The list of runs, and a place to drop another log."""
    head = [language.text(f"web-column-{name}") for name in ("run", "steps", "state", "left", "overhead")]
    cells = "".join(f"<th{NUMBER if index == 4 else ''}>{escape(text)}</th>" for index, text in enumerate(head))
    rows = "".join(_row(entry, language) for entry in entries)
    label = escape(language.text("web-runs"), quote=True)
    choose = f'<th><span class="hidden">{escape(language.text("web-choose"))}</span></th>'
    table = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table class="list">'
        f"<tr>{choose}{cells}</tr>{rows}</table></div>"
    )
    compare = f'<p><button type="submit">{escape(language.text("web-compare"))}</button></p>'
    runs = f'<form action="compare" method="get">{table}{compare}</form>' if entries else ""
    empty = "" if entries else f"<p>{escape(language.text('web-no-runs'))}</p>"
    failed = escape(language.text("web-failed"), quote=True)
    paste = (
        f'<section><h2>{escape(language.text("web-paste"))}</h2>\n<form id="paste"><p><label for="text">'
        f"{escape(language.text('web-paste-hint'))}</label></p>"
        f'<textarea id="text" name="text" spellcheck="false"></textarea><p><button class="main" type="submit">'
        f"{escape(language.text('web-explain'))}</button></p></form></section>"
        f'<div id="answer" aria-live="polite" data-failed="{failed}"></div>'
    )
    return page("Stepscope", f'<h1 class="name">Stepscope</h1>{runs}{empty}{paste}', language)


def _row(entry: ListedRun, language: Language) -> str:
    link = f'<a href="run?path={as_address(entry.key)}">{escape(redact(entry.name, 200))}</a>'
    report = entry.report
    if report is None:
        size = f"{language.number(entry.size / 1e6)} MB"
        return f"<tr><td></td><td>{link}</td><td></td><td>{escape(size)}</td><td></td><td></td></tr>"
    end, ledger = report.forecast, report.ledger
    left = left_text(end, language) if isinstance(end, Forecast) and not end.is_finished else ""
    overhead = language.percent(1 - ledger.seconds("step") / ledger.wall_s) if ledger.wall_s else ""
    name = escape(redact(entry.name, 200), quote=True)
    box = f'<input type="checkbox" name="path" value="{escape(entry.key, quote=True)}" aria-label="{name}">'
    texts = (escape(headline(report, language)), escape(left))
    cells = "".join(f"<td>{cell}</td>" for cell in (box, link, _sparkline(report), *texts))
    label = escape(language.text("web-column-overhead"), quote=True)
    return f'<tr>{cells}<td{NUMBER} data-label="{label}">{escape(overhead)}</td></tr>'


def _sparkline(report: Report) -> str:
    """The step times as a small picture: of each stretch the slowest step, in the colour of its phase."""
    seconds = report.run.steps.dur_ns
    if not len(seconds):
        return ""
    slow = {one.row: drawn_phase(one) for one in report.ledger.slow}
    edges = distinct(np.linspace(0, len(seconds), _SPARK + 1).astype(np.int64))
    rows = [a + int(seconds[a:b].argmax()) for a, b in itertools.pairwise(edges.tolist())]
    high = max(float(seconds[row]) for row in rows) or 1.0
    bars = ""
    for index, row in enumerate(rows):
        height = max(1.0, 22 * (float(seconds[row]) / high) ** 0.5)
        phase = slow.get(row, "step")
        bars += f'<rect class="{phase}" x="{index * 4}" y="{24 - height:.1f}" width="3" height="{height:.1f}"/>'
    return f'<svg aria-hidden="true" width="{4 * _SPARK}" height="24" viewBox="0 0 {4 * _SPARK} 24">{bars}</svg>'


def comparison_page(comparison: Comparison, keys: list[str], asked: Align, language: Language) -> str:
    """A comparison, by the step or by the token."""
    links = [f'<a href="./">{escape(language.text("web-all-runs"))}</a>']
    for align, key in (("step", "compare-unit-steps"), ("tokens", "compare-unit-tokens")):
        query = "&".join(f"path={as_address(key, safe='')}" for key in keys) + f"&align={align}"
        here = ' aria-current="page"' if align == comparison.align else ""
        links.append(f'<a href="compare?{escape(query, quote=True)}"{here}>{escape(language.text(key))}</a>')
    note = "" if asked == comparison.align else f'<p class="dim">{escape(language.text("compare-no-tokens"))}</p>'
    content = f"<nav>{' · '.join(links)}</nav>{note}{comparison_html.body(comparison, language)}"
    return page(language.text("web-compare"), content, language)


def error_text(problem: StepscopeError, language: Language) -> str:
    """What happened and what to do, as markup."""
    args = {name: redact(str(value)) for name, value in problem.args_for_text.items()}
    args.setdefault("place", redact(problem.place or "-"))
    key = f"error-{problem.key}"
    hint = language.hint(key, **args)
    lines = [f'<p class="alarm">{escape(language.text(key, **args))}</p>']
    return "".join([*lines, f"<p>{escape(hint)}</p>" if hint else ""])
