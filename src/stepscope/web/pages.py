"""The pages that only the app has: the list of runs, a comparison, an error. A run's own page is `report/html.py`."""

from __future__ import annotations

from html import escape
from pathlib import Path
from urllib.parse import quote as as_address

from stepscope.errors import StepscopeError
from stepscope.forecast.finish import Forecast
from stepscope.i18n import Language
from stepscope.quote import quote
from stepscope.report import html, words
from stepscope.report.build import Report
from stepscope.web.shelf import Entry

_POLICY = "; connect-src 'self'; form-action 'self'"
_SPARK = 40


def script() -> str:
    """What the app's pages do beyond the report's: live updates, dropping and pasting a log."""
    return (Path(__file__).parent / "app.js").read_text(encoding="utf-8")


def page(title: str, content: str, language: Language) -> str:
    """A page of the app."""
    return html.page(title, content, language, extra_script=script(), policy=_POLICY)


def run_page(name: str, report: Report, language: Language) -> str:
    """A run's page, which keeps itself up to date."""
    back = f'<p><a href="/">{escape(language.text("web-all-runs"))}</a></p>'
    live = f'<div id="live" data-path="{escape(name, quote=True)}" hidden></div>'
    return page(name, back + html.body(report, language) + live, language)


def list_page(entries: list[Entry], language: Language) -> str:
    """The runs there are, and a place to drop another."""
    head = [language.text(f"web-column-{name}") for name in ("run", "state", "left", "overhead")]
    rows = [_row(entry, language) for entry in entries]
    cells = "".join(f"<th>{escape(text)}</th>" for text in ["", *head])
    table = f'<div class="scroll" tabindex="0"><table><tr>{cells}</tr>{"".join(rows)}</table></div>'
    compare = f'<p><button type="submit">{escape(language.text("web-compare"))}</button></p>'
    runs = f'<form action="/compare" method="get">{table}{compare}</form>' if rows else ""
    empty = "" if rows else f"<p>{escape(language.text('web-no-runs'))}</p>"
    paste = (
        f"<h2>{escape(language.text('web-paste'))}</h2>\n"
        f'<form id="paste"><label for="text">{escape(language.text("web-paste-hint"))}</label>'
        f'<textarea id="text" name="text" spellcheck="false"></textarea>'
        f'<p><button type="submit">{escape(language.text("web-explain"))}</button></p></form><div id="answer"></div>'
    )
    return page("Stepscope", f"<h1>Stepscope</h1>{runs}{empty}{paste}", language)


def _row(entry: Entry, language: Language) -> str:
    link = f'<a href="/run?path={as_address(entry.name)}">{escape(quote(entry.name, 200))}</a>'
    report = entry.report
    if report is None:
        size = f"{language.number(entry.size / 1e6)} MB"
        return f"<tr><td></td><td>{link}</td><td>{escape(size)}</td><td></td><td></td></tr>"
    end, ledger = report.forecast, report.ledger
    left = words.left_text(end, language) if isinstance(end, Forecast) and not end.is_finished else ""
    steps_s = ledger.seconds("step")
    overhead = language.percent(1 - steps_s / ledger.wall_s) if ledger.wall_s else ""
    name = escape(entry.name, quote=True)
    box = f'<input type="checkbox" name="path" value="{name}" aria-label="{name}">'
    state = words.headline(report, language)
    cells = (f"{link}<br>{_sparkline(report)}", escape(state), escape(left), escape(overhead))
    return f"<tr><td>{box}</td>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _sparkline(report: Report) -> str:
    """The step times as a small picture: of each stretch the slowest."""
    seconds = report.run.steps.dur_ns
    if not len(seconds):
        return ""
    size = max(1, len(seconds) // _SPARK)
    tops = [float(seconds[i : i + size].max()) for i in range(0, len(seconds), size)][:_SPARK]
    high = max(tops) or 1.0
    bars = ""
    for index, top in enumerate(tops):
        height = 19 * (top / high) ** 0.5
        bars += f'<rect class="step" x="{index * 3}" y="{20 - height:.1f}" width="2" height="{height:.1f}"/>'
    return f'<svg aria-hidden="true" width="{3 * _SPARK}" height="20" viewBox="0 0 {3 * _SPARK} 20">{bars}</svg>'


def comparison_page(text: str, language: Language) -> str:
    """A comparison, as the terminal shows it."""
    back = f'<p><a href="/">{escape(language.text("web-all-runs"))}</a></p>'
    return page(language.text("web-compare"), f"{back}<pre>{escape(text)}</pre>", language)


def error_text(problem: StepscopeError, language: Language) -> str:
    """What happened and what to do, as markup."""
    args = {name: quote(str(value)) for name, value in problem.args_for_text.items()}
    args.setdefault("place", quote(problem.place or "-"))
    key = f"error-{problem.key}"
    hint = language.hint(key, **args)
    lines = [f'<p class="alarm">{escape(language.text(key, **args))}</p>']
    return "".join([*lines, f"<p>{escape(hint)}</p>" if hint else ""])
