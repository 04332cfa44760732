"""The report for a terminal: on one screen (`screen.py`), or in full: three lines first, then all parts."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from stepscope.analysis.report import Report
from stepscope.i18n import Language
from stepscope.report import screen
from stepscope.report.drawing import ALARM_STYLE, glued, head, ledger_rows, paper, written
from stepscope.report.gpu import verdict_lines
from stepscope.report.inferred import inferred_lines
from stepscope.report.wording.change import change_lines, change_scope, no_change_text
from stepscope.report.wording.finish import finish_lines
from stepscope.report.wording.hardware import hardware_details
from stepscope.report.wording.headline import normal_lines, settings_line, unread_text
from stepscope.report.wording.money import with_money
from stepscope.report.wording.reading import agreement_line, doubt_lines
from stepscope.report.wording.slow import more_slow, part_text, slow_remarks
from stepscope.report.wording.summary import says_line
from stepscope.report.wording.trend import no_slow_text, speed_lines

_SHOWN_SLOW = 6
# Findings that no row of the ledger shows.
_NOT_A_PHASE = frozenset({"after_best", "slower", "lost_work"})


def render(report: Report, language: Language, *, width: int = 80, color: bool = False, full: bool = False) -> str:
    """The report as text, on one screen or in `full`; `color` adds terminal colours and changes no word."""
    if not full:
        return screen.render(report, language, width=width, color=color)
    console = paper(width, color=color)
    _Drawing(report, language, console).draw()
    return written(console)


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
        self.console.print(Padding(Text(glued(text), style=style), (0, 0, 0, 2)))

    def _head(self) -> None:
        language = self.language
        for text in head(self.report, language, self.console.width):
            self.console.print(text)
        lines = [*normal_lines(self.report, language), *speed_lines(self.report, language)]
        if lines:
            self.console.print()
        for line in lines:
            self.console.print(Text(glued(line)))
        details = hardware_details(self.report, language)
        gpu = self.report.hardware.gpu if self.report.hardware else None
        if gpu and details:
            self.console.print(Text(language.text("run-gpu", gpu=gpu, details=details)))
        for line in verdict_lines(self.report, language):
            self.console.print(Text(glued(line)))
        settings = settings_line(self.report, language)
        if settings:
            self.console.print(Text(glued(settings), style="dim"))

    def _doubt(self) -> None:
        lines = doubt_lines(self.report, self.language)
        if not lines:
            return
        self.console.print(Text(glued(f"! {lines[0]}"), style="bold red"))
        for line in lines[1:-1]:
            self._say(f"- {line}", "yellow")
        self._say(lines[-1])
        self.console.print()

    def _alarms(self) -> None:
        if not self.report.alarms:
            return
        self._section("section-alarms")
        for alarm in self.report.alarms:
            style = ALARM_STYLE[alarm.severity]
            has_own = alarm.line and not says_line(alarm)
            where = f" [{self.language.text('alarm-line', line=alarm.line or 0)}]" if has_own else ""
            self._say(f"! {self.language.say(alarm.message)}{where}", style)

    def _time(self) -> None:
        language = self.language
        self._section("section-time")
        for row in ledger_rows(self.report, language, self.console.width):
            self.console.print(row)
        wall = language.duration(self.report.ledger.wall_s)
        self.console.print(Text(f"  {language.text('time-total')}  {wall}", style="bold"))
        for finding in self.report.findings:
            if finding.code in _NOT_A_PHASE:
                self._say(language.say(with_money(self.report, finding.message, finding.seconds)), "yellow")

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
                Text(glued(parts), style=style),
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
            table.add_row(Text(f"  {number}.", style="bold"), Text(glued(line), style="bold"))
            table.add_row("", Text(glued(costs), style="dim"))
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
            self.console.print(Text(glued(line), style="dim"))
