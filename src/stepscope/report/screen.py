"""The answer on one screen of 24 lines: three lines first, then the ledger, slow iterations in groups, what to change.

What does not fit is left to `--full` (`terminal.py`), least important first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from stepscope.alarms._base import Alarm
from stepscope.analysis.report import Report
from stepscope.analysis.slow_groups import SlowGroup, group_slow
from stepscope.core.message import say
from stepscope.forecast.finish import NoForecast
from stepscope.i18n import Language
from stepscope.report.drawing import ALARM_STYLE, glued, head, ledger_rows, paper, written
from stepscope.report.inferred import inferred_in_short
from stepscope.report.wording.change import change_texts, savings_text
from stepscope.report.wording.finish import no_finish_text
from stepscope.report.wording.headline import UNREAD, normal_lines, unread_text
from stepscope.report.wording.money import with_money
from stepscope.report.wording.reading import eta_doubt
from stepscope.report.wording.sentence import capital, ended
from stepscope.report.wording.slow import group_cells, slow_heading
from stepscope.report.wording.summary import DEAD, leading_cost, other_alarms, summary_lines, without_folders
from stepscope.report.wording.trend import short_speed_lines

HEIGHT = 24
_MOST_GROUPS = 4
_MOST_CHANGES = 3
_MOST_ALARMS = 3
_MOST_LINES = 2
_MOST_LINES_OF_TOP = 3  # of each of the first three, which are the answer
_MOST_LINES_OF_COMMAND = 4  # a command that is cut cannot be pasted
_MUCH_UNREAD = 0.1  # of the lines
_LEAST_SHARE = 0.0005  # of the time


# Why there is no forecast, where the line about the time says it.
_SAID_ABOVE = frozenset({"reason-no-total", "reason-no-times", "reason-times-doubt"}) | UNREAD
_ENDS = frozenset({"crash", "oom", "hang", "killed", "interrupted"})
_UNSEEN = frozenset({"after_best", "slower", "lost_work"})  # findings that no row of the ledger shows


@dataclass(kw_only=True)
class _Block:
    """Items of a line or more under a heading. The lightest block gives way first, down to `least` items."""

    items: list[list[Text]]
    weight: int
    least: int = 1
    heading: Text | None = None
    redrawn: Callable[[int], list[list[Text]]] | None = None  # the items once it is known how many there is room for

    @property
    def height(self) -> int:
        """Its lines, with the empty one before it."""
        return sum(len(item) for item in self.items) + (self.heading is not None) + 1


def render(report: Report, language: Language, *, width: int = 80, color: bool = False) -> str:
    """The screen as text; `color` adds terminal colours and changes no word."""
    console = paper(width, color=color)
    screen = _Screen(report, language, width)
    top = screen.top()
    blocks = [block for block in screen.blocks() if block.items]
    _fit(blocks, HEIGHT - len(top) - 1)
    for line in top:
        console.print(line)
    for block in blocks:
        console.print()
        if block.redrawn is not None:
            block.items = block.redrawn(len(block.items))
        if block.heading is not None:
            console.print(block.heading)
        for item in block.items:
            for line in item:
                console.print(line)
    is_about = any("≈" in line.plain for block in blocks for item in block.items for line in item)
    console.print(Text(language.text("screen-more-about" if is_about else "screen-more"), style="dim"))
    return written(console)


def _fit(blocks: list[_Block], room: int) -> None:
    """Take items away until the rest fits: of the lightest block that has more than its least, else whole blocks."""
    while blocks and sum(block.height for block in blocks) > room:
        longer = [block for block in blocks if len(block.items) > block.least]
        if longer:
            min(longer, key=lambda block: block.weight).items.pop()
        else:
            blocks.remove(min(blocks, key=lambda block: block.weight))


class _Screen:
    def __init__(self, report: Report, language: Language, width: int) -> None:
        self.report = report
        self.language = language
        self.width = width

    def top(self) -> list[Text]:
        """The doubt in one line, where there is one, and the answer in three."""
        doubt = eta_doubt(self.report, self.language, has_cost=True)
        most = _MOST_LINES_OF_TOP
        found = self._wrapped(capital(doubt), "bold red", most=most) if doubt is not None else []
        first, *others = head(self.report, self.language, self.width)
        found.append(first)
        for text in others:
            found += self._wrapped(text.plain, str(text.style), most=most)
        return found

    def blocks(self) -> list[_Block]:
        """The rest, in the order in which it is read."""
        found = [self._alarms()]
        if self.report.has_times:
            found.append(self._time())
        if self.report.has_steps:
            found.append(self._slow())
        return [*found, self._change(), self._notes()]

    def _wrapped(self, text: str, style: str = "", *, indent: str = "", most: int = _MOST_LINES) -> list[Text]:
        """`text` in lines of the screen's width, all as far in as `indent`, which begins the first of them.

        Of more than `most`, the last one ends with an ellipsis.
        """
        room = self.width - cell_len(indent)
        lines = list(Text(glued(text), style=style).wrap(paper(room, color=False), room))
        if len(lines) > most:
            last = Text(" ".join(line.plain.rstrip() for line in lines[most - 1 :]), style=style)
            last.truncate(room, overflow="ellipsis")
            lines = [*lines[: most - 1], last]
        blank = " " * cell_len(indent)
        return [Text(blank if place else indent) + line for place, line in enumerate(lines)]

    def _heading(self, key: str) -> Text:
        return Text(self.language.text(key), style="bold")

    def _alarms(self) -> _Block:
        shown = other_alarms(self.report)[:_MOST_ALARMS]
        items = [self._wrapped(f"! {self._alarm(alarm)}", ALARM_STYLE[alarm.severity]) for alarm in shown]
        return _Block(items=items, weight=7)

    def _alarm(self, alarm: Alarm) -> str:
        """An alarm; of what ended an earlier process, where in the log that is."""
        text = self.language.say(alarm.message)
        if alarm.code not in _ENDS or alarm.line is None:
            return text
        return self.language.text("summary-cause", line=alarm.line, text=text)

    def _time(self) -> _Block:
        report, language = self.report, self.language
        rows = ledger_rows(report, language, self.width)
        heading = self._heading("section-time")
        heading.append(f" ({language.duration(report.ledger.wall_s)})")
        phases = report.ledger.phases
        # The smallest come last: they give way first. What would be written as 0.0% is left to --full.
        order = sorted(range(len(rows)), key=lambda place: -phases[place].share)
        order = [place for place in order if phases[place].share >= _LEAST_SHARE or phases[place].is_unpriced]
        return _Block(heading=heading, items=[[rows[place]] for place in order], weight=6, least=4)

    def _slow(self) -> _Block:
        groups = group_slow(self.report.run, self.report.ledger.slow)
        return _Block(
            heading=Text(slow_heading(groups, self.report.run, self.language), style="bold"),
            items=self._slow_rows(groups, _MOST_GROUPS + 1),
            weight=3,
            redrawn=lambda room: self._slow_rows(groups, room),
        )

    def _slow_rows(self, groups: list[SlowGroup], room: int) -> list[list[Text]]:
        """The groups in so many lines, the last of them for how many iterations are not shown."""
        is_whole = len(groups) <= min(room, _MOST_GROUPS)
        num = len(groups) if is_whole else max(1, min(room - 1, _MOST_GROUPS))
        rows = [[line] for line in self._group_rows(groups[:num])]
        hidden = sum(len(group.steps) for group in groups[num:])
        if not hidden or room <= len(rows):
            return rows
        return [*rows, [Text("  " + self.language.text("screen-more-lines", count=hidden), style="dim")]]

    def _group_rows(self, groups: list[SlowGroup]) -> list[Text]:
        run, language = self.report.run, self.language
        cells = [group_cells(group, run, language) for group in groups]
        if not cells:
            return []
        widths = [max(cell_len(row[column]) for row in cells) for column in range(2)]
        room = self.width - sum(widths) - 3 * 2
        cells = [group_cells(group, run, language, room=room) for group in groups]
        found = []
        for where, took, parts in cells:
            line = Text("  " + " " * (widths[0] - cell_len(where)) + where)
            line.append("  " + " " * (widths[1] - cell_len(took)) + took, "bold")
            line.append(f"  {parts}")
            line.truncate(self.width, overflow="ellipsis")
            found.append(line)
        return found

    def _change(self) -> _Block:
        changes = change_texts(self.report, self.language, most=_MOST_CHANGES)
        items = [self._wrapped(change, indent=f"  {number}. ") for number, change in enumerate(changes, 1)]
        heading = self._heading("section-change-next" if self._is_for_next_time() else "section-change")
        if items:
            heading.append(f" ({savings_text(self.report, self.language)})", "dim")
        return _Block(heading=heading, items=items, weight=4)

    def _is_for_next_time(self) -> bool:
        """Whether this run is over, and what a change saves would be saved by the next one."""
        state = self.report.state.value
        return state == "finished" or (state in DEAD and not self.report.situation.is_future)

    def _notes(self) -> _Block:
        """What else is worth a line: costs that no phase shows, a changing speed, the normal iteration."""
        report, language = self.report, self.language
        shown = {alarm.code for alarm in other_alarms(report)[:_MOST_ALARMS]}
        hidden = {"slower"} if "slowdown" in shown else set()
        if sum(alarm.code == "restarted" for alarm in report.alarms) == 1 and "restarted" in shown:
            hidden |= {"lost_work"}
        led = leading_cost(report)
        unseen = [one for one in report.findings if one is not led and one.code in _UNSEEN - hidden]
        texts = [language.say(with_money(report, one.message, one.seconds)) for one in unseen]
        said = summary_lines(report, language)[-1]  # two speeds may be what is said first
        speeds = [text.removeprefix(said).strip() for text in short_speed_lines(report, language)]
        texts += [*normal_lines(report, language)[:1], *filter(None, speeds)]
        if report.run.num_unread > _MUCH_UNREAD * report.run.num_lines:
            text = unread_text(report, language)
            texts.append(ended(text))
        if report.state.value == "stopped" and report.has_times:
            evidence = report.state.evidence
            words = evidence.args.get("text")
            if isinstance(words, str):
                evidence = say(evidence.key, text=without_folders(words))
            text = capital(language.say(evidence))
            texts.append(ended(text))
        end = report.forecast
        is_said = said == capital(language.say(end.reason)) if isinstance(end, NoForecast) else True
        is_over = report.has_ended or report.state.value == "stopped"
        if isinstance(end, NoForecast) and end.reason.key not in _SAID_ABOVE and not is_over and not is_said:
            texts += [no_finish_text(report, end, language)]
        items = [self._wrapped(text, "dim") for text in texts]
        inferred = inferred_in_short(report, language)
        if inferred is not None:
            # First, because the last ones give way first: what no format knows may have been misunderstood.
            items.insert(0, self._wrapped(inferred, "dim", most=_MOST_LINES_OF_COMMAND))
        return _Block(items=items, weight=2)
