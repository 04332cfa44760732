"""A report without a choice of language or width: what `str(report)` and a notebook show."""

from __future__ import annotations

from html import escape

from stepscope.analysis.report import Report
from stepscope.i18n import Language
from stepscope.report import html, terminal

_HEIGHT = 720


def text(report: Report) -> str:
    """The English terminal text, 80 columns wide, without colours."""
    return terminal.render(report, Language.load("en"))


def notebook(report: Report) -> str:
    """The English page in a frame of its own: its styles and scripts stay inside."""
    # A template's text escapes what is put into it by itself; as an attribute it is plain text, escaped once.
    page = escape(str(html.render(report, Language.load("en"))), quote=True)
    return f'<iframe srcdoc="{page}" style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
