"""The report for a terminal of 80 columns: the verdicts first, then the parts."""

from __future__ import annotations

import re
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stepscope.analysis.report import Report
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.ledger.phases import Phase, PhaseTotal
from stepscope.report.gpu import verdict_lines
from stepscope.report.inferred import inferred_lines
from stepscope.report.palette import PHASES
from stepscope.report.wording.change import change_lines, change_scope, no_change_text
from stepscope.report.wording.finish import finish_lines
from stepscope.report.wording.hardware import hardware_details
from stepscope.report.wording.headline import headline, normal_lines, settings_line, unread_text
from stepscope.report.wording.phases import PhaseCells, phase_cells
from stepscope.report.wording.reading import agreement_line, doubt_lines
from stepscope.report.wording.slow import more_slow, part_text, slow_remarks
from stepscope.report.wording.trend import no_slow_text, speed_lines

_SHOWN_SLOW = 6
# Findings that no row of the ledger shows.
_NOT_A_PHASE = frozenset({"after_best", "slower", "lost_work"})
_BAR = 24
STYLE: dict[Phase, str] = {phase: color.terminal for phase, color in PHASES.items()}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
# Replaces a blank at which no line may break, because rich breaks at a no-break space.
_GLUE = "\ue000"
_NUMBER_UNIT = re.compile(r"(?<=\d)[ \u00a0\u202f](?=(?:µs|ms|s|min|h|d|%|GiB|W|°C)(?![\w]))|[\u00a0\u202f]")


def render(report: Report, language: Language, *, width: int = 80, color: bool = False) -> str:
    """The report as text; `color` adds terminal colours and changes no word."""
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        legacy_windows=False,
    )
    _Drawing(report, language, console).draw()
    lines = [line.rstrip() for line in out.getvalue().replace(_GLUE, " ").split("\n")]
    return "\n".join(lines).strip("\n") + "\n"


class _Drawing:
    def __init__(self, report: Report, language: Language, console: Console) -> None:
        self.report = report
        self.language = language
        self.console = console

    def draw(self) -> None:
        self._doubt()
        self._head()
        self._alarms()
        if self.report.has_times:
            self._time()
        if self.report.has_steps:
            self._slow()
        self._finish()
        self._change()
        self._inferred()
        self._read()

    def _section(self, key: str) -> None:
        self.console.print()
        self.console.print(Text(self.language.text(key), style="bold"))

    def _say(self, text: str, style: str = "") -> None:
        self.console.print(Padding(Text(_glued(text), style=style), (0, 0, 0, 2)))

    def _head(self) -> None:
        run, language = self.report.run, self.language
        left, right = f"{run.format.title} · ", headline(self.report, language)
        room = self.console.width - cell_len(right) - cell_len(left) - 2
        path = redact(", ".join(run.paths), 1000)
        # The end of a path says more than its beginning.
        left += path if cell_len(path) <= room else "…" + path[-max(8, room - 1) :]
        gap = " " * max(2, self.console.width - cell_len(left) - cell_len(right))
        self.console.print(Text.assemble((left, "bold"), gap, (right, "bold cyan")))
        for line in [*normal_lines(self.report, language), *speed_lines(self.report, language)]:
            self.console.print(Text(_glued(line)))
        details = hardware_details(self.report, language)
        gpu = self.report.hardware.gpu if self.report.hardware else None
        if gpu and details:
            self.console.print(Text(language.text("run-gpu", gpu=gpu, details=details)))
        for line in verdict_lines(self.report, language):
            self.console.print(Text(_glued(line)))
        settings = settings_line(self.report, language)
        if settings:
            self.console.print(Text(_glued(settings), style="dim"))

    def _doubt(self) -> None:
        lines = doubt_lines(self.report, self.language)
        if not lines:
            return
        self.console.print(Text(_glued(f"! {lines[0]}"), style="bold red"))
        for line in lines[1:-1]:
            self._say(f"- {line}", "yellow")
        self._say(lines[-1])
        self.console.print()

    def _alarms(self) -> None:
        if not self.report.alarms:
            return
        self._section("section-alarms")
        for alarm in self.report.alarms:
            style = {"error": "bold red", "warning": "yellow", "info": "cyan"}[alarm.severity]
            where = f" [{self.language.text('alarm-line', line=alarm.line)}]" if alarm.line else ""
            self._say(f"! {self.language.say(alarm.message)}{where}", style)

    def _time(self) -> None:
        ledger, language = self.report.ledger, self.language
        self._section("section-time")
        cells = [(total, phase_cells(total, language)) for total in ledger.phases]
        rows = [own if _is_wide(total) else own._replace(span="") for total, own in cells]
        wall = language.duration(ledger.wall_s)
        rows.append(PhaseCells(language.text("time-total"), "", wall, "", ""))
        widths = [max(cell_len(row[column]) for row in rows) for column in range(5)]
        room = self.console.width - sum(widths) - 2 - 5 * 2
        bar_width = max(4, min(_BAR, room))
        for total, row in zip(ledger.phases, rows, strict=False):
            line = Text("  " + _left(row[0], widths[0]) + "  ")
            line.append(_left(bar(total.share, bar_width), bar_width), STYLE.get(total.phase, ""))
            line.append("  " + _right(row[1], widths[1]) + "  " + _right(row[2], widths[2]), "bold")
            line.append("  " + _left(row[3], widths[3]) + "  " + row[4], "dim")
            self.console.print(line)
        before = 2 + widths[0] + 2 + bar_width + 2 + widths[1] + 2
        self.console.print(Text(_left("  " + rows[-1][0], before) + _right(wall, widths[2]), "bold"))
        for finding in self.report.findings:
            if finding.code in _NOT_A_PHASE:
                self._say(language.say(finding.message), "yellow")

    def _slow(self) -> None:
        ledger, language = self.report.ledger, self.language
        self._section("section-slow")
        if not ledger.slow:
            self._say(no_slow_text(self.report, language))
            return
        table = Table.grid(padding=(0, 2))
        table.add_column(justify="right", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column()
        shown = sorted(ledger.slow[:_SHOWN_SLOW], key=lambda slow: slow.row)
        for slow in shown:
            parts = " + ".join(part_text(part, language) for part in slow.parts)
            style = "red" if slow.cause == "unexplained" else ""
            table.add_row(
                Text("  " + language.number(slow.step)),
                Text(language.duration(slow.seconds), style="bold"),
                Text(_glued(parts), style=style),
            )
        self.console.print(table)
        hidden = list(ledger.slow[_SHOWN_SLOW:])
        if hidden:
            self._say(more_slow(hidden, language))
        for remark in slow_remarks(self.report, language):
            self._say(remark, "dim")

    def _finish(self) -> None:
        self._section("section-finish")
        lines = finish_lines(self.report, self.language)
        self._say(lines[0], "bold")
        for line in lines[1:]:
            self._say(line)

    def _change(self) -> None:
        self._section("section-change")
        changes = change_lines(self.report, self.language)
        if not changes:
            self._say(no_change_text(self.report, self.language))
            return
        table = Table.grid(padding=(0, 1))
        for number, (line, _, costs) in enumerate(changes, 1):
            table.add_row(Text(f"  {number}.", style="bold"), Text(_glued(line), style="bold"))
            table.add_row("", Text(_glued(costs), style="dim"))
        self.console.print(table)
        self._say(change_scope(self.report, self.language), "dim")

    def _inferred(self) -> None:
        lines = inferred_lines(self.report, self.language)
        if not lines:
            return
        self._section("section-inferred")
        for line in lines:
            self._say(line)

    def _read(self) -> None:
        agreement = agreement_line(self.report, self.language)
        lines = [unread_text(self.report, self.language)] if self.report.run.num_unread else []
        lines += [agreement] if agreement is not None else []
        if lines:
            self.console.print()
        for line in lines:
            self.console.print(Text(_glued(line), style="dim"))


def _glued(text: str) -> str:
    """`text` with numbers kept together with their units."""
    return _NUMBER_UNIT.sub(_GLUE, text)


def _is_wide(part: PhaseTotal) -> bool:
    return part.high_s - part.low_s >= 0.002 * max(part.seconds, 1e-9)


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
