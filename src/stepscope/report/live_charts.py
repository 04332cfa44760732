"""Charts of the live screen: curves of braille dots with an axis, in the rows that are free."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from stepscope.analysis.report import Report
from stepscope.core.units import NS
from stepscope.i18n import Language
from stepscope.run.model import Floats, Run
from stepscope.source.hardware import Hardware

HEIGHT = 8  # of the block: titles, the plots, the axis, its ends
_PLOT = 5
_LEAST_WIDTH = 12
_LEAST_POINTS = 4
_BETWEEN = 2
# From this factor between the ends on, an axis is logarithmic: a stop of 6 s among steps of 170 ms hides their changes.
_LOG_FROM = 4.0
_LEAST_SPREAD = 0.04  # of the level; what differs by less is no hill
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a braille sign, row by row
_BRAILLE = 0x2800
_BLOCKS = "▁▂▃▄▅▆▇█"


class Panels(NamedTuple):
    """What the keys choose: which panels are shown, and how many printed iterations a column of the strip covers."""

    has_log: bool = True
    has_charts: bool = True
    has_advice: bool = True
    span: int = 1

    def wider(self, num_rows: int) -> Panels:
        """Twice as many iterations, as long as there are more."""
        return self if self.span >= num_rows else self._replace(span=self.span * 2)

    def narrower(self) -> Panels:
        """Half as many."""
        return self._replace(span=max(1, self.span // 2))


def charts(report: Report, language: Language, width: int, panels: Panels) -> list[Text]:
    """Step times and, beside them, losses; empty where there are too few of either."""
    own = [_steps_chart, _loss_chart]
    half = (width - _BETWEEN) // 2
    drawn = [chart(report, language, half, panels) for chart in own]
    found = [lines for lines in drawn if lines]
    if len(found) < len(own):
        alone = next((chart for chart, lines in zip(own, drawn, strict=True) if lines), None)
        return alone(report, language, width, panels) if alone is not None else []
    return [
        Text.assemble(left, " " * (half - left.cell_len + _BETWEEN), right) for left, right in zip(*found, strict=True)
    ]


def _steps_chart(report: Report, language: Language, width: int, panels: Panels) -> list[Text]:
    steps = report.run.steps
    room = 2 * _plot_width(width) * panels.span
    rows = np.flatnonzero(steps.span > 0)[-max(1, room) :]
    seconds = steps.dur_ns[rows] / NS
    ends = (int(steps.step[rows[0]]), int(steps.step[rows[-1]])) if len(rows) else (0, 0)
    top = float(seconds.max(initial=0.0))
    # An even axis has one unit; from milliseconds to minutes, each label has its own.
    scale = top if top <= _LOG_FROM * float(seconds.min(initial=top)) else None
    return _chart(
        language.text("live-chart-steps"),
        seconds,
        middle=np.max,
        written=lambda value: language.duration(value, scale),
        ends=ends,
        language=language,
        width=width,
        style="green",
    )


def _loss_chart(report: Report, language: Language, width: int, panels: Panels) -> list[Text]:
    del panels  # a loss is looked at over the whole run
    run = report.run
    is_known = np.isfinite(run.steps.loss)
    losses, steps = run.steps.loss[is_known], run.steps.step[is_known]
    if not len(steps):
        return []
    evaluated = _validations(run)
    title = language.text("live-chart-loss", loss=language.number(float(losses[-1]), 4))
    if evaluated:
        title = language.text(
            "live-chart-losses",
            loss=language.number(float(losses[-1]), 4),
            val=language.number(evaluated[-1][1], 4),
        )
    ends = int(steps[0]), int(steps[-1])
    return _chart(
        title,
        losses,
        middle=np.mean,
        written=lambda value: language.number(value, 2),
        ends=ends,
        language=language,
        width=width,
        style="blue",
        marks=[(step, loss) for step, loss in evaluated if ends[0] <= step <= ends[1]],
    )


def _validations(run: Run) -> list[tuple[int, float]]:
    """The validation losses, by step."""
    events = run.events
    found = zip(events.step.tolist(), events.val_loss.tolist(), strict=True)
    return [(int(step), float(loss)) for step, loss in found if math.isfinite(loss) and step >= 0]


def _plot_width(width: int) -> int:
    return max(1, width - 9)


def _chart(
    title: str,
    values: Floats,
    *,
    middle: Callable[[Floats], float],
    written: Callable[[float], str],
    ends: tuple[int, int],
    language: Language,
    width: int,
    style: str,
    marks: Sequence[tuple[int, float]] = (),
) -> list[Text]:
    """A curve with its axes in `HEIGHT` lines of `width`; empty where there are too few values or too little room."""
    if len(values) < _LEAST_POINTS or ends[1] <= ends[0]:
        return []
    seen = [*(float(value) for value in values), *(value for _, value in marks)]
    low, high = min(seen), max(seen)
    if high - low < _LEAST_SPREAD * abs(high):
        low, high = low - _LEAST_SPREAD / 2 * abs(high), high + _LEAST_SPREAD / 2 * abs(high)
    is_log = low > 0 and high > _LOG_FROM * low
    between = math.sqrt(low * high) if is_log else (low + high) / 2
    labels = {0: written(high), _PLOT // 2: written(between), _PLOT - 1: written(low)}
    column = max(map(cell_len, labels.values()))
    room = width - column - 1
    if room < _LEAST_WIDTH or high <= low:
        return []

    def height(value: float) -> int:
        """The row of dots of a value, counted from the top."""
        share = math.log(value / low) / math.log(high / low) if is_log else (value - low) / (high - low)
        return round((1 - max(0.0, min(1.0, share))) * (4 * _PLOT - 1))

    plot = _curve([height(value) for value in _columns(values, 2 * room, middle)], room)
    lines = [Text(title, style="bold")]
    for row in range(_PLOT):
        label = labels.get(row, "")
        axis = "┤" if row in labels else "│"
        lines.append(
            Text.assemble((" " * (column - cell_len(label)) + label + axis, "bright_black"), (plot[row], style))
        )
    for step, value in marks:
        place = round((step - ends[0]) / (ends[1] - ends[0]) * (room - 1))
        line = lines[1 + height(value) // 4]
        at = column + 1 + place
        lines[1 + height(value) // 4] = Text.assemble(line[:at], ("●", "yellow"), line[at + 1 :])
    first, last = (language.number(end) for end in ends)
    lines.append(Text(" " * column + "└" + "─" * room, style="bright_black"))
    gap = max(1, room - cell_len(first) - cell_len(last))
    lines.append(Text(" " * (column + 1) + first + " " * gap + last, style="bright_black"))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _columns(values: Floats, num: int, middle: Callable[[Floats], float]) -> list[float]:
    """The values in so many columns: several in one are put together, one may fill several."""
    edges = [index * len(values) // num for index in range(num + 1)]
    return [float(middle(values[start : max(end, start + 1)])) for start, end in pairwise(edges)]


def _curve(heights: list[int], width: int) -> list[str]:
    """Dots at these heights (two columns of dots a sign), each joined to the one before it."""
    signs = [[0] * width for _ in range(_PLOT)]
    before = heights[0]
    for x, y in enumerate(heights):
        low, high = sorted((y, before + (1 if y > before else -1 if y < before else 0)))
        for dot in range(max(0, low), min(4 * _PLOT - 1, high) + 1):
            signs[dot // 4][x // 2] |= _DOTS[dot % 4][x % 2]
        before = y
    return ["".join(chr(_BRAILLE + sign) for sign in row) for row in signs]


def gpu_history(history: Sequence[Hardware], language: Language, width: int) -> list[Text]:
    """How busy the GPU was and how full its memory, as strips from 0 to 100%; empty where too little was seen."""
    strips = [
        ("live-gpu-load", [one.utilisation for one in history]),
        (
            "live-gpu-memory",
            [one.memory_used / one.memory_total if one.memory_used and one.memory_total else None for one in history],
        ),
    ]
    found = []
    for key, values in strips:
        known = [value for value in values if value is not None]
        title = f"  {language.text(key)}"
        room = width - cell_len(title)
        if len(known) < _LEAST_POINTS or room < _LEAST_WIDTH:
            continue
        shown = known[-room:]
        blocks = "".join(_BLOCKS[round(max(0.0, min(1.0, value)) * (len(_BLOCKS) - 1))] for value in shown)
        found.append(Text.assemble((blocks, "magenta"), (title, "bright_black")))
    return found
