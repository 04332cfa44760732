"""What the reports for a terminal have in common: colours of phases, bars, the rows of the ledger, glued units."""

from __future__ import annotations

import re
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stepscope.analysis.report import Report
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.ledger.phases import Phase, PhaseTotal
from stepscope.reading.no_steps import NO_FORMAT
from stepscope.report import wrapping
from stepscope.report.palette import PHASES
from stepscope.report.wording.phases import PhaseCells, phase_cells
from stepscope.report.wording.summary import summary_lines
from stepscope.report.wrapping import GLUE

_BAR = 24
STYLE: dict[Phase, str] = {phase: color.terminal for phase, color in PHASES.items()}
ALARM_STYLE = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_STATE_STYLE = {"running": "bold green", "finished": "bold green", "stopped": "bold yellow", "unknown": "bold"}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
# Rich breaks lines at these, too.
_NO_BREAK = re.compile("[\u00a0\u202f]")
_LEAST_PATH = 12


def paper(width: int, *, color: bool) -> Console:
    """A console that writes into a string."""
    return Console(
        file=StringIO(),
        width=width,
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        legacy_windows=False,
    )


def written(console: Console) -> str:
    """What was written to a `paper`, with one line break at its end."""
    assert isinstance(console.file, StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().replace(GLUE, " ").split("\n")]
    return "\n".join(lines).strip("\n") + "\n"


def glued(text: str) -> str:
    """`text` with numbers kept together with their units."""
    return _NO_BREAK.sub(GLUE, wrapping.glued(text))


def unglued(text: Text) -> Text:
    """`text` for a place where no more lines are broken."""
    plain = text.copy()
    plain.plain = text.plain.replace(GLUE, " ")
    return plain


def head(report: Report, language: Language, width: int) -> list[Text]:
    """The answer in three lines; on the first one, where there is room, the trainer and the log."""
    first, *others = summary_lines(report, language)
    line = Text(glued(first), style=_STATE_STYLE.get(report.state.value, "bold red"))
    name = _name(report, width - cell_len(first) - 2)
    if name:
        line.append(" " * (width - cell_len(first) - cell_len(name)))
        line.append(name, "dim")
    return [line, *(Text(glued(other), style="bold" if not place else "") for place, other in enumerate(others))]


def _name(report: Report, room: int) -> str:
    """Trainer and log in so many cells: of the path the end, as it says more than the beginning."""
    fmt = report.run.format
    # A format that was inferred, or that none was, has no name that would say anything.
    title = f"{fmt.title} · " if fmt.inferred is None and fmt.name != NO_FORMAT.name else ""
    path = redact(", ".join(report.run.paths), 1000)
    for text in (title + path, title + path.rpartition("/")[2], path.rpartition("/")[2]):
        if cell_len(text) <= room:
            return text
    return "…" + path[-(room - 1) :] if room >= _LEAST_PATH else ""


def ledger_rows(report: Report, language: Language, width: int) -> list[Text]:
    """A row with a bar for each phase."""
    cells = [phase_cells(total, language) for total in report.ledger.phases]
    tails = [_tail(total, own, language) for total, own in zip(report.ledger.phases, cells, strict=True)]
    room = max((cell_len(span) for span, basis in tails if basis), default=0)
    names, shares, times = (max(cell_len(row[column]) for row in cells) for column in range(3))
    ends = [_left(span, room) + "  " + basis if basis else span for span, basis in tails]
    bar_width = max(4, min(_BAR, width - names - shares - times - max(map(cell_len, ends)) - 2 - 4 * 2))
    found = []
    for total, row, end in zip(report.ledger.phases, cells, ends, strict=True):
        line = Text("  " + _left(row.name, names) + "  ")
        line.append(_left(bar(total.share, bar_width), bar_width), STYLE.get(total.phase, ""))
        line.append("  " + _right(row.share, shares) + "  " + _right(row.time, times), "bold")
        line.append("  " + end, "dim")
        found.append(line)
    return found


def _tail(total: PhaseTotal, cells: PhaseCells, language: Language) -> tuple[str, str]:
    """The interval of a phase where it is worth showing, and what it rests on; why there is no figure goes first."""
    if total.is_unpriced:
        return cells.basis, ""
    is_wide = total.high_s - total.low_s >= 0.002 * max(total.seconds, 1e-9)
    return cells.span if is_wide and language.is_range(total.low_s, total.high_s, total.seconds) else "", cells.basis


def _left(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def bar(share: float, width: int) -> str:
    """A bar of `share` of `width` cells, to an eighth of a cell; never empty for a share above 0."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")
