"""Chooses the clock of an unknown log among its figures and timestamps, and says what supports the choice."""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns.statistics import median, quantile, quantiles
from stepscope.core.units import NS
from stepscope.infer.choice import Choice, Doubt
from stepscope.infer.figure_meaning import CONFIDENCE, LEAST_FILLED, MOST_FILLED, meaning_of
from stepscope.infer.running_clock import only_grows, running_clock
from stepscope.infer.step_rows import StepLines
from stepscope.infer.time_figures import (
    Floats,
    Meaning,
    Reason,
    TimeColumn,
    clock_pace,
    is_converging,
    is_running,
    median_pace,
    paces_of,
    stamp_pace,
)

_ONE_SOURCE, _FEW_EPOCHS = 0.6, 3
_STAMPS_SURE = 0.9
_COARSE_STAMPS_SURE = 0.6
# Evidence of another kind inside the log: a figure that agrees with it is taken before a running clock.
_CONFIRMING: frozenset[Reason] = frozenset({"stamps", "clock", "rate", "left", "total"})
_MANY_TICKS_S = 30.0
_SAME = 0.02
_LEAST_PASSED, _ROUNDED_S = 3, 1e-3
_ENOUGH_RATES = 12
_LEAST_RATE = 1e-9  # a second; what is slower is no rate
_CALM, _SETTLED = 0.005, 0.4
_COARSE = 0.15  # of a step: the last digit of its time


def choose(columns: list[TimeColumn], rows: StepLines) -> Choice | Doubt | None:
    """The clock, or the doubt that forbids one; None when there is no time at all."""
    stamps = stamp_pace(rows.t_ns, rows.since, rows.resolution_ns)
    running, rates, figures = _by_use(columns, rows)
    evidence = _evidence(columns, rows, running, rates, stamps)
    meanings = [meaning for column in figures if (meaning := meaning_of(column, rows, evidence)) is not None]
    others = [found for found in evidence if found[0] != "clock"]
    clocks = [choice for column in running if (choice := running_clock(column, rows, others)) is not None]
    sure = _surest_first(meanings)
    if clocks:
        # A mean since the start hides what the clock it was made from shows.
        sure = [meaning for meaning in sure if not _is_mean(meaning, rows, running)]
    if stamps is not None and stamps[1]:
        confirmed = _confirmed_by_stamps(sure, rows, running) or _epoch_within_stamps(sure, rows, running)
        return confirmed or Choice("stamp", None, "stamps", _STAMPS_SURE)
    best = sure[0] if sure else None
    if best is not None and (best.reason in _CONFIRMING or not clocks):
        return _choice_of(best, rows, running)
    if clocks:
        return max(clocks, key=lambda choice: choice.confidence)
    return _printed_rate(rates, rows) or _coarse_stamps(stamps) or _doubt(meanings, rows)


def _by_use(columns: list[TimeColumn], rows: StepLines) -> tuple[list[TimeColumn], list[TimeColumn], list[TimeColumn]]:
    """The running clocks, the printed rates, and the other figures, which may be the time of one step or of several."""
    running = [
        column
        for column in columns
        if "clock" in column.readings
        and is_running(column.values, rows.resets, is_clock=column.readings == ("clock",))
        and not only_grows(column, rows)
    ]
    running = [column for column in running if not _is_between(column, running)]
    rates = [column for column in columns if column.readings == ("rate",)]
    figures = [
        column
        for column in columns
        if {"step", "interval"} & set(column.readings) and not any(column is clock for clock in running)
    ]
    return running, rates, figures


def _is_between(column: TimeColumn, running: list[TimeColumn]) -> bool:
    """Whether a figure that grows is what passed on a clock printed next to it: a duration, which may well grow."""
    unit_s = column.unit_s or 1.0
    for clock in running:
        passed = np.diff(clock.values) * (clock.unit_s or 1.0)
        if clock is column or len(passed) < _LEAST_PASSED or not np.isfinite(passed).all():
            continue
        if bool((np.abs(column.values[1:] * unit_s - passed) <= _SAME * np.abs(passed) + _ROUNDED_S).all()):
            return True
    return False


def _surest_first(meanings: list[Meaning]) -> list[Meaning]:
    """The meanings that are not in doubt, by confidence; of equal ones the longer time first."""
    known = (meaning for meaning in meanings if meaning.confidence > 0)
    return sorted(known, key=lambda meaning: (meaning.confidence, meaning.pace_s), reverse=True)


def _confirmed_by_stamps(sure: list[Meaning], rows: StepLines, running: list[TimeColumn]) -> Choice | None:
    """The surest figure that agrees with the timestamps and is no mean; none where steps are abbreviated (`50K`)."""
    fitting = [
        meaning
        for meaning in sure
        if meaning.reason == "stamps" and not _is_coarse(meaning) and not _is_mean(meaning, rows, running)
    ]
    return _choice_of(fitting[0], rows, running) if fitting and not rows.is_abbreviated else None


def _epoch_within_stamps(sure: list[Meaning], rows: StepLines, running: list[TimeColumn]) -> Choice | None:
    """A printed time of an epoch that fills most of what its timestamps leave, and lines between that fill the rest."""
    if not rows.counts_epochs or rows.interrupted is None or not bool(rows.interrupted[1:].any()):
        return None
    elapsed = np.diff(rows.t_ns) / NS
    for meaning in sure:
        if meaning.column.unit_s is None or _is_mean(meaning, rows, running):
            continue
        with np.errstate(all="ignore"):
            filled = meaning.column.values[1:] * meaning.unit_s / elapsed
        filled = filled[np.isfinite(filled) & (rows.since == 1)]
        if len(filled) >= _FEW_EPOCHS and float(filled.min()) >= LEAST_FILLED and float(filled.max()) <= MOST_FILLED:
            return _choice_of(meaning._replace(reason="stamps", confidence=CONFIDENCE["stamps"]), rows, running)
    return None


def _is_coarse(meaning: Meaning) -> bool:
    """Whether a figure is printed with so few digits that it is off by a tenth: `Time: 0.004` of 3.2 ms."""
    texts = meaning.column.field.text.lower()
    if meaning.column.field.kind != "number" or "e" in texts or meaning.reading != "step":
        return False
    digit_s = 10.0 ** -len(texts.partition(".")[2]) * meaning.unit_s
    return digit_s > _COARSE * meaning.pace_s


def _printed_rate(rates: list[TimeColumn], rows: StepLines) -> Choice | None:
    """The first printed rate, where it gives a pace."""
    pace = median_pace(paces_of(rates[0], "rate", rows.since, rows.resets, rows.left)) if rates else None
    if pace is None:
        return None
    meaning = Meaning(rates[0], "rate", 1.0, "unit", CONFIDENCE["unit"], pace)
    if _is_mean_rate(rates[0], rows):
        return Choice("cumulative", meaning, "unit", _ONE_SOURCE)
    return Choice("window" if median(rows.since) > 1 else "step", meaning, "unit", CONFIDENCE["unit"])


def _is_mean_rate(column: TimeColumn, rows: StepLines) -> bool:
    """Whether a rate is the mean since the start: it settles down, and the clock behind it never goes back."""
    known = np.isfinite(column.values) & (column.values > _LEAST_RATE)
    rates, steps = column.values[known], rows.steps[known]
    if len(rates) < _ENOUGH_RATES or rows.resets.any():
        return False
    elapsed = steps / rates
    moves = np.abs(np.diff(rates)) / rates[:-1]
    third = len(moves) // 3
    early, late = float(median(moves[:third])), float(median(moves[-third:]))
    is_calm = late < _CALM and bool((np.diff(elapsed) > -0.01 * elapsed[:-1]).all())
    # `SPS` is the word of trainers of agents for all steps so far over all seconds so far.
    return is_calm and (late < _SETTLED * early or bool(re.search(r"(?:^|\s)sps$", column.field.key)))


def _coarse_stamps(stamps: tuple[float, bool] | None) -> Choice | None:
    """Timestamps that are too coarse to time every line, where there is nothing better."""
    return None if stamps is None else Choice("stamp", None, "stamps", _COARSE_STAMPS_SURE)


def _doubt(meanings: list[Meaning], rows: StepLines) -> Doubt | None:
    return Doubt(meanings[0].column, int(median(rows.since))) if meanings else None


def _evidence(
    columns: list[TimeColumn],
    rows: StepLines,
    running: list[TimeColumn],
    rates: list[TimeColumn],
    stamps: tuple[float, bool] | None,
) -> list[tuple[Reason, float]]:
    """The paces that other parts of the log imply, the most trustworthy first."""
    found: list[tuple[Reason, float]] = [("stamps", stamps[0])] if stamps else []
    for column in running:
        if column.unit_s is not None and (pace := clock_pace(column, rows.since, rows.resets)):
            found.append(("clock", pace))
    for column in rates:
        if pace := median_pace(paces_of(column, "rate", rows.since, rows.resets, rows.left)):
            found.append(("rate", pace))
    for column in columns:
        if column.readings == ("left",) and column.unit_s is not None:
            paces = paces_of(column, "left", rows.since, rows.resets, rows.left)
            if (pace := median_pace(paces)) and _is_steady(paces):
                found.append(("left", pace * column.unit_s))
    return [(reason, pace) for reason, pace in found if pace > 0]  # a clock that stands says nothing


def _is_steady(paces: Floats) -> bool:
    """A time left that goes with the steps left; one for the whole run next to a total of one epoch does not."""
    low, high = quantiles(paces, (0.25, 0.75))
    return bool(high < 1.5 * low)


def _is_mean(meaning: Meaning, rows: StepLines, running: list[TimeColumn]) -> bool:
    """Whether a figure is a mean since the start: it says so, it settles down, or it is a clock over its steps."""
    column = meaning.column
    if column.is_mean or is_converging(column.values[np.isfinite(column.values)]):
        return True
    for clock in running:
        elapsed = clock.values * (clock.unit_s or 1.0)
        with np.errstate(all="ignore"):
            ratio = column.values * meaning.unit_s * rows.steps / elapsed
        # Beyond the first ticks. A steady step comes near the mean too, but not where the first ones were slow.
        ratio = ratio[np.isfinite(ratio) & (elapsed > _MANY_TICKS_S)]
        if len(ratio) > 5 and quantile(np.abs(ratio - 1), 0.95) < _SAME:
            return True
    return False


def _choice_of(meaning: Meaning, rows: StepLines, running: list[TimeColumn]) -> Choice:
    is_total, is_mean = meaning.reading == "interval", _is_mean(meaning, rows, running)
    is_window = is_total or (float(median(rows.since)) > 1 and is_mean) or _covers_all_steps(meaning, rows)
    confidence = meaning.confidence * (0.8 if is_mean else 1.0)
    return Choice("window" if is_window else "step", meaning, meaning.reason, confidence, is_total)


def _covers_all_steps(meaning: Meaning, rows: StepLines) -> bool:
    """Whether the figure times the steps since the last line is the time between timestamps: a mean, not a sample."""
    if float(median(rows.since)) <= 1 or not np.isfinite(rows.t_ns).any():
        return False
    elapsed = np.diff(rows.t_ns) / 1e9
    with np.errstate(all="ignore"):
        ratio = meaning.column.values[1:] * meaning.unit_s * rows.since / elapsed
    ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
    return len(ratio) > 3 and float(median(np.abs(ratio - 1))) < 0.03
