"""The report as one page: no network, opens from disk, prints, light and dark, readable on a phone.

Every word is put on the page here and in the `page_*` modules, escaped by the templates; the script only draws what is
in the page's own JSON. A Content-Security-Policy allows just that script, by its hash.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepscope.analysis.report import Report
from stepscope.core.redact import redact
from stepscope.core.unseen import to_json
from stepscope.i18n import Language
from stepscope.report import assets, page_data, page_findings, page_head, page_tabs, page_timeline, templating
from stepscope.report import json as document
from stepscope.report.wording.reading import doubt_lines


def render(report: Report, language: Language, *, above: str = "") -> str:
    """The page. `above` is markup that comes first."""
    language = language.unbroken()
    title = f"{report.run.format.title} · {redact(', '.join(report.run.paths), 200)}"
    return page(title, above + body(report, language), language)


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
    language = language.unbroken()
    drawn = page_data.data(report, language)
    blocks = [
        page_head.header(report, language, name),
        _doubt(report, language),
        page_head.cards(report, language),
        page_head.alarms(report, language),
        page_findings.findings(report, language, drawn),
        page_timeline.timeline(report, language, drawn) if report.has_steps else "",
        page_tabs.tabs(report, language, drawn),
        embedded("data", drawn),
        embedded("report", document.document(report)),
    ]
    return '<div class="run">\n' + "\n".join(block for block in blocks if block) + "\n</div>"


def embedded(name: str, content: object) -> str:
    """Data for the page's script, and for the reader who saved the page: it holds the JSON document too."""
    text = to_json(content)
    # Inside a script element only "</" could end it.
    return f'<script type="application/json" id="{name}">{text.replace("<", chr(92) + "u003c")}</script>'


def _doubt(report: Report, language: Language) -> str:
    found = doubt_lines(report, language)
    return templating.render("run_doubt.html", language, first=found[0], lines=found[1:]) if found else ""


def legend(shape: str, text: str) -> str:
    """One entry of a legend: `shape` is markup of ten by ten units."""
    return templating.component("mark", shape, text)


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
