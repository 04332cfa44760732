"""The time bar and the strip of step times as one picture, for slides and a README."""

from __future__ import annotations

import math
from html import escape

from stepscope.i18n import Language
from stepscope.report.build import Report
from stepscope.report.words import headline

_WIDTH, _BAR, _STRIP = 960, 36, 150
_COLORS = {
    "step": "#2e7d32",
    "evaluation": "#1565c0",
    "checkpoint": "#8e24aa",
    "warmup": "#ef6c00",
    "data": "#00838f",
    "gc": "#6d4c41",
    "stall": "#c62828",
    "gap": "#757575",
    "unlogged": "#9e9e9e",
}
_MOST_BARS = 480


def render(report: Report, language: Language) -> str:
    """The picture as SVG."""
    title = escape(f"{report.run.format.title} · {headline(report, language)}")
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_BAR + _STRIP + 96}" '
        f'viewBox="0 0 {_WIDTH} {_BAR + _STRIP + 96}" font-family="sans-serif" font-size="14" role="img">',
        f"<title>{title}</title>",
        f'<rect width="{_WIDTH}" height="{_BAR + _STRIP + 96}" fill="#ffffff"/>',
        f'<text x="0" y="18" font-weight="bold" fill="#111111">{title}</text>',
    ]
    pieces += _time_bar(report, language)
    pieces += _strip(report)
    return "\n".join([*pieces, "</svg>"]) + "\n"


def _time_bar(report: Report, language: Language) -> list[str]:
    found, left, legend = [], 0.0, 0.0
    for total in report.ledger.phases:
        width = total.share * _WIDTH
        color = _COLORS.get(total.phase, "#757575")
        label = escape(f"{language.text(f'phase-{total.phase}')} {language.percent(total.share)}")
        found.append(f'<rect x="{left:.1f}" y="30" width="{width:.1f}" height="{_BAR}" fill="{color}"/>')
        found.append(f'<rect x="{legend:.0f}" y="{_BAR + 40}" width="10" height="10" fill="{color}"/>')
        found.append(f'<text x="{legend + 14:.0f}" y="{_BAR + 50}" fill="#333333">{label}</text>')
        left += width
        legend += 30 + 8.2 * len(label)
    return found


def _strip(report: Report) -> list[str]:
    """Step times on a logarithmic scale; of each stretch its slowest, so that no spike is lost."""
    step, seconds = report.ledger.step, report.run.steps.dur_ns / 1e9
    if step is None or not len(seconds):
        return []
    causes = {slow.row: slow.cause for slow in report.ledger.slow}
    size = max(1, math.ceil(len(seconds) / _MOST_BARS))
    low, high = max(step.low_s, 1e-6) / 1.5, max(float(seconds.max()), step.high_s * 2)
    base, width, found = _BAR + 70 + _STRIP, _WIDTH / math.ceil(len(seconds) / size), []
    for index in range(0, len(seconds), size):
        row = index + int(seconds[index : index + size].argmax())
        height = _STRIP * math.log(max(float(seconds[row]), low) / low) / math.log(high / low)
        cause = causes.get(row)
        color = _COLORS["step"] if cause is None else _COLORS.get(cause, _COLORS["stall"])
        x = index / size * width
        found.append(
            f'<rect x="{x:.1f}" y="{base - height:.1f}" width="{max(1.0, width - 0.5):.1f}" height="{height:.1f}" '
            f'fill="{color}"/>'
        )
    return found
