"""The picture of `svg.py` as pixels, where an SVG cannot be used."""

from __future__ import annotations

from stepscope.analysis.report import Report
from stepscope.core.errors import UsageError
from stepscope.i18n import Language
from stepscope.report import svg
from stepscope.report.palette import Theme

# Two pixels for one: sharp on today's screens, and wide enough for a slide.
_ZOOM = 2


def render(report: Report, language: Language, theme: Theme = "light") -> bytes:
    """The picture as PNG."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise UsageError("needs-extra", place="--format png", extra="png") from None
    return bytes(svg_to_bytes(svg_string=svg.render(report, language, theme), zoom=_ZOOM))
