"""The chart of docs/how-accurate.md, drawn from the table that bench/forecast.py writes into docs/accuracy.md."""

from __future__ import annotations

import math
from html import escape

_SHOWN = {"Stepscope": "#3b6fd4", "tqdm 0.3": "#c8553d", "elapsed/done": "#7a7f87", "Keras": "#2a9d8f"}
_NAMES = {"tqdm 0.3": "tqdm (default)", "elapsed/done": "elapsed ÷ done", "Keras": "Keras' bar"}
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 340, 56, 150, 20, 46
_LOW, _HIGH = 0.4, 30.0
_TICKS = (0.5, 1, 2, 5, 10, 20)


def chart(page: str) -> str:
    """Median error of the time left against progress, one line per tool, on a logarithmic axis."""
    cuts, errors = _table(page)
    steps = (_WIDTH - _LEFT - _RIGHT) / (len(cuts) - 1)
    xs = [_LEFT + steps * index for index in range(len(cuts))]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="system-ui, sans-serif" '
        'font-size="13" role="img">',
        "<title>Median error of the time left, by progress</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
    ]
    for tick in _TICKS:
        parts.append(f'<line x1="{_LEFT}" x2="{xs[-1]:.1f}" y1="{_y(tick):.1f}" y2="{_y(tick):.1f}" stroke="#e3e5e8"/>')
        parts.append(_label(_LEFT - 8, _y(tick) + 4, f"{tick:g} %", "end", "#5b6068"))
    parts += [_label(x, _HEIGHT - 24, cut, "middle", "#5b6068") for x, cut in zip(xs, cuts, strict=True)]
    parts.append(_label((xs[0] + xs[-1]) / 2, _HEIGHT - 6, "of the steps done", "middle", "#5b6068"))
    for name, color in _SHOWN.items():
        points = " ".join(f"{x:.1f},{_y(error):.1f}" for x, error in zip(xs, errors[name], strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.5"/>')
        parts.append(_label(xs[-1] + 10, _y(errors[name][-1]) + 4, _NAMES.get(name, name), "start", color))
    return "\n".join([*parts, "</svg>", ""])


def _table(page: str) -> tuple[list[str], dict[str, list[float]]]:
    """The cuts and the errors of each tool, from the first table under "All runs"."""
    head, _, *rows = page.partition("### All runs")[2].strip().split("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("| ").split("|")] for row in rows]
    return [cell.strip() for cell in head.strip("| ").split("|")][1:], {
        own[0]: [float(value) for value in own[1:]] for own in cells if own[0] in _SHOWN
    }


def _y(percent: float) -> float:
    share = math.log(percent / _LOW) / math.log(_HIGH / _LOW)
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _label(x: float, y: float, text: str, anchor: str, color: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'
