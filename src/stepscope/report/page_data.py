"""What the page's script draws: every step that was logged, loss, throughput, the GPU.

The file stays bounded and smooth: of each stretch of a long log the fastest and the slowest step are kept, so that no
spike is lost, and every slow step that is named. Long columns go as packed numbers; the future is in `page_ahead`.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
from typing import Any

import numpy as np

from stepscope.analysis.report import Report
from stepscope.columns.statistics import distinct
from stepscope.core.units import NS
from stepscope.forecast.pace import lay_out
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER
from stepscope.report import page_ahead
from stepscope.report.wording.sentence import capital
from stepscope.report.wording.slow import drawn_phase, evidence_text, part_text
from stepscope.run.model import Floats, Ints

# At eight bytes a row, a little over a megabyte as text.
_MOST_POINTS = 100_000
_MOST_SLOW = 300
_MOST_STOPS = 2000
_MOST_LOSSES = 1500
_MOST_STRETCHES = 300
_MOST_SAMPLES = 1200
_EARLY = dt.datetime(2000, 1, 1, 3, 27)


def data(report: Report, language: Language) -> dict[str, Any]:
    """All that the script needs, as plain data."""
    rows = _kept_rows(report)
    steps = report.run.steps
    place = {int(row): index for index, row in enumerate(rows.tolist())}
    first = int(steps.step[rows[0]]) if len(rows) else 0
    is_wide = bool(len(rows)) and int(steps.step[rows[-1]]) - first >= 1 << 32
    return {
        "strip": {
            "first": first,
            "wide": is_wide,
            "step": _packed(steps.step[rows] - first, "<f8" if is_wide else "<u4"),
            "seconds": _packed(steps.dur_ns[rows] / NS, "<f4"),
        },
        "slow": [
            {"index": place[slow.row], "phase": drawn_phase(slow), "text": text}
            for slow, text in _slow_texts(report, language)
            if slow.row in place
        ],
        "stops": stops_outside(report),
        "levels": _levels(report, language),
        "loss": _losses(report),
        "throughput": _throughput(report),
        "cards": _gpu_samples(report),
        "ahead": page_ahead.fan(report),
        "whatif": page_ahead.what_if_base(report),
        "words": _words(report, language),
    }


def _packed(values: Ints | Floats, kind: str) -> str:
    """A column as base64 of little-endian numbers: a tenth of what they take as text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def _words(report: Report, language: Language) -> dict[str, Any]:
    """Every word the script puts on the page; holes in braces."""

    def frame(key: str, *holes: str) -> str:
        return language.text(key, **{hole: f"{{{hole}}}" for hole in holes})

    return {
        "pads_hours": language.clock(_EARLY, _EARLY).startswith("0"),
        "least_grouped": int(language.text("number-least-grouped")),
        "iteration": language.text("slow-column-step"),
        "took": language.text("slow-column-took"),
        "loss": language.text("live-loss"),
        "validation": language.text("page-validation"),
        "throughput": language.text("page-tokens-rate" if report.tokens_per_s else "page-steps-rate"),
        "time": language.text("time-table-time"),
        "load": language.text("page-gpu-load"),
        "memory": language.text("page-gpu-memory"),
        "power": language.text("page-gpu-power"),
        "temperature": language.text("page-gpu-temperature"),
        "tip": frame("page-tip", "step", "took"),
        "left": frame("page-whatif-left", "duration", "span"),
        "done": frame("page-whatif-done", "time"),
        "less": frame("page-whatif-less", "duration"),
        "more": frame("page-whatif-more", "duration"),
        "evaluations": frame("page-whatif-evaluations", "number"),
        "error": frame("page-whatif-error", "error"),
        "clock_with_date": frame("clock-with-date", "date", "time"),
        "phases": {phase: language.text(f"phase-{phase}") for phase in ORDER},
    }


def _slow_texts(report: Report, language: Language) -> list[tuple[Any, str]]:
    found = []
    for slow in report.ledger.slow[:_MOST_SLOW]:
        parts = " + ".join(part_text(part, language) for part in slow.parts)
        head = language.text("page-tip", step=language.number(slow.step), took=language.duration(slow.seconds))
        found.append((slow, f"{head} = {parts}. {capital(evidence_text(report, slow, language))}"))
    return found


def _kept_rows(report: Report) -> Ints:
    """The rows to draw, in the order of their steps: the last time a step was done, the extremes of each stretch."""
    steps = report.run.steps
    timed = np.flatnonzero((steps.span > 0) & (steps.dur_ns > 0))
    order = timed[np.argsort(steps.step[timed], kind="stable")]
    rows = order[np.append(np.diff(steps.step[order]) > 0, True)] if len(order) else order
    kept = rows[extremes(steps.dur_ns[rows], _MOST_POINTS)]
    named = np.array([slow.row for slow in report.ledger.slow[:_MOST_SLOW]], dtype=np.int64)
    kept = np.concatenate([kept, named[np.isin(named, rows) & ~np.isin(named, kept)]])
    return np.asarray(kept[np.argsort(steps.step[kept], kind="stable")], dtype=np.int64)


def extremes(values: Ints | Floats, most: int) -> Ints:
    """The indices of at most `most` values, in order, whose drawing shows every spike."""
    if len(values) <= most:
        return np.arange(len(values), dtype=np.int64)
    edges = np.linspace(0, len(values), most // 2 + 1).astype(np.int64)[:-1]
    stretch = np.zeros(len(values), dtype=np.int64)
    stretch[edges] = 1
    order = np.lexsort((values, np.cumsum(stretch)))
    ends = np.append(edges[1:], len(values)) - 1
    return distinct(np.concatenate([order[edges], order[ends]]))


def stops_outside(report: Report) -> list[tuple[int, str]]:
    """Evaluations and checkpoints outside the time of any step: [step, phase]."""
    found = [
        (stop.step, "evaluation" if stop.evaluated else "checkpoint")
        for stop in report.run.stops
        if not stop.is_inside and stop.printed and stop.step >= 0
    ]
    return found[:: max(1, math.ceil(len(found) / _MOST_STOPS))]


def _levels(report: Report, language: Language) -> list[dict[str, Any]]:
    """The levels of normal steps, each with its label where there is more than one."""
    step = report.ledger.step
    if step is None:
        return []
    several = len(step.regimes) > 1
    return [
        {
            "first": regime.first_step,
            "last": regime.last_step,
            "seconds": regime.typical_s,
            "label": language.duration(regime.typical_s) if several else "",
        }
        for regime in step.regimes
    ]


def _losses(report: Report) -> dict[str, list[float | None]] | None:
    """Training and validation loss over the steps; None where there is no curve to draw."""
    steps = report.run.steps
    known = np.flatnonzero(np.isfinite(steps.loss))
    if len(known) < 2:
        return None
    known = known[extremes(steps.loss[known], _MOST_LOSSES)]
    train = {int(step): float(loss) for step, loss in zip(steps.step[known], steps.loss[known], strict=True)}
    events = report.run.events
    evaluated = np.flatnonzero((events.step >= 0) & np.isfinite(events.val_loss))
    evaluated = evaluated[extremes(events.val_loss[evaluated], _MOST_LOSSES)]
    validation = dict(zip(events.step[evaluated].tolist(), events.val_loss[evaluated].tolist(), strict=True))
    places = sorted(set(train) | set(validation))
    return {
        "step": [float(place) for place in places],
        "train": [train.get(place) for place in places],
        "validation": [validation.get(place) for place in places],
    }


def _throughput(report: Report) -> dict[str, list[float]] | None:
    """Tokens (or steps) per second of wall time, evaluations and checkpoints included; None with too few steps."""
    own = report.run.training(-1)
    step, seconds = lay_out(own, report.ledger).clock if own is report.run else (np.zeros(0), np.zeros(0))
    if len(step) < 8:
        return None
    edges = distinct(np.linspace(0, len(step) - 1, min(_MOST_STRETCHES, len(step) // 2) + 1).astype(np.int64))
    done, took = np.diff(step[edges]), np.diff(seconds[edges])
    usable = (done > 0) & (took > 0)
    if int(usable.sum()) < 3:
        return None
    typical = report.ledger.step.typical_s if report.ledger.step else 0.0
    each = report.tokens_per_s * typical if report.tokens_per_s else 1.0
    rate = done[usable] * each / took[usable]
    return {"step": step[edges][1:][usable].tolist(), "rate": [float(f"{value:.5g}") for value in rate.tolist()]}


def _gpu_samples(report: Report) -> dict[str, list[float | None]] | None:
    """The GPU's samples, thinned; seconds since the first."""
    series = report.gpu_series
    if series is None or len(series.seconds) < 2:
        return None
    load, used, total = (np.array(column) for column in (series.utilisation, series.memory_used, series.memory_total))
    kept = extremes(np.nan_to_num(load), _MOST_SAMPLES)
    columns = {
        "load": load * 100,
        "memory": np.divide(used * 100, total, out=np.full(len(used), np.nan), where=total > 0),
        "power": np.array(series.power),
        "temperature": np.array(series.temperature),
    }
    found: dict[str, list[float | None]] = {
        name: [round(value, 1) if math.isfinite(value) else None for value in column[kept].tolist()]
        for name, column in columns.items()
    }
    found["seconds"] = (np.array(series.seconds)[kept] - series.seconds[0]).round(1).tolist()
    return found
