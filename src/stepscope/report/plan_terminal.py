"""A plan for a terminal of 80 columns: a table of GPUs, then the settings for each."""

from __future__ import annotations

from rich.cells import cell_len

from stepscope.i18n import Language
from stepscope.report import plan_table
from stepscope.report.plan_table import PlanReport
from stepscope.report.wrapping import wrap


def render(report: PlanReport, language: Language, *, width: int = 80) -> str:
    """The plan as text."""
    lines = _wrap(plan_table.headline(report, language), width)
    lines += _wrap(plan_table.training_line(report, language), width)
    for note in report.notes:
        lines += _wrap(language.say(note), width)
    parts = " · ".join(f"{label} {size}" for label, size in plan_table.memory_rows(report, language))
    lines += _wrap(language.text("plan-memory", batch=report.training.batch_size, parts=parts), width)
    names = [plan.gpu.name for plan in report.cards]
    lines += ["", language.text("plan-title-asked")]
    lines += _table(names, plan_table.rows(report, language), width)
    if any(plan.proposed is not None for plan in report.cards):
        lines += ["", language.text("plan-title-proposed")]
        lines += _table(names, plan_table.proposal_rows(report, language), width, first=language.text("plan-now"))
    for text in plan_table.proposal_notes(report, language):
        lines += _wrap(text, width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _table(names: list[str], table: list[tuple[str, list[str]]], width: int, first: str | None = None) -> list[str]:
    """Rows of cells, as many GPUs side by side as fit the width; a first column that is not a GPU is repeated."""
    label_width = max(cell_len(label) for label, _ in table)
    fixed = [] if first is None else [cells[0] for _, cells in table]
    fixed_width = 0 if first is None else 2 + max(cell_len(first), *map(cell_len, fixed))
    columns = [cells[len(fixed) > 0 :] for _, cells in table]
    abreast = _cards_abreast(columns, label_width + fixed_width, width)
    lines = []
    for start in range(0, len(names), abreast):
        chosen = slice(start, start + abreast)
        heads, bodies = names[chosen], [cells[chosen] for cells in columns]
        if first is not None:
            heads, bodies = [first, *heads], [[one, *cells] for one, cells in zip(fixed, bodies, strict=True)]
        widths = [max(cell_len(head), *(cell_len(cells[at]) for cells in bodies)) for at, head in enumerate(heads)]
        lines += [""] if start else []
        lines.append(" " * label_width + _cells(heads, widths))
        lines += [
            _pad(label, label_width) + _cells(cells, widths) for (label, _), cells in zip(table, bodies, strict=True)
        ]
    return lines


def _cards_abreast(columns: list[list[str]], taken: int, width: int) -> int:
    widest = max(cell_len(cell) for cells in columns for cell in cells)
    return max(1, (width - taken) // (widest + 2))


def _cells(cells: list[str], widths: list[int]) -> str:
    return "".join("  " + " " * (size - cell_len(cell)) + cell for cell, size in zip(cells, widths, strict=True))


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _wrap(text: str, width: int) -> list[str]:
    return wrap(text, width, cuts_words=False) or [""]
