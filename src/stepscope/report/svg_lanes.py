"""The lanes of the timeline as SVG: the level on a linear axis, below it the stops as stacks of their parts."""

from __future__ import annotations

import math
from html import escape
from typing import Any, NamedTuple

import numpy as np

from stepscope.analysis.report import Report
from stepscope.columns.statistics import median, quantile
from stepscope.core.units import NS
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER
from stepscope.report.page_data import stops
from stepscope.report.wording.sentence import capital
from stepscope.run.model import Floats

WIDTH, EDGE = 960, 20
_LEFT, _RIGHT = EDGE + 72, WIDTH - EDGE - 16
_LEVEL, _STOPS = 120, 90
_MOST_DOTS, _MOST_BARS = 600, 160
_CUT = 2.5  # a bar that is far longer than most is cut at so many times these
_ORDER = ("step", "warmup", "evaluation", "checkpoint")


class _Plot(NamedTuple):
    """What all lanes share: the language, the colours, and the first and the last step."""

    language: Language
    paint: dict[str, str]
    extent: tuple[float, float]

    def x(self, step: float) -> float:
        """Where a step is."""
        first, last = self.extent
        return _LEFT + 6 + (step - first) / (last - first) * (_RIGHT - _LEFT - 12)

    def text(self, x: float, y: float, text: str, *, anchor: str = "start", color: str = "dim") -> str:
        """Small words."""
        return (
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" fill="{self.paint[color]}">'
            f"{escape(text)}</text>"
        )

    def title(self, text: str, y: float) -> str:
        """The name of a lane."""
        ink = self.paint["ink"]
        return f'<text x="{EDGE + 16}" y="{y}" font-weight="bold" fill="{ink}">{escape(capital(text))}</text>'


class _Scale(NamedTuple):
    """Seconds from bottom to top."""

    low: float
    high: float
    base: float
    tall: float

    def y(self, seconds: float) -> float:
        """Where so many seconds are."""
        return self.base - (seconds - self.low) / (self.high - self.low) * self.tall


def lanes(report: Report, language: Language, paint: dict[str, str], top: float) -> tuple[list[str], float]:
    """The panel with the lanes, and where it ends; nothing for a run without steps."""
    step, steps = report.ledger.step, report.run.steps
    if step is None or not len(steps):
        return [], top - 18
    found = stops(report)
    first, last = float(steps.step.min()), float(steps.step.max())
    plot = _Plot(language, paint, (first, max(last, first + 1.0)))
    bottom = top + 34 + _LEVEL + (58 + _STOPS if found else 0) + 34
    drawn = [
        f'<rect x="{EDGE}" y="{top}" width="{WIDTH - 2 * EDGE}" height="{bottom - top}" rx="10" '
        f'fill="{paint["panel"]}" stroke="{paint["line"]}"/>'
    ]
    drawn += _level(report, plot, top)
    base = top + 34 + _LEVEL
    if found:
        drawn += _stacks(found, plot, base + 24)
        base += 58 + _STOPS
    return drawn + _axis(plot, base), bottom


def _level(report: Report, plot: _Plot, top: float) -> list[str]:
    """Normal steps as dots, of a long run the median of each stretch."""
    step = report.ledger.step
    assert step is not None
    rows = step.rows[step.rows < len(report.run)]
    places, seconds = report.run.steps.step[rows].astype(float), report.run.steps.dur_ns[rows] / NS
    found = [plot.title(plot.language.text("page-lane-level"), top + 22)]
    if not len(seconds):
        return found
    low, high = _range(seconds, [regime.typical_s for regime in step.regimes])
    scale = _Scale(low, high, top + 34 + _LEVEL, _LEVEL)
    found += _grid(scale, plot)
    stretch = max(1, math.ceil(len(seconds) / _MOST_DOTS))
    size = 2 if len(seconds) > 200 else 3
    for first in range(0, len(seconds), stretch):
        value = min(max(float(median(seconds[first : first + stretch])), low), high)
        x, y = plot.x(float(np.mean(places[first : first + stretch]))), scale.y(value)
        found.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{plot.paint["step"]}"/>')
    return found


def _range(seconds: Floats, levels: list[float]) -> tuple[float, float]:
    """As on the page: from a little below the usual to a little above, so that noise does not look like trouble."""
    low = min(quantile(seconds, 0.005), *levels, math.inf)
    high = max(quantile(seconds, 0.985), *levels, 0.0)
    spare = max(0.18 * (high - low), 0.04 * high, 1e-9)
    return max(0.0, low - spare), high + spare


def _stacks(found: list[list[Any]], plot: _Plot, top: float) -> list[str]:
    """Each stop as a stack of its parts; of those that would cover one another the longest."""
    kept: dict[int, tuple[float, list[tuple[str, float]], float]] = {}
    for _, last, _, parts in found:
        own = [(str(phase), float(seconds)) for phase, seconds in parts]
        x, total = plot.x(float(last)), sum(seconds for _, seconds in own)
        column = int((x - _LEFT) / (_RIGHT - _LEFT) * _MOST_BARS)
        if column not in kept or kept[column][2] < total:
            kept[column] = (x, own, total)
    totals = sorted(total for _, _, total in kept.values())
    usual, most = totals[int(0.8 * (len(totals) - 1))], totals[-1] or 1.0
    scale = _Scale(0.0, _CUT * usual if usual > 0 and most > 6 * usual else most * 1.1, top + 34 + _STOPS, _STOPS)
    drawn = [plot.title(plot.language.text("page-lane-stops"), top + 16), *_grid(scale, plot)]
    wide = max(2.0, min(9.0, 0.5 * (_RIGHT - _LEFT) / max(1, len(kept))))
    for x, own, total in kept.values():
        y = scale.base
        for phase, seconds in sorted(own, key=lambda part: _ORDER.index(part[0]) if part[0] in _ORDER else 9):
            tall = seconds / max(total, scale.high) * _STOPS
            y -= tall
            drawn.append(
                f'<rect x="{x - wide / 2:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" '
                f'fill="{plot.paint[phase]}"/>'
            )
        if total > scale.high:
            anchor = "start" if x < _LEFT + 40 else "end" if x > _RIGHT - 40 else "middle"
            drawn.append(plot.text(x, y - 4, plot.language.duration(total), anchor=anchor, color="ink"))
    return drawn + _legend({phase for _, own, _ in kept.values() for phase, _ in own}, plot, top + 16)


def _legend(shown: set[str], plot: _Plot, y: float) -> list[str]:
    found, x = [], float(EDGE + 16 + len(plot.language.text("page-lane-stops")) * 8.2 + 16)
    for phase in ORDER:
        name = plot.language.text(f"phase-{phase}")
        if phase not in shown or x + 14 + 7.4 * len(name) > WIDTH - EDGE:
            continue
        color = plot.paint[phase]
        found.append(f'<rect x="{x:.0f}" y="{y - 9}" width="10" height="10" rx="2" fill="{color}"/>')
        found.append(plot.text(x + 15, y, name))
        x += 30 + 7.0 * len(name)
    return found


def _grid(scale: _Scale, plot: _Plot) -> list[str]:
    found, ticks = [], _round_ticks(scale.low, scale.high)
    for value in ticks:
        y = scale.y(value)
        found.append(f'<path d="M{_LEFT} {y:.1f}H{_RIGHT}" stroke="{plot.paint["line"]}"/>')
        found.append(plot.text(_LEFT - 8, y + 4, _tick(value, ticks, plot.language), anchor="end"))
    return found


def _tick(value: float, ticks: list[float], language: Language) -> str:
    """A value of an axis in the unit of all of them, with as many digits as tell them apart."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else ticks[0] or 1.0
    units = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
    size, unit = next((one for one in units if ticks[-1] >= one[0] * (1 if one[0] <= 1 else 2)), units[-1])
    digits = max(0, -math.floor(math.log10(step / size) + 1e-9))
    if size > 1 and step % size:
        size, unit, digits = 1.0, "s", 0
    return f"{language.number(value / size, digits)} {unit}"


def _round_ticks(low: float, high: float) -> list[float]:
    """Three to six round values between two durations."""
    rough = (high - low) / 4
    size = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough)
    if rough > 10:
        step = next((k for k in (15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400) if k >= rough), step)
    first = math.ceil(low / step - 1e-9)
    return [place * step for place in range(first, first + 8) if place * step <= high]


def _axis(plot: _Plot, base: float) -> list[str]:
    """The first and the last iteration, and what the axis counts."""
    first, last = plot.extent
    number, y = plot.language.number, base + 18
    return [
        plot.text(plot.x(first), y, number(int(first))),
        plot.text((_LEFT + _RIGHT) / 2, y, plot.language.text("slow-column-step"), anchor="middle"),
        plot.text(plot.x(last), y, number(int(last)), anchor="end"),
    ]
