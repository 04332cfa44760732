"""A report → what a row of the list says of a run: small, plain data that can be kept for years.

The clock is left out of it: what a silent log is taken for, and what a run does between two lines, are kept as tables
over the length of the silence, and whoever draws the row looks them up.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stepscope.analysis.report import Report
from stepscope.core.message import Message
from stepscope.core.redact import redact
from stepscope.core.units import NS
from stepscope.forecast.finish import Forecast
from stepscope.i18n import Language
from stepscope.ledger.timeline import row_ends, timeline
from stepscope.live.pulse import feel
from stepscope.live.silence import measure

# Of what `summarize` makes of a report: summaries of another shape are not the same answer.
SHAPE = 1
_STRETCHES = 40
_SLICES = 10 * _STRETCHES
# The highest normal level is drawn at most this much below the top, so that a steady run is no line along the edge.
_ROOM = 1.4
_MOST_ALARMS = 5
_MOST_TEXT = 300
# Lengths of a silence at which a run is asked what it does: half a second to a day, finer where things happen.
_SILENCES = (0.0, *(0.5 * 1.25**power for power in range(54)))

Pulse = tuple[float, str, float, float | None]


class Summary(NamedTuple):
    """What is known of a run without its report. Moments are Unix seconds; None is unknown.

    state, evidence
        How it ended, and what says so; None where its log does not say that it has.
    silence
        Seconds until it no longer counts as running, until it counts as stopped, and as what it counts in between.
    written
        When the log was written to last.
    moment
        The moment of the last line, which `remaining_s` counts from.
    lost
        The share of the time that was not training.
    levels, losses
        Of each stretch of the run's time: a normal iteration in hundredths of the picture's height, and the phases that
        took time with their hundredths of it.
    pulses
        What it does after so many seconds of silence: from when on, what, since when, and what that usually takes.
    """

    title: str
    state: str | None
    evidence: str | None
    silence: tuple[float, float, str | None] | None
    written: float | None
    moment: float | None
    step: int | None
    total: int | None
    typical_s: float | None
    tokens_per_s: float | None
    remaining_s: float | None
    low_s: float | None
    high_s: float | None
    confidence: float
    wall_s: float | None
    lost: float | None
    best_loss: float | None
    best_step: int | None
    phases: tuple[tuple[str, float], ...]
    alarms: tuple[tuple[str, str, str], ...]  # code, severity, sentence
    levels: tuple[int | None, ...]
    losses: tuple[tuple[int, str, int], ...]  # stretch, phase, hundredths
    pulses: tuple[Pulse, ...]


def summarize(report: Report, language: Language) -> Summary:
    """The summary of a report; its few sentences are in the language."""
    found = _summary(report, language)
    # JSON has no other numbers.
    return Summary(*(None if isinstance(one, float) and not math.isfinite(one) else one for one in found))  # type: ignore[arg-type]


def _summary(report: Report, language: Language) -> Summary:
    run, ledger, ending, silence = report.run, report.ledger, report.ending, report.silence
    end = report.forecast if isinstance(report.forecast, Forecast) and not report.has_ended else None
    levels, losses = _picture(report)
    step, total, best = report.state.step, run.settings.get("max_steps"), report.best
    return Summary(
        title=redact(run.format.title, 60),
        state=ending.value if ending is not None else None,
        evidence=redact(_words(ending.evidence, language), _MOST_TEXT) if ending is not None else None,
        silence=None
        if silence is None
        else (silence.recent_s, silence.long_s, silence.over.value if silence.over is not None else None),
        written=report.written.timestamp() if report.written is not None else None,
        moment=report.moment.timestamp() if report.moment is not None else None,
        step=step,
        total=run.settings.count("max_steps") if total is not None and total.origin != "default" else None,
        typical_s=ledger.step.typical_s if ledger.step is not None else None,
        tokens_per_s=report.tokens_per_s,
        remaining_s=end.remaining_s if end is not None else None,
        low_s=end.low_s if end is not None else None,
        high_s=end.high_s if end is not None else None,
        confidence=end.confidence if end is not None else report.ask.confidence,
        wall_s=ledger.wall_s if report.has_times else None,
        lost=max(0.0, 1 - ledger.seconds("step") / ledger.wall_s) if ledger.wall_s else None,
        best_loss=best.val_loss if best is not None else None,
        best_step=best.step if best is not None else None,
        phases=tuple((total.phase, total.seconds) for total in ledger.phases),
        alarms=tuple(
            (alarm.code, alarm.severity, redact(language.say(alarm.message), _MOST_TEXT))
            for alarm in report.alarms[:_MOST_ALARMS]
        ),
        levels=levels,
        losses=losses,
        pulses=_pulses(report),
    )


def _words(evidence: Message, language: Language) -> str:
    """What says so: the log's own words where there are some, without an introduction."""
    text = evidence.args.get("text")
    return text if isinstance(text, str) else language.say(evidence)


def from_plain(data: Any) -> Summary:
    """A summary out of what JSON made of it; `ValueError` where it is none."""
    if not isinstance(data, dict) or set(data) != set(Summary._fields):
        raise ValueError("not a summary")
    lists = {name: tuple(tuple(one) if isinstance(one, list) else one for one in data[name]) for name in _LISTS}
    silence = data["silence"]
    found = Summary(**{**data, **lists, "silence": tuple(silence) if silence is not None else None})
    if any(not isinstance(value, int | float | None) for name in _NUMBERS for value in [getattr(found, name)]):
        raise ValueError("not a summary")
    return found


_LISTS = ("phases", "alarms", "levels", "losses", "pulses")
_NUMBERS = ("written", "moment", "step", "total", "typical_s", "remaining_s", "low_s", "high_s", "confidence", "lost")


def _picture(report: Report) -> tuple[tuple[int | None, ...], tuple[tuple[int, str, int], ...]]:
    """The run's time in stretches: the level of normal steps in each, and how much of it went elsewhere."""
    run, ledger = report.run, report.ledger
    slices = timeline(run, ledger, most=_SLICES) if report.has_steps else []
    whole_s = slices[-1].start_s + slices[-1].seconds if slices else 0.0
    if ledger.step is None or whole_s <= 0:
        return (), ()
    spent: dict[tuple[int, str], float] = {}
    each_s = whole_s / _STRETCHES
    for piece in slices:
        if piece.phase == "step":
            continue
        first, last = (min(_STRETCHES - 1, int(at / each_s)) for at in (piece.start_s, piece.start_s + piece.seconds))
        for stretch in range(first, last + 1):
            within = min(piece.start_s + piece.seconds, (stretch + 1) * each_s) - max(piece.start_s, stretch * each_s)
            spent[stretch, piece.phase] = spent.get((stretch, piece.phase), 0.0) + max(0.0, within)
    losses = tuple(
        (stretch, phase, round(100 * seconds / each_s))
        for (stretch, phase), seconds in sorted(spent.items())
        if round(100 * seconds / each_s)
    )
    return _levels(report, each_s), losses


def _levels(report: Report, each_s: float) -> tuple[int | None, ...]:
    run, step = report.run, report.ledger.step
    assert step is not None
    rows = step.rows[step.rows < len(run)]
    seconds = run.steps.dur_ns[rows] / NS
    places = np.minimum(_STRETCHES - 1, (row_ends(run, report.ledger)[rows] / each_s).astype(np.int64))
    middles = [float(np.median(own)) if len(own := seconds[places == place]) else None for place in range(_STRETCHES)]
    known = [value for value in middles if value is not None]
    if not known:
        return ()
    top = max(*known, _ROOM * float(np.median(known))) or 1.0
    return tuple(None if value is None else round(100 * value / top) for value in middles)


def _pulses(report: Report) -> tuple[Pulse, ...]:
    """What the run does, by the length of its silence; nothing of one that is over."""
    if report.has_ended or not len(report.run):
        return ()
    silences = measure(report)
    found: list[Pulse] = []
    for quiet_s in _SILENCES:
        pulse = feel(report, quiet_s, silences)
        if not found or found[-1][1] != pulse.doing:
            found.append((round(quiet_s, 1), pulse.doing, round(quiet_s - pulse.since_s, 1), pulse.usual_s))
    return tuple(found)
