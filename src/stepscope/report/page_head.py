"""The top of the page: which run, how it is, four figures, and what can be taken away.

On a run that died the first two cards are of what it died and what to do, in the words of `wording/summary.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from stepscope.advice._base import paste
from stepscope.analysis.out_of_memory import smaller_batch
from stepscope.analysis.report import Report
from stepscope.columns.statistics import distinct, median
from stepscope.core.message import About, Range, Seconds, Share
from stepscope.core.redact import redact
from stepscope.core.units import NS
from stepscope.forecast.finish import Forecast, NoForecast
from stepscope.i18n import Language
from stepscope.report import templating
from stepscope.report.log_lines import line_links, log_lines
from stepscope.report.wording.finish import finish_lines
from stepscope.report.wording.headline import shows_ticks
from stepscope.report.wording.sentence import capital
from stepscope.report.wording.summary import DEAD, alarms_apart, says_line, summary_lines

_TONES = {"running": "good", "finished": "good", "stopped": "warn", "unknown": ""}
_OTHER_FORMATS = ("markdown", "trace", "csv", "svg", "png")
_SPARK = 48
_MOST_CARDS = 4
_SHOWN_ALARMS = 3
_SHOWN_PHASES = 3
_LEAST_SHARE = 0.001


class Card(NamedTuple):
    """A figure with its name, and what is drawn below it."""

    kind: Literal["cause", "remedy", "end", "progress", "speed", "overhead"]
    name: str
    value: str
    note: str = ""
    unit: str = ""
    tone: str = ""
    share: float | None = None
    spark: Sequence[float | None] = ()
    bar: Sequence[tuple[str, float, float, str]] = ()  # phase, left and width in hundredths, words
    keys: Sequence[tuple[str, str, str]] = ()  # phase, name, share
    command: str | None = None


def header(report: Report, language: Language, name: str | None) -> str:
    """The bar with the run's name, its trainer, its state and the menu."""
    paths = report.run.paths
    full = redact(name if name is not None else ", ".join(paths), 1000)
    folder, slash, file = (name or paths[0] if paths else "-").rpartition("/")
    lines = summary_lines(report, language)
    return templating.render(
        "run_head.html",
        language,
        title=full,
        folder=redact(folder + slash, 200) if name is not None else "",
        file=redact(file, 200),
        others=len(paths) - 1 if name is None else 0,
        trainer=report.run.format.title,
        state=report.state.value,
        state_name=language.text(f"state-name-{report.state.value}"),
        at=report.moment,
        at_text=language.clock(report.moment, report.ask.fallback_now) if report.moment is not None else "",
        verdict="" if report.state.value in DEAD else lines[0],
        summary="\n".join(lines),
        formats=_OTHER_FORMATS,
        source=redact(paths[0] if paths else "-", 300),
    )


def cards(report: Report, language: Language) -> str:
    """The four figures, or the cause and the remedy."""
    found = cards_of(report, language)
    return templating.render(
        "run_cards.html",
        language,
        cards=found,
        bar_name=language.text("section-time"),
        links=line_links(report, language),
    )


def cards_of(report: Report, language: Language) -> list[Card]:
    """What the cards say."""
    found = _death_cards(report, language) if report.state.value in DEAD else [_end_card(report, language)]
    if len(report.run):
        found.append(_progress_card(report, language))
    if report.ledger.step is not None:
        found.append(_speed_card(report, language))
    if report.has_times:
        found.append(_overhead_card(report, language))
    return found[:_MOST_CARDS]


def alarms(report: Report, language: Language) -> str:
    """What went wrong and is not said by the cards."""
    kept = {one["line"] for one in log_lines(report)}
    found = [
        {
            "severity": alarm.severity,
            "text": capital(language.say(alarm.message)),
            "line": None if says_line(alarm) else alarm.line,
            "is_kept": alarm.line in kept,
        }
        for alarm in alarms_apart(report)
    ]
    if not found:
        return ""
    links = line_links(report, language)
    return templating.render(
        "run_alarms.html", language, alarms=found[:_SHOWN_ALARMS], rest=found[_SHOWN_ALARMS:], links=links
    )


def _death_cards(report: Report, language: Language) -> list[Card]:
    lines = summary_lines(report, language)
    found = [Card("cause", lines[0], lines[1], tone="bad")]
    if len(lines) > 2:
        smaller = smaller_batch(report.run) if report.state.value == "out_of_memory" else None
        sizes = () if smaller is None else zip(("batch_size", "gradient_accumulation_steps"), smaller, strict=True)
        name = language.text("page-card-do" if report.state.value == "out_of_memory" else "page-card-lost")
        command = paste(report.run, *sizes) if smaller is not None else None
        found.append(Card("remedy", name, lines[2], " ".join(lines[3:]), tone="warn", command=command))
    return found


def _end_card(report: Report, language: Language) -> Card:
    """When it will be done, as far as that is known."""
    end, state, lines = report.forecast, report.state.value, summary_lines(report, language)
    tone = _TONES.get(state, "")
    if state == "finished" or (isinstance(end, Forecast) and end.is_finished):
        wall = language.duration(report.ledger.wall_s) if report.has_times else "–"
        return Card("end", language.text("page-card-took"), wall, _ended_note(report, language), tone=tone)
    if not isinstance(end, Forecast):
        return _no_end_card(report, end, language)
    total = report.run.settings.get("max_steps")
    is_assumed = total is not None and total.origin == "default"  # then the time is true of that number only
    assumed = ". " + language.text("assume-default-total", count=end.schedule.max_steps) if is_assumed else ""
    finish = report.finish(end.remaining_s) if state == "running" else None
    if finish is None:
        key = "page-card-left" if state == "running" else "page-card-left-if"
        return Card("end", language.text(key), language.duration(end.remaining_s), lines[1] + assumed, tone=tone)
    about = About(end.remaining_s, end.low_s, end.high_s)
    left = language.text("summary-left", left=about, range=Range(end.low_s, end.high_s)) + assumed
    return Card("end", language.text("page-card-done"), language.clock(finish, report.moment), left, tone=tone)


def _no_end_card(report: Report, end: NoForecast, language: Language) -> Card:
    """What is left by figures that are no forecast, else what has passed and why there is no more."""
    if report.state.value == "stopped" and report.has_times:
        wall = language.duration(report.ledger.wall_s)
        return Card("end", language.text("page-card-took"), wall, _ended_note(report, language))
    if end.rough is not None:
        name, value = language.text("page-card-left"), language.duration(end.rough.seconds)
        return Card("end", name, value, summary_lines(report, language)[1])
    value = language.duration(report.ledger.wall_s) if report.has_times else "–"
    return Card("end", language.text("page-card-so-far"), value, capital(finish_lines(report, language)[0]))


def _ended_note(report: Report, language: Language) -> str:
    found = []
    if report.moment is not None and report.moment_from == "stamp":
        found.append(language.text("page-ended-at", time=language.clock(report.moment, report.ask.fallback_now)))
    if report.best is not None:
        loss = language.number(report.best.val_loss, 4)
        found.append(language.text("page-best-loss", loss=loss, step=report.best.step))
    return " · ".join(found)


def _progress_card(report: Report, language: Language) -> Card:
    step, total = report.state.step or 0, report.run.settings.count("max_steps")
    name, value = language.text("page-card-progress"), language.number(step)
    is_running = report.has_times and report.state.value == "running"
    wall = language.text("page-elapsed", duration=Seconds(report.ledger.wall_s)) if is_running else ""
    if total is None or report.run.settings["max_steps"].origin == "default":
        note = " · ".join(filter(None, [wall, language.text("page-no-total")]))
        return Card("progress", name, value, note, language.text("page-iterations", count=step))
    share = min(1.0, step / total)
    note = " · ".join(filter(None, [language.percent(share), wall]))
    return Card("progress", name, value, note, f"/ {language.number(total)}", share=share)


def _speed_card(report: Report, language: Language) -> Card:
    step = report.ledger.step
    assert step is not None
    notes = []
    if language.is_range(step.low_s, step.high_s, step.typical_s) and not shows_ticks(report):
        span = language.span(step.low_s, step.high_s, step.typical_s)
        notes.append(language.text("page-speed-range", share=Share(0.9), span=span))
    if report.tokens_per_s:
        notes.append(language.text("page-speed-tokens", tokens=_short(report.tokens_per_s, language)))
    name, value = language.text("page-card-speed"), language.duration(step.typical_s)
    unit = language.text("page-per-iteration")
    return Card("speed", name, value, " · ".join(notes), unit, spark=_spark(report))


def _short(number: float, language: Language) -> str:
    """A rate in three digits: 193 k, 2.41 M."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            value = number / size
            return f"{language.number(value, 0 if value >= 100 else 1 if value >= 10 else 2)} {sign}"
    return language.number(number, 0 if number >= 100 else 1)


def _spark(report: Report) -> list[float | None]:
    """The median step of each stretch of the run, from 0 (fastest) to 1; empty where it would be a flat line."""
    step = report.ledger.step
    assert step is not None
    seconds = report.run.steps.dur_ns[step.rows[step.rows < len(report.run)]] / NS
    if len(seconds) < 8:
        return []
    edges = distinct(np.linspace(0, len(seconds), min(_SPARK, len(seconds) // 2) + 1).astype(np.int64)).tolist()
    levels = [float(median(seconds[a:b])) for a, b in pairwise(edges)]
    # Of a steady run the noise is no news: what is drawn is at least a tenth of the typical step.
    low, high = min(levels), max(levels)
    spare = max(0.0, 0.1 * step.typical_s - (high - low)) / 2
    low, high = low - spare, high + spare
    return [round((level - low) / (high - low), 3) if high > low else 0.5 for level in levels]


def _overhead_card(report: Report, language: Language) -> Card:
    ledger = report.ledger
    others = sorted((total for total in ledger.timed_phases if total.phase != "step"), key=lambda total: -total.seconds)
    share = sum(total.share for total in others)
    left, pieces = 0.0, []
    for total in ledger.timed_phases:
        text = f"{language.text(f'phase-{total.phase}')} {language.percent(total.share)}"
        pieces.append((total.phase, left, total.share * 100, f"{text} · {language.duration(total.seconds)}"))
        left += total.share * 100
    shown = [total for total in others if total.share >= _LEAST_SHARE][:_SHOWN_PHASES]
    keys = [(total.phase, language.text(f"phase-{total.phase}"), language.percent(total.share)) for total in shown]
    return Card(
        "overhead",
        language.text("page-card-overhead"),
        language.percent(share),
        "" if keys else language.text("page-overhead-none"),
        bar=pieces,
        keys=keys,
    )
