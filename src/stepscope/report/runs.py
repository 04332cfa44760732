"""The runs of a folder as a table: how each is, how far, the time that matters, what cost most, and how to open one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size

from stepscope import __version__
from stepscope.analysis.findings import CostFinding
from stepscope.analysis.report import Report
from stepscope.core.errors import StepscopeError
from stepscope.core.message import Seconds
from stepscope.core.redact import redact
from stepscope.core.unseen import to_json, visible
from stepscope.forecast.finish import Forecast
from stepscope.i18n import Language
from stepscope.i18n.plain import error_text
from stepscope.reading.folder_runs import FoundRun
from stepscope.report.markdown import escape

SCHEMA = "stepscope.runs/1"
_NAME, _STATE, _DONE, _TIME, _LOST, _COST = range(6)
_LEAST_NAME, _LEAST_COST = 16, 8
_MOST_TEXT = 200
_RIGHT = frozenset({_DONE, _TIME, _LOST})
_NO_PHASE = {"after_best": "runs-cost-after-best", "slower": "runs-cost-slower", "lost_work": "runs-cost-repeated"}


class FolderRun(NamedTuple):
    """A run of a folder: its report, or what is wrong with it."""

    found: FoundRun
    report: Report | None
    problem: StepscopeError | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Its files, as they were asked for."""
        return tuple(source.name for source in self.found.sources)


class Folder(NamedTuple):
    """The newest runs of a folder, and the number of files that were not looked at."""

    path: str
    runs: tuple[FolderRun, ...]
    num_unseen: int


def render(folder: Folder, language: Language, *, width: int = 80) -> str:
    """The table for a terminal."""
    head, *body = rows(folder, language)
    body = [[visible(redact(cell, _MOST_TEXT)) for cell in row] for row in body]
    widths = _fitted([max(map(cell_len, column)) for column in zip(head, *body, strict=True)], width)
    lines = [_title(folder, language), "", *(_line(row, widths) for row in (head, *body)), ""]
    for text in _notes(folder, language, visible):
        lines.append(text)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def render_markdown(folder: Folder, language: Language) -> str:
    """The table as Markdown."""
    head, *body = ([escape(redact(cell, _MOST_TEXT)) for cell in row] for row in rows(folder, language))
    lines = [f"## {escape(_title(folder, language))}", "", "| " + " | ".join(head) + " |"]
    lines += ["|" + "".join("---:|" if column in _RIGHT else "---|" for column in range(len(head)))]
    lines += ["| " + " | ".join(row) + " |" for row in body]
    return "\n".join([*lines, "", *(f"{text}\n" for text in _notes(folder, language, escape))])


def render_json(folder: Folder) -> str:
    """The table as the JSON document `stepscope.runs/1`."""
    return to_json(document(folder), indent=2) + "\n"


def document(folder: Folder) -> dict[str, Any]:
    """The document as plain data."""
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "folder": redact(folder.path),
        "files_unseen": folder.num_unseen,
        "runs": [_data(run) for run in folder.runs],
    }


def rows(folder: Folder, language: Language) -> list[list[str]]:
    """The table, its head first."""
    names = ("run", "state", "done", "time", "lost", "cost")
    return [
        [language.text(f"runs-column-{name}") for name in names],
        *(_row(folder, run, language) for run in folder.runs),
    ]


def name_of(folder: Folder, run: FolderRun) -> str:
    """A run's file below the folder; of several the first with their number."""
    first = os.path.relpath(run.paths[0], folder.path) if folder.path else run.paths[0]
    return f"{first} (+{len(run.paths) - 1})" if len(run.paths) > 1 else first


def _row(folder: Folder, run: FolderRun, language: Language) -> list[str]:
    report = run.report
    if report is None:
        reason = error_text(run.problem, language)[0] if run.problem is not None else language.text("runs-too-large")
        return [name_of(folder, run), "", "", "", "", reason]
    done = _done(report, language)
    return [name_of(folder, run), language.text(f"runs-state-{report.state.value}"), done, *_figures(report, language)]


def _done(report: Report, language: Language) -> str:
    step, total = report.state.step, report.run.settings.count("max_steps")
    if step is None:
        return "–"
    if not total or report.run.settings["max_steps"].origin == "default":
        return language.number(step)
    return language.percent(min(1.0, step / total))


def _figures(report: Report, language: Language) -> tuple[str, str, str]:
    """The time left of a run that may be going on, else what it took; the largest cost, and what for."""
    if not report.has_times:
        return "–", "–", ""
    end = _open_end(report)
    wall = language.duration(report.ledger.wall_s)
    time = language.text("runs-left", left=Seconds(end.remaining_s)) if end is not None else wall
    if not report.findings:
        return time, "–", ""
    largest = report.findings[0]
    label = language.text(_NO_PHASE.get(largest.code, f"phase-{largest.code}"))
    return time, language.duration(largest.seconds), label


def _open_end(report: Report) -> Forecast | None:
    """What is left of a run that may be going on."""
    end = report.forecast
    is_open = report.state.value in {"running", "unknown"} and isinstance(end, Forecast) and not end.is_finished
    return end if is_open and isinstance(end, Forecast) else None


def _title(folder: Folder, language: Language) -> str:
    return language.text("runs-title", count=len(folder.runs), path=redact(folder.path, _MOST_TEXT))


def _notes(folder: Folder, language: Language, safe: Callable[[str], str]) -> list[str]:
    """How to open a run, and what is not in the table."""
    example = next((run for run in folder.runs if run.report is not None), folder.runs[0])
    paths = " ".join(shlex.quote(path) for path in example.paths[:3]) if len(example.paths) <= 3 else _parent(example)
    notes = [language.text("runs-open", command=safe(f"stepscope {redact(paths, _MOST_TEXT)}"))]
    if folder.num_unseen:
        path = safe(redact(shlex.quote(folder.path), _MOST_TEXT))
        notes.append(language.text("runs-more", count=folder.num_unseen, path=path))
    return notes


def _parent(run: FolderRun) -> str:
    return shlex.quote(str(PurePath(run.paths[0]).parent))


def _fitted(widths: list[int], room: int) -> list[int]:
    """Widths that fit: the name gives way down to a readable end, then what cost most."""
    over = sum(widths) + 2 * (len(widths) - 1) - room
    for column, least in ((_NAME, _LEAST_NAME), (_COST, _LEAST_COST)):
        taken = max(0, min(over, widths[column] - least))
        widths[column] -= taken
        over -= taken
    return widths


def _line(row: list[str], widths: list[int]) -> str:
    cells = []
    for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
        if cell_len(cell) > width:
            # Of a path the end says more than the beginning.
            cell = "…" + _end(cell, width - 1) if column == _NAME else set_cell_size(cell, width - 1).rstrip() + "…"  # noqa: PLW2901
        space = " " * max(0, width - cell_len(cell))
        cells.append(space + cell if column in _RIGHT else cell + space)
    return "  ".join(cells)


def _end(text: str, room: int) -> str:
    """The last characters that fit into so many cells."""
    while cell_len(text) > room:
        text = text[1:]
    return text


def _data(run: FolderRun) -> dict[str, Any]:
    report, problem = run.report, run.problem
    found: dict[str, Any] = {"paths": [redact(path) for path in run.paths], "size": run.found.size}
    found["error"] = None if report is not None else problem.key if problem is not None else "too-large"
    if report is None:
        empty = ("format", "state", "step", "max_steps", "wall_s", "typical_s", "remaining_s", "low_s", "high_s")
        return found | dict.fromkeys((*empty, "finish_at", "loss", "best"))
    end = _open_end(report)
    total = report.run.settings.count("max_steps")
    finish = report.finish(end.remaining_s) if end is not None else None
    step, best, times = report.ledger.step, report.best, report.has_times
    return found | {
        "format": report.run.format.name,
        "state": report.state.value,
        "step": report.state.step,
        "max_steps": total,
        "wall_s": report.ledger.wall_s if times else None,
        "typical_s": step.typical_s if step is not None else None,
        "remaining_s": end.remaining_s if end is not None else None,
        "low_s": end.low_s if end is not None else None,
        "high_s": end.high_s if end is not None else None,
        "finish_at": finish.isoformat(timespec="seconds") if finish is not None else None,
        "loss": _loss(report.findings[0]) if report.findings else None,
        "best": {"step": best.step, "val_loss": best.val_loss} if best is not None else None,
    }


def _loss(finding: CostFinding) -> dict[str, Any]:
    return {"code": finding.code, "seconds": finding.seconds, "share": finding.share, "message": str(finding.message)}
