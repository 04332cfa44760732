"""A plan for a terminal of 80 columns: a table of cards, then the settings for each."""

from __future__ import annotations

import textwrap

from rich.cells import cell_len

from stepscope.i18n import Language
from stepscope.report import plan_table
from stepscope.report.plan_table import PlanReport


def render(report: PlanReport, language: Language, *, width: int = 80) -> str:
    """The plan as text."""
    lines = _wrap(plan_table.headline(report, language), width)
    lines += _wrap(plan_table.training_line(report, language), width)
    for note in report.notes:
        lines += _wrap(language.say(note), width)
    parts = " · ".join(f"{label} {size}" for label, size in plan_table.memory_rows(report, language))
    lines += _wrap(language.text("plan-memory", batch=report.training.batch_size, parts=parts), width)
    table = plan_table.rows(report, language)
    label_width = max(cell_len(label) for label, _ in table)
    for first in range(0, len(report.cards), _cards_abreast(table, label_width, width)):
        chosen = slice(first, first + _cards_abreast(table, label_width, width))
        names = [plan.card.name for plan in report.cards[chosen]]
        widths = [
            max(cell_len(name), *(cell_len(cells[chosen][column]) for _, cells in table))
            for column, name in enumerate(names)
        ]
        lines += ["", " " * label_width + _cells(names, widths)]
        lines += [_pad(label, label_width) + _cells(cells[chosen], widths) for label, cells in table]
    for plan in report.cards:
        lines += ["", *_wrap(plan_table.proposal(plan, language), width)]
        lines += [f"  {line}" for line in plan_table.settings_lines(plan)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _cards_abreast(table: list[tuple[str, list[str]]], label_width: int, width: int) -> int:
    widest = max(cell_len(cell) for _, cells in table for cell in cells)
    return max(1, (width - label_width) // (widest + 2))


def _cells(cells: list[str], widths: list[int]) -> str:
    return "".join("  " + " " * (size - cell_len(cell)) + cell for cell, size in zip(cells, widths, strict=True))


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
