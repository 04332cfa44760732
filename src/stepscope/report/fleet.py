"""A fleet's report for a terminal: the answer first, then where the hours went, what to do, and what stands out."""

from __future__ import annotations

from rich.cells import cell_len

from stepscope.fleet.answer import FleetReport
from stepscope.i18n import Language
from stepscope.report import fleet_words as words
from stepscope.report.wrapping import wrap

_MOST_CAUSES, _MOST_HOSTS, _MOST_ROWS, _MOST_CHANGES = 12, 8, 12, 6
_INDENT = "  "
_LEAST_COLUMN = 8


def render(report: FleetReport, language: Language, *, width: int = 80) -> str:
    """The report as plain text."""
    page = _Page(width)
    page.paragraph(words.headline(report, language), indent="")
    _causes(page, report, language)
    _regressions(page, report, language)
    _hosts(page, report, language)
    _running(page, report, language)
    if report.groups:
        page.title(language.text("fleet-section-by"))
        page.table(words.group_rows(report, list(report.groups[:_MOST_ROWS]), language))
        page.more(len(report.groups) - _MOST_ROWS, language)
    _missing(page, report, language)
    return page.text()


def _causes(page: _Page, report: FleetReport, language: Language) -> None:
    if not report.causes:
        return
    page.title(language.text("fleet-section-causes"))
    head, *rows = words.cause_rows(report, language)
    page.table([head, *rows[:_MOST_CAUSES]])
    page.more(len(rows) - _MOST_CAUSES, language)
    page.title(language.text("fleet-section-advice"))
    for cause in words.shown_causes(report)[:_MOST_CAUSES]:
        page.paragraph([words.labelled_remedy(cause, report, language)], hang=True)
        for rest in (words.beyond(cause, report, language), words.tradeoff(cause, report, language)):
            if rest:
                page.paragraph([rest], indent=_INDENT * 2)
        worst = cause.runs[0]
        at = words.with_unit(worst.amount, report, language)
        room = page.width - 4 - cell_len(language.text("fleet-most-in", run="", amount=at))
        run = words.short(worst.uri, max(12, room))
        page.paragraph([language.text("fleet-most-in", run=run, amount=at)], indent=_INDENT * 2)


def _regressions(page: _Page, report: FleetReport, language: Language) -> None:
    if report.regressions:
        page.title(language.text("fleet-section-regressions"))
        for one in report.regressions[:_MOST_CHANGES]:
            page.paragraph([words.regression(one, report, language)], hang=True)
        page.more(len(report.regressions) - _MOST_CHANGES, language)


def _hosts(page: _Page, report: FleetReport, language: Language) -> None:
    if not report.hosts:
        return
    page.title(language.text("fleet-section-hosts"))
    lemons = [host for host in report.hosts if host.is_lemon]
    if not lemons:
        page.paragraph([words.no_lemon(report, language)])
        return
    page.table(words.host_rows(lemons[:_MOST_HOSTS], language))
    page.more(len(lemons) - _MOST_HOSTS, language)


def _running(page: _Page, report: FleetReport, language: Language) -> None:
    if report.running:
        page.title(language.text("fleet-section-running", count=len(report.running)))
        page.table(words.running_rows(list(report.running[:_MOST_ROWS]), language, 34))
        page.more(len(report.running) - _MOST_ROWS, language)


def _missing(page: _Page, report: FleetReport, language: Language) -> None:
    missing = words.missing_lines(report, language)
    if not missing and not report.unread:
        return
    page.title(language.text("fleet-section-missing"))
    for line in missing:
        page.paragraph([line], hang=True)
    for one in report.unread[:_MOST_ROWS]:
        page.paragraph([language.text("fleet-unread", count=one.num, reason=words.unread(one, language))], hang=True)
        page.paragraph([words.short(one.example, page.width - 4)], indent=_INDENT * 2)


class _Page:
    """Lines of at most `width` columns."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._lines: list[str] = []

    def title(self, text: str) -> None:
        """The name of a part."""
        self._lines += ["", text]

    def paragraph(self, texts: list[str], *, indent: str = _INDENT, hang: bool = False) -> None:
        """Sentences, each from a new line on."""
        for text in texts:
            after = indent + _INDENT * hang
            self._lines += wrap(text, self.width, first=indent, rest=after)

    def table(self, rows: list[words.Row]) -> None:
        """Columns, the first aligned left; the widest are cut where there is no room."""
        widths = [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))]
        while sum(widths) + 2 * len(widths) > self.width and max(widths) > _LEAST_COLUMN:
            widths[widths.index(max(widths))] -= 1
        for row in rows:
            cells = [_cut(cell, size) for cell, size in zip(row, widths, strict=True)]
            padded = [cells[0] + " " * (widths[0] - cell_len(cells[0]))]
            padded += [" " * (size - cell_len(cell)) + cell for cell, size in zip(cells[1:], widths[1:], strict=True)]
            self._lines.append((_INDENT + "  ".join(padded)).rstrip())

    def more(self, count: int, language: Language) -> None:
        """How many rows are not shown."""
        if count > 0:
            self._lines.append(_INDENT + language.text("screen-more-lines", count=count).strip())

    def text(self) -> str:
        """All of it."""
        return "\n".join(self._lines) + "\n"


def _cut(text: str, width: int) -> str:
    """The text, cut at its end where it is too wide."""
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) > width - 1:
        text = text[:-1]
    return text + "…"
