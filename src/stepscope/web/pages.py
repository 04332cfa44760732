"""The pages that only the app has: the list of runs, a comparison, an error. A run's own page is `report/html.py`."""

from __future__ import annotations

import datetime as dt
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlencode

from stepscope.analysis.compare import Align, Comparison
from stepscope.analysis.report import Report
from stepscope.core.errors import StepscopeError
from stepscope.core.redact import redact
from stepscope.core.unseen import visible
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER
from stepscope.report import assets, comparison_html, html, templating
from stepscope.report.wording.sentence import capital
from stepscope.run.deaths import DeathKind
from stepscope.web import overlay, rows
from stepscope.web.facts import Facts
from stepscope.web.summary import summarize

_POLICY = "; connect-src 'self'; form-action 'self'"
_HERE = Path(__file__).parent
_TEMPLATES = (_HERE / "templates",)
MOST_COMPARED = 8
STATES = ("running", "stalled", *get_args(DeathKind), "finished", "stopped", "unknown", "unread")
_EARLY = dt.datetime(2000, 1, 1, 3, 27)
_INSTEAD = (
    *("reason-no-total", "reason-implausible-total", "reason-no-total-unread"),
    *("page-no-total", "summary-each-no-total-mean"),
    *("summary-so-far-no-total", "summary-each-no-total", "error-no-such-file", "error-compare-needs-two"),
)
_DOING = ("waiting", "warmup", "training", "evaluation", "checkpoint", "stalled", "closing", "finished", "ended")
# Messages with holes that the browser fills.
_FRAMES = {
    "app-count": ("shown", "total"),
    "app-reading": ("read", "found"),
    "app-others": ("count",),
    "app-unreadable": ("count",),
    "app-chosen": ("count",),
    "app-files": ("count",),
    "app-progress": ("step", "total"),
    "app-left-at": ("time",),
    "app-ran": ("duration",),
    "app-best-at": ("step",),
    "app-notice-state": ("name", "state"),
    "app-title-running": ("count",),
    "live-usual": ("duration",),
}
_WORDS = (
    *("app-all", "app-now-live", "app-now-off", "app-offline", "app-most", "app-choose-more"),
    *("app-no-match", "app-alarms", "app-notify-on", "app-notify-off", "app-notify-denied", "app-dismiss"),
    *("web-failed", "app-copied", "app-no-folder", "app-overdue", "app-no-total"),
)


@cache
def script() -> str:
    """What the app's pages do beyond the report's."""
    return (
        f"(() => {{\n{assets.bundle(_HERE / 'page' / 'app.js')}}})();\n"  # the page's own modules have the same names
    )


@cache
def style() -> str:
    """How they look."""
    return (_HERE / "page" / "app.css").read_text(encoding="utf-8")


def page(title: str, content: str, language: Language) -> str:
    """A page of the app."""
    return html.page(title, content, language, extra_script=script(), extra_style=style(), policy=_POLICY)


def list_page(folder: Path, language: Language) -> str:
    """The list of runs as it is before any is known: the script fills it."""
    content = templating.render(
        "list.html",
        language,
        folders=_TEMPLATES,
        folder=visible(folder.name or str(folder)),
        path=visible(str(folder)),
        words=html.embedded("words", words(language)),
        columns=("state", "run", "trainer", "progress", "step", "left", "overhead", "loss", "time", "updated"),
        facts=Facts(),
    )
    return page("Stepscope", content, language)


def words(language: Language) -> dict[str, Any]:
    """Every word that the scripts put on a page; holes in braces."""

    def frame(key: str, *holes: str) -> str:
        return language.text(key, **{hole: f"{{{hole}}}" for hole in holes})

    return {
        **{key: frame(key, *holes) for key, holes in _FRAMES.items()},
        **{key: language.text(key) for key in _WORDS},
        "states": {state: language.text(f"app-state-{state.replace('_', '-')}") for state in STATES},
        "doing": {doing: frame(f"live-{doing}", "duration") for doing in _DOING},
        "phases": {phase: language.text(f"phase-{phase}") for phase in ORDER},
        "number": _number_style(language),
    }


def run_page(key: str, name: str, report: Report, facts: Facts, language: Language) -> str:
    """A run's page, which keeps itself up to date; `key` stands for it in addresses."""
    content = templating.render(
        "run.html",
        language,
        folders=_TEMPLATES,
        key=key,
        facts=facts,
        lacks_total=lacks_total(report),
        words=html.embedded("words", words(language)),
        run=fragment(name, report, language),
    )
    return page(redact(name, 200), content, language)


def fragment(name: str | None, report: Report, language: Language) -> str:
    """The part of a run's page that changes as its log grows."""
    now = html.embedded("now", rows.about(summarize(report, language)))
    return html.body(report, language, name=name) + now


def lacks_total(report: Report) -> bool:
    """Whether nothing says how many iterations the run is to have, and it is not over."""
    total = report.run.settings.get("max_steps")
    return not report.has_ended and (total is None or total.origin == "default")


def comparison_page(
    comparison: Comparison,
    named: list[tuple[str, Report]],
    language: Language,
    *,
    keys: list[str],
    untimed: list[str],
    asked: Align,
) -> str:
    """A comparison, by the step or by the token, with the curves of its runs; `untimed` could not be compared."""
    links = []
    for align, text in (("step", "compare-unit-steps"), ("tokens", "compare-unit-tokens")):
        query = urlencode([*(("path", key) for key in keys), ("align", align)], errors="surrogateescape")
        links.append((query, language.text(text), align == comparison.align))
    drawn = [{"name": redact(name, 200), **overlay.curves(report)} for name, report in named]
    notes = [] if asked == comparison.align else [language.text("compare-no-tokens")]
    if untimed:
        notes.append(language.text("app-left-out", names=", ".join(redact(name, 200) for name in untimed)))
    has = {axis: any(run[kind][axis] for run in drawn for kind in ("took", "loss")) for axis in ("tokens", "time")}
    picture = templating.render("overlay.html", language, folders=_TEMPLATES, has=has)
    content = templating.render(
        "compare.html",
        language,
        folders=_TEMPLATES,
        links=links,
        notes=notes,
        words=html.embedded("words", words(language)),
        curves=html.embedded("curves", drawn),
        comparison=comparison_html.body(comparison, language, after_head=picture),
    )
    return page(language.text("web-compare"), content, language)


def error_page(problem: StepscopeError, language: Language) -> str:
    """A page that says what is wrong and leads back."""
    content = templating.render("error.html", language, folders=_TEMPLATES, said=error_text(problem, language))
    return page("Stepscope", content, language)


def error_text(problem: StepscopeError, language: Language) -> str:
    """What happened and what to do, as markup."""
    args = {
        name: value if isinstance(value, int) else redact(str(value)) for name, value in problem.args_for_text.items()
    }
    args.setdefault("place", redact(problem.place or "-"))
    key = f"error-{problem.key}"
    hint = language.hint(key, **args)
    lines = [f'<p class="alarm">{escape(capital(language.text(key, **args)))}</p>']
    return "".join([*lines, f"<p>{escape(capital(hint))}</p>" if hint else ""])


def for_readers_of_a_page(language: Language) -> Language:
    """The language where sentences that would name a flag of the command name the page's own fields."""
    return language.replaced({key: f"app-instead-{key}" for key in _INSTEAD})


def _number_style(language: Language) -> dict[str, Any]:
    return {
        "pads_hours": language.clock(_EARLY, _EARLY).startswith("0"),
        "least_grouped": int(language.text("number-least-grouped")),
        "day": language.text("unit-day"),
    }
