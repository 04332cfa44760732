"""What the page's script draws: every step that was logged, and every stop with its parts.

The file stays bounded and smooth: of each stretch of a long log the fastest and the slowest step are kept, so that no
spike is lost, and every slow step that is named. Long columns go as packed numbers. The curves below the timeline are
in `page_series`, the future in `page_ahead`.
"""

from __future__ import annotations

import base64
import datetime as dt
from typing import Any

import numpy as np

from stepscope.analysis.report import Report
from stepscope.core.units import NS
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER
from stepscope.ledger.phases import Price, SlowStep
from stepscope.report import page_ahead, page_series
from stepscope.report.page_series import extremes as extremes  # noqa: PLC0414 (others take it from here)
from stepscope.report.wording.sentence import capital
from stepscope.report.wording.slow import evidence_text
from stepscope.run.model import Floats, Ints
from stepscope.run.stops import Stop

# At eight bytes a row, ten where rows cover different numbers of steps: some 900 kB as text.
_MOST_POINTS = 64_000
_MOST_SLOW = 300
_MOST_STOPS = 2000
_EARLY = dt.datetime(2000, 1, 1, 3, 27)


def data(report: Report, language: Language) -> dict[str, Any]:
    """All that the script needs, as plain data."""
    return {
        "strip": _strip(report),
        "stops": stops(report),
        "evidence": _evidence(report, language),
        "levels": _levels(report, language),
        "loss": page_series.losses(report),
        "throughput": page_series.throughput(report),
        "cards": page_series.gpu_samples(report),
        "ranks": page_series.ranks(report),
        "ahead": page_ahead.fan(report),
        "whatif": page_ahead.what_if_base(report),
        "words": _words(report, language),
    }


def _strip(report: Report) -> dict[str, Any]:
    """The printed steps as packed columns: number, seconds of one step, and how many steps the line covers."""
    steps, rows = report.run.steps, _kept_rows(report)
    first = int(steps.step[rows[0]]) if len(rows) else 0
    is_wide = bool(len(rows)) and int(steps.step[rows[-1]]) - first >= 1 << 32
    spans = np.minimum(steps.span[rows], (1 << 16) - 1)
    is_even = not len(rows) or bool((spans == spans[0]).all())
    return {
        "first": first,
        "wide": is_wide,
        "step": _packed(steps.step[rows] - first, "<f8" if is_wide else "<u4"),
        "seconds": _packed(steps.dur_ns[rows] / NS, "<f4"),
        "spans": (int(spans[0]) if len(rows) else 1) if is_even else _packed(spans, "<u2"),
        "every": printed_every(report),
    }


def printed_every(report: Report) -> int:
    """Of how many steps one is printed; 1 where every step is, or where a line stands for all since the last one."""
    every = report.run.settings.count("log_interval")
    return every if every and every > 1 and report.run.clock.is_per_step else 1


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
        "day": language.text("unit-day"),
        "iteration": language.text("slow-column-step"),
        "loss": language.text("live-loss"),
        "validation": language.text("page-validation"),
        "throughput": language.text("page-tokens-per-s" if report.tokens_per_s else "page-steps-per-s"),
        "time": language.text("time-table-time"),
        "load": language.text("page-gpu-load"),
        "memory": language.text("page-gpu-memory"),
        "power": language.text("page-gpu-power"),
        "temperature": language.text("page-gpu-temperature"),
        "best": frame("page-best", "loss", "step"),
        "line": frame("alarm-line", "line"),
        "tip": frame("page-tip", "step", "took"),
        "tip_window": frame("page-tip-window", "first", "last", "count", "took"),
        "window": frame("page-window", "first", "last", "count"),
        "left": frame("page-whatif-left", "duration", "range"),
        "done": frame("page-whatif-done", "time"),
        "less": frame("page-whatif-less", "duration"),
        "more": frame("page-whatif-more", "duration"),
        "evaluations": frame("page-whatif-evaluations", "number"),
        "error": frame("page-whatif-error", "error"),
        "clock_with_date": frame("clock-with-date", "date", "time"),
        "phases": {phase: language.text(f"phase-{phase}") for phase in ORDER},
    }


def _evidence(report: Report, language: Language) -> list[list[Any]]:
    """Why each of the costliest slow steps is taken for what it is: [step, words]."""
    slow = report.ledger.slow[:_MOST_SLOW]
    return [[one.step, capital(evidence_text(report, one, language))] for one in slow]


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


def stops(report: Report) -> list[list[Any]]:
    """Everything that was no plain training step: [first step, last step, is measured, [phase, seconds]…], in order."""
    found = [_slow_stop(report, slow) for slow in report.ledger.slow]
    found += [_outside_stop(report, stop) for stop in _outside(report)]
    found.sort(key=lambda one: -sum(seconds for _, seconds in one[3]))
    return sorted(found[:_MOST_STOPS], key=lambda one: one[:2])


def _slow_stop(report: Report, slow: SlowStep) -> list[Any]:
    span = max(1, int(report.run.steps.span[slow.row]))
    parts = [[part.phase, part.seconds] for part in slow.parts if part.seconds > 0]
    return [slow.step - span + 1, slow.step, True, parts]


def _outside_stop(report: Report, stop: Stop) -> list[Any]:
    """A stop between two steps: what its own line says it took, else what one usually takes; of none, no seconds."""
    parts: list[list[Any]] = []
    is_measured = True
    for happened, phase, took_s, price in (
        (stop.evaluated, "evaluation", stop.evaluation_took_s, report.ledger.evaluation_price),
        (stop.saved, "checkpoint", stop.save_took_s, report.ledger.checkpoint_price),
    ):
        if happened:
            is_measured = is_measured and took_s is not None
            parts.append([phase, took_s if took_s is not None else _usual_s(price)])
    return [stop.step, stop.step, is_measured, parts]


def _usual_s(price: Price | None) -> float:
    return 0.0 if price is None else price.seconds


def _outside(report: Report) -> list[Stop]:
    """Evaluations and checkpoints outside the time of any step."""
    return [stop for stop in report.run.stops if not stop.is_inside and stop.printed and stop.step >= 0]


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
