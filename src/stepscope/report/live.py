"""A run while it goes, as text: a screen of a dozen lines, or one line where there is no screen.

Everything shown comes from the same report that `explain` gives on the same bytes; lines of the log are cleaned.
"""

from __future__ import annotations

import math

from rich.cells import cell_len

from stepscope.alarms._base import Alarm
from stepscope.forecast.finish import Forecast
from stepscope.i18n import Language
from stepscope.live.pulse import Pulse
from stepscope.live.watch import View
from stepscope.message import Seconds
from stepscope.quote import quote
from stepscope.report import words
from stepscope.report.build import Report
from stepscope.report.terminal import bar

_BLOCKS = "▁▂▃▄▅▆▇█"
# A step this many times as long as a normal one reaches the top of the strip.
_TOP = 32.0
_MARKS = {"evaluation": "E", "checkpoint": "S", "warmup": "W", "data": "D", "gc": "G"}
_SHOWN_ALARMS = 4


def line(view: View, language: Language) -> str:
    """The state in one line."""
    if view.report is None:
        return _now(view, language)
    parts = [words.headline(view.report, language), _now(view, language)]
    end = view.report.forecast
    if isinstance(end, Forecast) and not end.is_finished and view.pulse.doing != "ended":
        parts.append(words.left_text(end, language))
        clock = words.finish_text(view.report, end, language)
        parts += [clock] if clock else []
    return " · ".join(parts)


def screen(view: View, language: Language, *, width: int = 80) -> list[str]:
    """The state as a screen: one string per line, none wider than `width`."""
    report = view.report
    if report is None:
        return [_cut(_now(view, language), width)]
    run = report.run
    right = words.headline(report, language)
    left = f"{run.format.title} · {quote(', '.join(run.paths), 200)}"
    room = width - cell_len(right) - 2
    left = left if cell_len(left) <= room else "…" + left[-max(8, room - 1) :]
    lines = [left + " " * max(2, width - cell_len(left) - cell_len(right)) + right]
    total = run.settings.count("max_steps")
    if total and len(run):
        lines.append(bar(min(1.0, int(run.steps.step[-1]) / total), width).ljust(width, "░"))
    rows = [("live-now", _now(view, language))]
    rows += [("live-left", text) for text in words.finish_lines(report, language)[:1]]
    labels = [language.text(key) for key in ("live-now", "live-left", "live-steps", "live-time", "live-loss")]
    column = max(cell_len(label) for label in labels) + 2
    strip, marks = _strip(report, width - column - 12)
    if strip and report.ledger.step is not None:
        rows.append(("live-steps", f"{strip}  {language.duration(report.ledger.step.typical_s)}"))
        if marks.strip():
            rows.append(("", marks))
    rows.append(("live-time", _shares(report, language)))
    curve, last = _losses(report, width - column - 12)
    if curve:
        rows.append(("live-loss", f"{curve}  {language.number(last, 4)}"))
    for key, text in rows:
        label = language.text(key) if key else ""
        lines.append(_cut(label + " " * (column - cell_len(label)) + text, width))
    card = words.hardware_text(view.hardware, language)
    if view.hardware is not None and card:
        lines.append(_cut(language.text("run-gpu", gpu=view.hardware.gpu or "GPU", details=card), width))
    lines += [_cut(alarm_text(alarm, language), width) for alarm in view.alarms[:_SHOWN_ALARMS]]
    return lines


def _now(view: View, language: Language) -> str:
    text = pulse_text(view.pulse, language)
    return f"{text} · {language.text('live-place', place=quote(view.place))}" if view.place else text


def pulse_text(pulse: Pulse, language: Language) -> str:
    """What the run is doing now, for how long, against how long that usually takes."""
    text = language.text(f"live-{pulse.doing}", duration=Seconds(float(round(max(0.0, pulse.since_s)))))
    if pulse.usual_s and pulse.doing in {"evaluation", "checkpoint"}:
        text += " " + language.text("live-usual", duration=Seconds(pulse.usual_s))
    return text


def alarm_text(alarm: Alarm, language: Language) -> str:
    """An alarm in one line."""
    return f"! {language.say(alarm.message)}"


def _strip(report: Report, width: int) -> tuple[str, str]:
    """The latest steps as a strip of blocks, with the slow ones marked below by a letter for their cause."""
    step, seconds = report.ledger.step, report.run.steps.dur_ns[-width:] / 1e9
    if step is None or not len(seconds) or width < 8:
        return "", ""
    first = len(report.run) - len(seconds)
    causes = {slow.row: _MARKS.get(slow.cause, "?") for slow in report.ledger.slow}
    blocks = []
    for value in seconds.tolist():
        height = math.log(max(value, 1e-9) / max(step.low_s, 1e-9)) / math.log(_TOP)
        blocks.append(_BLOCKS[max(0, min(len(_BLOCKS) - 1, round(height * (len(_BLOCKS) - 1))))])
    marks = "".join(causes.get(first + index, " ") for index in range(len(blocks)))
    return "".join(blocks), marks.rstrip()


def _shares(report: Report, language: Language) -> str:
    return " · ".join(
        f"{language.text(f'phase-{total.phase}')} {language.percent(total.share)}" for total in report.ledger.phases
    )


def _losses(report: Report, width: int) -> tuple[str, float]:
    """The losses of the whole run as a curve of blocks, and the last one."""
    losses = [value for value in report.run.steps.loss.tolist() if math.isfinite(value)]
    if len(losses) < 2 or width < 8:
        return "", 0.0
    size = max(1, math.ceil(len(losses) / width))
    means = [sum(losses[i : i + size]) / len(losses[i : i + size]) for i in range(0, len(losses), size)]
    low, high = min(means), max(means)
    spread = (high - low) or 1.0
    curve = "".join(_BLOCKS[round((mean - low) / spread * (len(_BLOCKS) - 1))] for mean in means)
    return curve, losses[-1]


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[:-1]
    return text + "…"
