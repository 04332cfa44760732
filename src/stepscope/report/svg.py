"""The time bar and the strip of step times as one picture, for slides and a README."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

import numpy as np

from stepscope.analysis.report import Report
from stepscope.i18n import Language
from stepscope.report.palette import PHASES, SURFACES
from stepscope.report.wording.headline import headline
from stepscope.report.wording.slow import drawn_phase

_WIDTH, _EDGE, _BAR, _STRIP = 960, 20, 34, 150
_AXIS = 70  # room left of the strip, for its labels
_INK, _DIM, _LINE = (SURFACES[name].light for name in ("ink", "dim", "line"))
_MOST_BARS = 480
# No fonts can be measured here: a letter of 13 px is hardly ever wider.
_LETTER = 7.6


def render(report: Report, language: Language) -> str:
    """The picture as SVG."""
    title = escape(f"{report.run.format.title} · {headline(report, language)}")
    bar, below = _time_bar(report, language)
    strip, bottom = _strip(report, language, below + 16)
    height = bottom + _EDGE
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" font-family="DejaVu Sans, Arial, sans-serif" font-size="13" role="img">',
            f"<title>{title}</title>",
            f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
            f'<text x="{_EDGE}" y="34" font-size="16" font-weight="bold" fill="{_INK}">{title}</text>',
            *bar,
            *strip,
            "</svg>\n",
        ]
    )


def _time_bar(report: Report, language: Language) -> tuple[list[str], int]:
    """The bar and its legend, and where they end."""
    found, left, x, y = [], float(_EDGE), float(_EDGE), 52 + _BAR + 22
    for total in report.ledger.timed_phases:
        width = total.share * (_WIDTH - 2 * _EDGE)
        color = PHASES[total.phase].light
        label = f"{language.text(f'phase-{total.phase}')} {language.percent(total.share)}"
        found.append(f'<rect x="{left:.1f}" y="52" width="{width:.1f}" height="{_BAR}" fill="{color}"/>')
        left += width
        if x + 16 + _LETTER * len(label) > _WIDTH - _EDGE:
            x, y = float(_EDGE), y + 20
        found.append(f'<rect x="{x:.0f}" y="{y - 10}" width="10" height="10" fill="{color}"/>')
        found.append(f'<text x="{x + 16:.0f}" y="{y}" fill="{_INK}">{escape(label)}</text>')
        x += 38 + _LETTER * len(label)
    return found, y


def _strip(report: Report, language: Language, top: int) -> tuple[list[str], int]:
    """Step times on a logarithmic scale with its axes; of each stretch its slowest, so that no spike is lost."""
    step, seconds, steps = report.ledger.step, report.run.steps.dur_ns / 1e9, report.run.steps.step
    if step is None or not len(seconds):
        return [], top
    phases = {slow.row: drawn_phase(slow) for slow in report.ledger.slow}
    low, high = max(step.low_s, 1e-6) / 1.5, max(float(seconds.max()), step.high_s * 2, 2e-6)
    first, last = int(steps.min()), int(steps.max())
    base, num = top + _STRIP, min(_MOST_BARS, len(seconds))
    width = (_WIDTH - _EDGE - _AXIS) / num

    def height(value: float) -> float:
        return _STRIP * math.log(max(value, low) / low) / math.log(high / low)

    found = []
    for value in _decades(low, high):
        y = base - height(value)
        found.append(f'<path d="M{_AXIS} {y:.1f}H{_WIDTH - _EDGE}" stroke="{_LINE}"/>')
        label = escape(_tick(value, language))
        found.append(f'<text x="{_AXIS - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{_DIM}">{label}</text>')
    for place, row in _slowest(steps, seconds, first, last, num):
        color = PHASES[phases.get(row, "step")].light
        found.append(
            f'<rect x="{_AXIS + place * width:.1f}" y="{base - height(float(seconds[row])):.1f}" '
            f'width="{max(1.0, width - 0.5):.1f}" height="{height(float(seconds[row])):.1f}" fill="{color}"/>'
        )
    ends = ((_AXIS, "start", first), (_WIDTH - _EDGE, "end", last))
    name = escape(language.text("slow-column-step"))
    found.append(
        f'<text x="{(_AXIS + _WIDTH - _EDGE) / 2:.0f}" y="{base + 20}" text-anchor="middle" fill="{_DIM}">{name}</text>'
    )
    found += [
        f'<text x="{x}" y="{base + 20}" text-anchor="{anchor}" fill="{_DIM}">{escape(language.number(value))}</text>'
        for x, anchor, value in ends
    ]
    return found, base + 24


def _slowest(steps: np.ndarray, seconds: np.ndarray, first: int, last: int, num: int) -> Iterator[tuple[int, int]]:
    """Per stretch of steps, its place and its slowest row."""
    place = (steps - first) * num // (last - first + 1)
    order = np.lexsort((seconds, place))
    ends = np.flatnonzero(np.diff(place[order], append=num) > 0)
    for row in order[ends].tolist():
        yield int(place[row]), row


def _decades(low: float, high: float) -> list[float]:
    """Where to draw lines: 1, 10, 100 ms, 1 and 10 of everything longer, and threes between where those are few."""
    ladder = [10.0**power for power in range(-9, 1)] + [10.0, 60.0, 600.0, 3600.0, 36_000.0, 360_000.0]
    found = [value for value in ladder if low < value < high]
    if len(found) < 3:
        found = sorted(found + [3 * value for value in ladder if low < 3 * value < high])
    return found


def _tick(seconds: float, language: Language) -> str:
    """A round duration without the digits that a measured one would have."""
    for least, size, unit in ((3600, 3600, "h"), (60, 60, "min"), (1, 1, "s")):
        if seconds >= least:
            return f"{language.number(round(seconds / size))} {unit}"
    return f"{language.number(round(seconds * 1000))} ms" if seconds >= 0.000999 else f"{seconds * 1e6:g} µs"
