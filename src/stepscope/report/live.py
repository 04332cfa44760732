"""A run while it goes: a screen of a dozen lines, or one line where there is no screen.

Everything shown comes from the same report that `explain` gives on the same bytes; lines of the log are cleaned.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from stepscope.alarms._base import Alarm
from stepscope.analysis.report import Report
from stepscope.core.message import About, Seconds
from stepscope.core.redact import redact
from stepscope.forecast.finish import Forecast
from stepscope.i18n import Language
from stepscope.live.pulse import Pulse
from stepscope.live.watch import View
from stepscope.report.drawing import STYLE, bar, head, unglued
from stepscope.report.live_charts import HEIGHT as CHARTS_HEIGHT
from stepscope.report.live_charts import Panels, charts, gpu_history
from stepscope.report.wording.change import change_texts
from stepscope.report.wording.finish import deadline_lines, finish_lines, finish_text, left_text
from stepscope.report.wording.hardware import hardware_text, hardware_trouble
from stepscope.report.wording.headline import headline
from stepscope.report.wording.summary import alarms_apart
from stepscope.run.model import Run
from stepscope.source.hardware import Hardware

_BLOCKS = "▁▂▃▄▅▆▇█"
# The top of the strip is the longest step in it, but at least and at most this many times a normal one.
_LEAST_TOP, _MOST_TOP = 3.0, 32.0
_MARKS = {"evaluation": "E", "checkpoint": "S", "warmup": "W", "data": "D", "gc": "G"}
_SHOWN_ALARMS = 4
_SHOWN_ADVICE = 2
_COARSE_S = 3.0  # a doubt that leaves no digit behind the seconds
_LEAST_SHARE = 0.0005  # less would be written as nothing
_LEAST_LINES = 3  # of the log, below the charts
_SHOWN_LINES = 5
_LABELS = (
    "live-now",
    "live-left",
    "live-next",
    "live-advice",
    "live-steps",
    "live-time",
    "live-loss",
    "live-gpu",
    "live-log",
)
_NOW_STYLE = {"stalled": "bold red", "ended": "bold red", "finished": "bold green", "training": "green"}
_ALARM_STYLE = {"error": "bold red", "warning": "yellow", "info": "cyan"}
# The separators at which a long row may break.
_BREAK = re.compile(r"(?<= · )|(?<=, )")

Row = tuple[str, Text]


def line(view: View, language: Language) -> str:
    """The state in one line."""
    if view.report is None:
        return _now(view, language)
    parts = [headline(view.report, language), _now(view, language)]
    end = view.report.forecast
    if isinstance(end, Forecast) and not end.is_finished and view.pulse.doing != "ended":
        parts.append(left_text(_now_left(end, view), language))
        clock = finish_text(view.report, end, language)
        parts += [clock] if clock else []
        parts += deadline_lines(view.report, language)
    return " · ".join(parts)


def screen(view: View, language: Language, *, width: int = 80) -> list[str]:
    """The state as a screen: one string per line, none wider than `width`."""
    return [drawn.plain for drawn in draw(view, language, width=width)]


def draw(
    view: View,
    language: Language,
    *,
    width: int = 80,
    height: int | None = None,
    panels: Panels = Panels(),
    history: Sequence[Hardware] = (),
) -> list[Text]:
    """The screen in colours, which add to the words and replace none.

    `height` leaves out the lines that do not fit, and fills free rows: with charts, then with lines of the log.
    `history` is what the GPU was like at the views before.
    """
    report = view.report
    rows: list[Row] = []
    lines: list[Text] = []
    column = max(cell_len(language.text(key)) for key in _LABELS) + 2
    rows.append(("live-now", Text(_now(view, language), style=_NOW_STYLE.get(view.pulse.doing, "yellow"))))
    if report is not None:
        lines += _head(report, language, width)
        if view.pulse.doing != "ended":
            lefts = _left_lines(view, report, language)
            rows += [("" if index else "live-left", Text(text)) for index, text in enumerate(lefts)]
            rows += _next(view, report, language)
        rows += _steps(report, language, width - column, panels.span)
        rows.append(("live-time", _shares(report, language)))
    rows += _gpu(view, language)
    if height is not None:
        rows += [("", text) for text in gpu_history(history, language, width - column)]
    if report is not None and height is not None and panels.has_advice and view.pulse.doing != "ended":
        advice = change_texts(report, language, most=_SHOWN_ADVICE)
        rows += [("" if index else "live-advice", Text(text)) for index, text in enumerate(advice)]
    for key, text in rows:
        lines += _labelled(language.text(key) if key else "", text, column, width)
    for alarm in view.alarms[:_SHOWN_ALARMS]:
        text = Text(alarm_text(alarm, language), style=_ALARM_STYLE[alarm.severity])
        lines += [_cut(piece, width) for piece in _wrapped(text, width, indent=2)]
    if report is not None:
        drawn: list[Text] = []
        if height is not None and panels.has_charts and height - len(lines) > CHARTS_HEIGHT + _LEAST_LINES:
            drawn = charts(report, language, width, panels)
        if not drawn:  # the losses as a strip, where there is no room for their chart
            drawn = [
                piece
                for key, text in _losses(report, language, width - column)
                for piece in _labelled(language.text(key), text, column, width)
            ]
        lines += drawn
    room = _SHOWN_LINES if height is None else height - len(lines) - 1
    if view.last_lines and room > 0 and panels.has_log:
        for index, printed in enumerate(view.last_lines[-room:]):
            label = language.text("live-log") if not index else ""
            lines += _labelled(label, Text(redact(printed, width), style="bright_black"), column, width)[:1]
    return lines if height is None else lines[: max(1, height - 1)]


def end_lines(view: View, language: Language, *, width: int = 80) -> list[Text]:
    """What stays behind when the view is over: the answer in three lines, and the alarms that it does not name."""
    if view.report is None or not len(view.report.run):
        return draw(view, language, width=width)
    lines = [piece for text in head(view.report, language, width) for piece in _wrapped(text, width, indent=2)]
    for alarm in [alarm for alarm in alarms_apart(view.report) if alarm.code != "finished"][:_SHOWN_ALARMS]:
        text = Text(alarm_text(alarm, language), style=_ALARM_STYLE[alarm.severity])
        lines += _wrapped(text, width, indent=2)
    return [unglued(_cut(line, width)) for line in lines]


def keys_lines(language: Language, width: int, *, is_held: bool, has_help: bool) -> list[Text]:
    """What the keys do: in a line, or in sentences."""
    held = [Text(language.text("live-held"), style="bold yellow")] if is_held else []
    if not has_help:
        return [_cut(one, width) for one in (*held, Text(language.text("live-keys"), style="dim"))]
    names = ("quit", "pause", "span", "charts", "advice", "log", "help")
    return [_cut(one, width) for one in (*held, *(Text(language.text(f"live-key-{name}")) for name in names))]


def _now_left(end: Forecast, view: View) -> Forecast:
    """The forecast counted from now, not from the last line: time left runs down between two lines."""
    remaining, low, high = (max(0.0, seconds - view.quiet_s) for seconds in (end.remaining_s, end.low_s, end.high_s))
    return end._replace(remaining_s=remaining, low_s=low, high_s=high)


def _left_lines(view: View, report: Report, language: Language) -> list[str]:
    """When the run will be done, on one line, or why that cannot be said."""
    end = report.forecast
    if not isinstance(end, Forecast) or end.is_finished or report.has_ended:
        return finish_lines(report, language)[:1]
    left, finish = left_text(_now_left(end, view), language), finish_text(report, end, language)
    line = language.text("eta-line", left=left, finish=finish) if finish else left
    return [line, *deadline_lines(report, language)]


def _head(report: Report, language: Language, width: int) -> list[Text]:
    run = report.run
    right = headline(report, language)
    left = f"{run.format.title} · {redact(', '.join(run.paths), 200)}"
    room = width - cell_len(right) - 2
    left = left if cell_len(left) <= room else "…" + left[-max(8, room - 1) :]
    lines = [Text(left + " " * max(2, width - cell_len(left) - cell_len(right)) + right, style="bold")]
    total = run.settings.count("max_steps")
    if total and len(run):
        done = bar(min(1.0, int(run.steps.step[-1]) / total), width)
        lines.append(Text.assemble((done, "cyan"), ("░" * (width - len(done)), "bright_black")))
    return [_cut(drawn, width) for drawn in lines]


def _now(view: View, language: Language) -> str:
    text = pulse_text(view.pulse, language)
    return f"{text} · {language.text('live-place', place=redact(view.place))}" if view.place else text


def pulse_text(pulse: Pulse, language: Language) -> str:
    """What the run is doing now, for how long, against how long that usually takes."""
    text = language.text(f"live-{pulse.doing}", duration=_whole(pulse.since_s))
    if pulse.usual_s and pulse.doing in {"evaluation", "checkpoint"}:
        text += " " + language.text("live-usual", duration=Seconds(pulse.usual_s))
    return text


def _whole(seconds: float) -> About:
    """A duration that is looked at once a second, in whole seconds."""
    whole = float(round(max(0.0, seconds)))
    return About(whole, whole - _COARSE_S, whole + _COARSE_S)


def alarm_text(alarm: Alarm, language: Language) -> str:
    """An alarm in one line."""
    return f"! {language.say(alarm.message)}"


def _next(view: View, report: Report, language: Language) -> list[Row]:
    """When the next evaluation begins, while the run trains on the way to it."""
    every, end = report.run.settings.count("eval_interval"), report.forecast
    if not every or not isinstance(end, Forecast) or end.is_finished or view.pulse.doing != "training":
        return []
    last = end.schedule.last_step
    step = (last // every + 1) * every
    seconds = (step - last) * end.level_s - view.quiet_s
    if step > end.schedule.max_steps or seconds < 1:
        return []
    return [("live-next", Text(language.text("live-next-evaluation", step=step, duration=_whole(seconds))))]


def _steps(report: Report, language: Language, width: int, span: int) -> list[Row]:
    """The latest steps as a strip of blocks, the slow ones marked below by a letter, and what the letters mean.

    Of `span` steps that share a block, the slowest is shown.
    """
    step = report.ledger.step
    typical = f"  {language.duration(step.typical_s)}" if step is not None else ""
    room = width - len(typical)
    seconds = report.run.steps.dur_ns[-max(1, room * span) :] / 1e9
    if step is None or not len(seconds) or room < 8:
        return []
    first = len(report.run) - len(seconds)
    causes: dict[int, str] = _events(report.run, first)
    causes |= {slow.row: slow.cause for slow in report.ledger.slow if slow.row >= first}
    low = max(step.low_s, 1e-9)
    top = min(_MOST_TOP, max(_LEAST_TOP, float(seconds.max()) / low))
    strip, marks = Text(), Text()
    for begin in range(0, len(seconds), span):
        index = begin + int(seconds[begin : begin + span].argmax())
        value = float(seconds[index])
        height = math.log(max(value, 1e-9) / low) / math.log(top)
        block = _BLOCKS[max(0, min(len(_BLOCKS) - 1, round(height * (len(_BLOCKS) - 1))))]
        cause = causes.get(first + index)
        color = _style(cause or "step")
        strip.append(block, style=color)
        marks.append(_MARKS.get(cause, "?") if cause is not None else " ", style=color)
    marks.rstrip()
    strip.append(typical)
    rows = [("live-steps", strip)]
    if causes:
        known = dict.fromkeys(causes[row] if causes[row] in _MARKS else "stall" for row in sorted(causes))
        legend = "  ".join(f"{_MARKS.get(cause, '?')} {language.text(f'phase-{cause}')}" for cause in known)
        rows += [("", marks), ("", Text(legend, style="bright_black"))]
    return rows


def _events(run: Run, first: int) -> dict[int, str]:
    """Rows from `first` on that hold an evaluation or a checkpoint, however short."""
    found: dict[int, str] = {}
    for kind, row in zip(run.events.kind, run.events.row.tolist(), strict=True):
        if first <= row < len(run) and (kind == "evaluation" or (kind == "checkpoint" and row not in found)):
            found[row] = kind
    return found


def _shares(report: Report, language: Language) -> Text:
    found = Text()
    shown = [total for total in report.ledger.timed_phases if total.share >= _LEAST_SHARE]
    for index, total in enumerate(shown):
        found.append(" · " if index else "")
        found.append(f"{language.text(f'phase-{total.phase}')} {language.percent(total.share)}", _style(total.phase))
    return found


def _losses(report: Report, language: Language, width: int) -> list[Row]:
    """The losses of the whole run as a curve of blocks, and the last one."""
    losses = report.run.steps.loss
    losses = losses[abs(losses) < math.inf]
    if len(losses) < 2:
        return []
    last = f"  {language.number(float(losses[-1]), 4)}"
    room = width - len(last)
    if room < 8:
        return []
    size = math.ceil(len(losses) / room)
    means = [float(losses[start : start + size].mean()) for start in range(0, len(losses), size)]
    low, high = min(means), max(means)
    spread = (high - low) or 1.0
    curve = "".join(_BLOCKS[round((mean - low) / spread * (len(_BLOCKS) - 1))] for mean in means)
    return [("live-loss", Text.assemble((curve, "blue"), last))]


def _gpu(view: View, language: Language) -> list[Row]:
    details = hardware_text(view.hardware, language)
    if view.hardware is None or not details:
        return []
    rows = [("live-gpu", Text(f"{redact(view.hardware.gpu or 'GPU', 40)}: {details}"))]
    trouble = hardware_trouble(view.hardware, language)
    return [*rows, ("", Text(trouble, style="yellow"))] if trouble else rows


def _labelled(label: str, text: Text, column: int, width: int) -> list[Text]:
    """A row after its label; the part that does not fit goes below, as far as it can be broken."""
    pieces = _wrapped(text, width - column)
    heads = [label + " " * (column - cell_len(label)), *[" " * column] * (len(pieces) - 1)]
    return [_cut(Text.assemble((head, "bold"), piece), width) for head, piece in zip(heads, pieces, strict=True)]


def _wrapped(text: Text, room: int, *, indent: int = 0) -> list[Text]:
    """The text in lines of `room`, broken after a separator, or between words where that is too long."""
    if cell_len(text.plain) <= room:
        return [text]
    marks: list[int] = []
    begin = 0
    for mark in [*(found.end() for found in _BREAK.finditer(text.plain)), len(text.plain)]:
        if cell_len(text.plain[begin:mark]) > room - indent:
            marks += [begin + found.end() for found in re.finditer(r" (?=\S)", text.plain[begin:mark])]
        marks.append(mark)
        begin = mark
    lines: list[tuple[int, int]] = []
    start = fits = 0
    for mark in marks:
        own = room - (indent if lines else 0)
        if cell_len(text.plain[start:mark].rstrip(" ·,")) > own and fits > start:
            lines.append((start, fits))
            start = fits
        fits = mark
    lines.append((start, len(text.plain)))
    found = []
    for index, (begin, end) in enumerate(lines):
        piece = text[begin:end]
        piece.rstrip()
        if piece.plain.endswith("·"):
            piece.right_crop(1)
            piece.rstrip()
        found.append(Text.assemble(" " * indent, piece) if index and indent else piece)
    return found


def _cut(text: Text, width: int) -> Text:
    if cell_len(text.plain) > width:
        text.truncate(width, overflow="ellipsis")
    return text


def _style(name: str) -> str:
    """The colour of a phase, or of a cause that has the name of a phase."""
    return next((style for phase, style in STYLE.items() if phase == name), "red")
