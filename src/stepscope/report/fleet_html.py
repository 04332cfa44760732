"""A fleet's report as one page: no network, opens from disk, filters its tables, leads to the pages of its runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stepscope.core.message import Share
from stepscope.core.redact import redact
from stepscope.fleet.answer import Amount, Cause, FleetReport
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER
from stepscope.report import assets, html, templating
from stepscope.report import fleet_words as words

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST_HOSTS = 200
_LONGEST = 400
# The share of the bar below which a piece is not seen.
_LEAST_SHARE = 0.002


class Part(NamedTuple):
    """A part of the page: sentences, and a table that the filter may search."""

    title: str
    lines: list[str]
    table: Markup | str = ""
    is_filtered: bool = False


def render(report: FleetReport, language: Language, pages: Mapping[int, str] | None = None) -> str:
    """The page. `pages` has the addresses of runs' own pages, by reading."""
    language = language.unbroken()
    script, style = assets.bundle(assets.FOLDER / "fleet.js"), assets.styles()
    title = f"stepscope fleet · {redact(report.store, 200)}"
    link = _linker(pages or {}, [run.uri for run in report.runs])
    content = templating.render(
        "fleet.html",
        language,
        title=title,
        filter=language.text("fleet-filter"),
        head=words.headline(report, language),
        pieces=_pieces(report, language),
        causes=[_cause(one, report, language, link) for one in words.shown_causes(report)],
        parts=_parts(report, language, link),
        document=html.embedded("report", _document(report)),
    )
    return templating.render(
        "base.html",
        language,
        title=title,
        content=content,
        script=script,
        style=style,
        policy=assets.policy(script, style),
    )


def _document(report: FleetReport) -> object:
    from stepscope.report import fleet_json

    return fleet_json.document(report)


def _linker(pages: Mapping[int, str], uris: Sequence[str]) -> Callable[[str, int], str]:
    """A run's name, as a link where it has a page. The folder that holds all the runs is not repeated in each name."""
    from markupsafe import Markup

    # Addresses of buckets are no paths: what they begin with, up to a slash.
    folder = os.path.commonprefix([uri[: uri.rfind("/") + 1] for uri in uris])  # noqa: RUF071
    begin = folder.rfind("/") + 1 if len(uris) > 1 else 0

    def link(uri: str, read_id: int) -> str:
        full = redact(uri, _LONGEST)
        name = redact(uri[begin:], _LONGEST) if uri.startswith(folder[:begin]) else full
        page = pages.get(read_id)
        if page is None:
            return Markup('<span title="{}">{}</span>').format(full, name)
        return Markup('<a href="{}" title="{}">{}</a>').format(page, full, name)

    return link


def _table(rows: Sequence[words.Row], title: str) -> str:
    """A table whose columns but the first are numbers."""
    head, *body = rows
    return html.table(head, body, numbers=set(range(1, len(head))), title=title)


def _pieces(report: FleetReport, language: Language) -> list[tuple[str, float, float, str]]:
    """The bar: what trained, then the causes by their phases; all that are no phase are one piece."""
    whole_s, good = report.total.weighted_s, report.goodput
    if good is None or whole_s <= 0:
        return []
    shares = [("step", good.by_time.value, language.text("phase-step"))]
    own = [one for one in report.causes if one.code in ORDER]
    shares += [(one.code, one.share, words.cause_name(one.code, language)) for one in own]
    rest = sum(one.share for one in report.causes if one.code not in ORDER)
    shares += [
        ("logging", rest, language.text("fleet-other-causes")),
        ("unlogged", good.unexplained, language.text("phase-unlogged")),
    ]
    left, found = 0.0, []
    for phase, share, name in shares:
        if share >= _LEAST_SHARE:
            found.append((phase, left, 100 * share, f"{name} {language.percent(share)}"))
            left += 100 * share
    return found


def _cause(one: Cause, report: FleetReport, language: Language, link: Callable[[str, int], str]) -> dict[str, object]:
    title = words.cause_name(one.code, language)
    head = (language.text("fleet-column-run"), words.unit(report, language), *_money_head(report, language))
    rows = [(link(run.uri, run.read_id), *_amount_cells(run.amount, report, language)) for run in one.runs]
    return {
        "name": title,
        "phase": one.code if one.code in ORDER else "",
        "hours": words.without_money(one.amount, language),
        "money": words.cost(one.amount, report, language),
        "share": language.percent(one.share),
        "width": one.share / max(cause.share for cause in report.causes),
        "spread": language.text("fleet-cause-spread", count=one.num_runs, share=Share(one.share_by_runs)),
        "remedy": words.remedy(one, report, language),
        "rest": list(filter(None, (words.beyond(one, report, language), words.tradeoff(one, report, language)))),
        "table": _table([head, *rows], title),
    }


def _money_head(report: FleetReport, language: Language) -> tuple[str, ...]:
    return (language.text("fleet-column-cost"),) if report.total.money is not None else ()


def _amount_cells(amount: Amount, report: FleetReport, language: Language) -> tuple[str, ...]:
    own = words.hours(amount, language)
    return (own, words.cost(amount, report, language)) if report.total.money is not None else (own,)


def _parts(report: FleetReport, language: Language, link: Callable[[str, int], str]) -> list[Part]:
    found: list[Part] = []
    if report.regressions:
        lines = [words.regression(one, report, language) for one in report.regressions]
        found.append(Part(language.text("fleet-section-regressions"), lines))
    found.append(_hosts(report, language))
    if report.running:
        title = language.text("fleet-section-running", count=len(report.running))
        head, *rows = words.running_rows(list(report.running), language, _LONGEST)
        linked = [(link(one.uri, one.read_id), *row[1:]) for one, row in zip(report.running, rows, strict=True)]
        found.append(Part(title, [], _table([head, *linked], title), is_filtered=True))
    if report.groups:
        title = language.text("fleet-section-by")
        table = _table(words.group_rows(report, list(report.groups), language), title)
        found.append(Part(title, [], table, is_filtered=True))
    found.append(_costliest(report, language, link))
    lines = words.missing_lines(report, language)
    lines += [
        language.text(
            "fleet-unread", count=one.num, reason=f"{words.unread(one, language)} · {redact(one.example, _LONGEST)}"
        )
        for one in report.unread
    ]
    found.append(Part(language.text("fleet-section-missing"), lines))
    return [part for part in found if part.lines or part.table]


def _costliest(report: FleetReport, language: Language, link: Callable[[str, int], str]) -> Part:
    """The runs that lost most, with all that they may be filtered by."""
    title = language.text("fleet-section-runs")
    if not report.runs:
        return Part(title, [])
    names = ("run", "lost", "goodput", "worst", "state", "whose", "host")
    lost, *others = (language.text(f"fleet-column-{name}") for name in names[1:])
    head = (language.text("fleet-column-run"), lost, *_money_head(report, language), *others)
    rows = [
        (
            link(one.uri, one.read_id),
            *_amount_cells(one.lost, report, language),
            language.percent(one.goodput),
            words.cause_name(one.worst, language) if one.worst else "",
            language.text(f"fleet-state-{one.state}"),
            redact(" / ".join(text for text in (one.user, one.project) if text), 80),
            redact(" ".join(one.hosts), 80),
        )
        for one in report.runs
    ]
    numbers = {1, 2, 3} if report.total.money is not None else {1, 2}
    return Part(title, [], html.table(head, rows, numbers=numbers, title=title), is_filtered=True)


def _hosts(report: FleetReport, language: Language) -> Part:
    title = language.text("fleet-section-hosts")
    if not report.hosts:
        return Part(title, [])
    lines = [] if any(host.is_lemon for host in report.hosts) else [words.no_lemon(report, language)]
    table = _table(words.host_rows(list(report.hosts[:_MOST_HOSTS]), language), title)
    return Part(title, lines, table, is_filtered=True)
