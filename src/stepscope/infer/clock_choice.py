"""Chooses the clock of an unknown log among its figures and timestamps, and says what supports the choice."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.statistics import median, quantile, quantiles
from stepscope.core.units import NS
from stepscope.infer.time_figures import (
    CLEAR,
    NEAR,
    RUNNING_WORDS,
    Floats,
    Meaning,
    Reading,
    Reason,
    TimeColumn,
    clock_pace,
    is_converging,
    is_running,
    median_pace,
    paces_of,
    stamp_pace,
)
from stepscope.lines.format import Covers, Line

# A clock that shows so many times what the steps took did not begin with them.
_DAY_S, _NOT_SINCE = 86_400, 20.0
Bools = npt.NDArray[np.bool_]
# How sure a reading is, by what supports it. Evidence of another kind inside the log settles it nearly; a printed
# unit leaves open what the figure covers; a bare number of a likely size leaves open both.
CONFIDENCE = {
    "stamps": 0.95,
    "clock": 0.95,
    "rate": 0.9,
    "left": 0.85,
    "total": 0.85,
    "spacing": 0.85,
    "unit": 0.8,
    "meter": 0.7,
    "amounts": 0.6,
    "name": 0.6,
    "size": 0.65,
}
_PER_STEP_SURE = 0.9
LEAST_SURE = 0.5
_ONE_SOURCE = 0.6
_STAMPS_SURE = 0.9
_COARSE_STAMPS_SURE = 0.6
# Evidence of another kind inside the log: a figure that agrees with it is taken before a running clock.
_CONFIRMING: frozenset[Reason] = frozenset({"stamps", "clock", "rate", "left", "total"})
# Nobody waits for a step of ten seconds and prints it in milliseconds when it is one of many; and a bare number up to
# ten is seconds: a step of a few milliseconds would be printed as 3.2 only under a name that says so.
_LONG_MS = 10_000.0
_BARE_S = 10.0
# Up to this size where it is printed unrounded.
_RAW_S, _RAW_DECIMALS = 3600.0, 8
_PACES = (1e-5, 1e6)
_UNITS = (1.0, 1e-3, 1e-6, 60.0)  # the likeliest first
_AGREES = 0.2
_MANY_TICKS_S = 30.0
_SAME = 0.02
_CLOCK_UNITS = (1.0, 1e-3, 60.0, 3600.0)
_TOO_LARGE = 3.0
_ENOUGH_RATES = 12
# Of a run's whole time: evaluations, checkpoints and start-up are beside its steps.
_LEAST_FILLED, _MOST_FILLED = 0.4, 1.03
_SEVERAL, _FEW_EPOCHS = 2, 3
_CALM, _SETTLED = 0.005, 0.4
_COARSE = 0.15  # of a step: the last digit of its time
_MOST_UPDATES = 5_000.0  # gradient updates a second that no machine does


class StepLines(NamedTuple):
    """The step lines: their numbers, timestamps (NaN where none), steps left by their total, where counts restart."""

    steps: Floats
    t_ns: Floats
    left: Floats
    resets: Bools  # between a line and the next: another process or epoch begins
    resolution_ns: int
    counts_epochs: bool
    is_abbreviated: bool
    num_updates: float = 0.0  # by how much the fastest count of updates in the lines went up from the first to the last
    interrupted: Bools | None = None  # which lines do not follow right after another of them
    run_s: float = 0.0  # what a line after them says that the whole run took; 0 where none does

    @property
    def since(self) -> Floats:
        """Steps since the line before."""
        return np.diff(self.steps)


class StatedWork(NamedTuple):
    """The line that says how much a step works through, and how it prints it."""

    line: Line
    text: str
    amount: int


class Choice(NamedTuple):
    """The clock: a figure read one way, or the timestamps alone (`meaning` None)."""

    covers: Covers
    meaning: Meaning | None
    reason: Reason
    confidence: float
    is_total: bool = False  # the figure is the time of all steps since the last line
    work: StatedWork | None = None  # what a step works through, where the figure is a rate of it


class Doubt(NamedTuple):
    """A figure that can be read in several ways, with nothing in the log to decide between them."""

    column: TimeColumn
    interval: int


def as_one_step(doubt: Doubt) -> Choice:
    """The first of the readings that are in doubt."""
    column = doubt.column
    meaning = Meaning(column, "step", column.unit_s or 1.0, "name", 0.5, float(np.nanmedian(column.values)))
    return Choice("window" if doubt.interval > 1 else "step", meaning, "name", LEAST_SURE)


def choose(columns: list[TimeColumn], rows: StepLines) -> Choice | Doubt | None:
    """The clock, or the doubt that forbids one; None when there is no time at all."""
    stamps = stamp_pace(rows.t_ns, rows.since, rows.resolution_ns)
    running, rates, figures = _by_use(columns, rows)
    evidence = _evidence(columns, rows, running, rates, stamps)
    meanings = [meaning for column in figures if (meaning := _meaning_of(column, rows, evidence)) is not None]
    others = [found for found in evidence if found[0] != "clock"]
    clocks = [choice for column in running if (choice := _running_clock(column, rows, others)) is not None]
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
        and not _only_grows(column, rows)
    ]
    rates = [column for column in columns if column.readings == ("rate",)]
    figures = [
        column
        for column in columns
        if {"step", "interval"} & set(column.readings) and not any(column is clock for clock in running)
    ]
    return running, rates, figures


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
        if len(filled) >= _FEW_EPOCHS and float(filled.min()) >= _LEAST_FILLED and float(filled.max()) <= _MOST_FILLED:
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
    known = np.isfinite(column.values) & (column.values > 0)
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


def _meaning_of(column: TimeColumn, rows: StepLines, evidence: list[tuple[Reason, float]]) -> Meaning | None:
    """The reading of a figure that the evidence agrees with, else the likeliest; confidence 0 where none is."""
    units = (column.unit_s,) if column.unit_s is not None else _UNITS if evidence else _UNITS[:2]
    readings: tuple[Reading, ...] = tuple(reading for reading in column.readings if reading in {"step", "interval"})
    if float(median(rows.since)) <= 1 and "step" in readings:
        readings = ("step",)
    guesses: list[tuple[float, Reading, float]] = []
    plain = len(_UNITS[:2])
    for reading in readings:
        pace = median_pace(paces_of(column, reading, rows.since, rows.resets, rows.left))
        if pace is not None:
            guesses += [(pace * unit, reading, unit) for unit in units]
    guesses = [guess for guess in guesses if _PACES[0] < guess[0] < _PACES[1]]
    if not guesses:
        return None
    for reason, pace in evidence:
        ranked = sorted((abs(math.log(guess[0] / pace)), guess) for guess in guesses)
        is_clear = len(ranked) == 1 or ranked[1][0] - ranked[0][0] > CLEAR
        if ranked[0][0] < NEAR and is_clear:
            _, (guess, reading, unit) = ranked[0]
            return Meaning(column, reading, unit, reason, CONFIDENCE[reason], guess)
    likely = [guess for guess in guesses if guess[2] in units[:plain]] or guesses
    by_total = _by_total(rows, likely)
    if by_total is not None:
        pace, reading, unit = by_total
        return Meaning(column, reading, unit, "total", CONFIDENCE["total"], pace)
    return _without_evidence(column, rows, likely)


def _by_total(rows: StepLines, guesses: list[tuple[float, Reading, float]]) -> tuple[float, Reading, float] | None:
    """The one guess whose steps fill most of what the whole run took, and no more; none where several do, or none."""
    since = rows.since
    if not rows.run_s or len(guesses) < _SEVERAL or bool((since < 0).any()):
        return None
    num_steps = float(rows.steps[-1] - rows.steps[0] + median(since))
    fitting = [guess for guess in guesses if _LEAST_FILLED <= guess[0] * num_steps / rows.run_s <= _MOST_FILLED]
    return fitting[0] if len(fitting) == 1 else None


def _without_evidence(column: TimeColumn, rows: StepLines, guesses: list[tuple[float, Reading, float]]) -> Meaning:
    first_pace, reading, unit = guesses[0]
    stated = column.unit_s is not None
    doubt = Meaning(column, reading, unit, "name", 0.0, first_pace)
    if len(column.readings) == 1 and stated:  # its name says what it measures
        return Meaning(column, reading, unit, "unit", _PER_STEP_SURE, first_pace)
    typical = float(np.nanmedian(column.values))
    readings = {guess[1] for guess in guesses}
    if len(readings) == 1:
        if stated:
            return Meaning(column, reading, unit, "unit", CONFIDENCE["unit"], first_pace)
        is_small = 0 < typical < _BARE_S or (typical < _RAW_S and _is_raw(column))
        is_likely = is_small or rows.counts_epochs or column.has_mean  # meters of waits are in seconds
        return doubt._replace(unit_s=1.0, reason="size", confidence=CONFIDENCE["size"] if is_likely else 0.0)
    if column.has_mean and (stated or typical < _BARE_S):
        return Meaning(column, "step", unit, "meter", CONFIDENCE["meter"], first_pace)
    by_spacing = _by_spacing(column, rows)
    if by_spacing is not None and (stated or typical < _BARE_S):
        pace = next(guess[0] for guess in guesses if guess[1] == by_spacing)
        return Meaning(
            column, by_spacing, unit, "spacing", CONFIDENCE["spacing"] if stated else CONFIDENCE["size"], pace
        )
    if column.field.unit == "ms" and typical < _LONG_MS:
        return Meaning(column, "step", unit, "unit", CONFIDENCE["size"], first_pace)
    return doubt


def _is_raw(column: TimeColumn) -> bool:
    """Whether a figure is printed with all its digits: the difference of two clocks of a program, which are seconds."""
    return len(column.field.text.partition(".")[2]) >= _RAW_DECIMALS


# How near the first step's time must be to the others' so that it is no slow first step beside the sums of many.
_AS_SLOW = 0.15
_STEADY, _MOST, _FEW, _TWO = 0.03, 0.9, 8, 2


def _by_spacing(column: TimeColumn, rows: StepLines) -> Reading | None:
    """Whether a figure goes with the number of steps since the last line, where that is not always the same."""
    values, since = column.values, rows.since
    usual = float(median(since))
    odd = np.flatnonzero((since > 0) & ~rows.resets & ((since > 1.5 * usual) | (since < usual / 1.5)))
    level = float(np.nanmedian(values))
    if rows.steps[0] <= 1 and usual >= 5 and np.isfinite(values[0]) and level > 0:
        # The first line is of one step alone. It may be slow (warming up), but hardly just as slow as all the others.
        if values[0] < 0.5 * level:
            return "interval"
        if abs(math.log(values[0] / level)) < _AS_SLOW:
            return "step"
    if len(odd) < 1:
        return "interval" if _falls_after_stops(values, level, rows) else None
    as_step = np.abs(np.log(np.maximum(values[odd + 1], 1e-12) / level))
    as_interval = np.abs(np.log(np.maximum(values[odd + 1], 1e-12) / (level * since[odd] / usual)))
    return _clear_reading(float(median(as_step)), float(median(as_interval)))


def _falls_after_stops(values: Floats, level: float, rows: StepLines) -> bool:
    """Whether a steady figure is smaller on lines that come after others (an evaluation): a sum that begins again.

    One step is not done faster after a stop, but fewer of them are when a timer starts again in mid-window.
    """
    known = np.isfinite(values)
    if rows.interrupted is None or level <= 0 or rows.resets.any():
        return False
    after, others = values[known & rows.interrupted][1:] / level, values[known & ~rows.interrupted] / level
    if len(others) < _FEW or not len(after):
        return False
    is_steady = float((np.abs(others - 1) < _STEADY).mean()) > _MOST
    return is_steady and int((after < 1 - 3 * _STEADY).sum()) >= _TWO and float(after.max()) < 1 + 3 * _STEADY


def _clear_reading(as_step: float, as_interval: float) -> Reading | None:
    """The reading whose error is small where the other's is large (as logarithms of a ratio)."""
    if as_step < _AGREES and as_interval > 2 * _AGREES:
        return "step"
    return "interval" if as_interval < _AGREES and as_step > 2 * _AGREES else None


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


def _only_grows(column: TimeColumn, rows: StepLines) -> bool:
    """Whether a figure that grows is the time of steps that get slower: its first value is too large for a clock's."""
    says_so = bool(set(column.field.key.replace("_", " ").split()) & RUNNING_WORDS)
    values = column.values[np.isfinite(column.values)]
    if says_so or column.field.kind != "number" or rows.resets.any() or rows.steps[-1] <= rows.steps[0]:
        return False
    pace = float(values[-1] - values[0]) / float(rows.steps[-1] - rows.steps[0])
    first = pace * max(1.0, float(rows.steps[0]))
    return bool(values[0] > _TOO_LARGE * first and values[-1] < 2 * _TOO_LARGE * values[0])


def _running_clock(column: TimeColumn, rows: StepLines, evidence: list[tuple[Reason, float]]) -> Choice | None:
    """A clock that runs: of a stated unit, of one that other evidence shows, or a bare number named like a clock."""
    pace = clock_pace(column, rows.since, rows.resets)
    if pace is None or not _PACES[0] < pace < _PACES[1]:
        return None
    says_so = bool(set(column.field.key.replace("_", " ").split()) & RUNNING_WORDS)
    if not says_so and column.readings == ("clock",) and _is_time_of_day(column, rows, pace):
        return Choice("stamp", Meaning(column, "clock", 1.0, "unit", 0.8, pace), "unit", 0.8)
    if column.unit_s is not None:
        sure = 0.9 if says_so or column.field.kind != "number" else 0.8
        return Choice("cumulative", Meaning(column, "clock", column.unit_s, "unit", sure, pace), "unit", sure)
    for found, other in evidence:
        unit = min(_CLOCK_UNITS, key=lambda unit: abs(math.log(pace * unit / other)))
        if abs(math.log(pace * unit / other)) < NEAR:
            sure = CONFIDENCE[found]
            return Choice("cumulative", Meaning(column, "clock", unit, found, sure, pace * unit), found, sure)
    unit = _plausible_unit(column, rows)
    reason: Reason = "name" if unit == 1.0 else "amounts"
    sure = CONFIDENCE[reason] if says_so else CONFIDENCE["size"]
    return Choice("cumulative", Meaning(column, "clock", unit, reason, sure, pace * unit), reason, sure)


def _is_time_of_day(column: TimeColumn, rows: StepLines, pace: float) -> bool:
    """Whether a clock cannot have begun with the first step: it shows far more than the steps before it took."""
    known = column.values[np.isfinite(column.values)]
    return bool(known[-1] < _DAY_S and known[0] > _NOT_SINCE * pace * max(1.0, float(rows.steps[0])))


def _plausible_unit(column: TimeColumn, rows: StepLines) -> float:
    """Seconds, or the first longer unit in which the fastest count of updates is one that a machine can do."""
    known = column.values[np.isfinite(column.values)]
    passed = float(known[-1] - known[0])
    for unit in (1.0, 60.0, 3600.0):
        if passed <= 0 or rows.num_updates / (passed * unit) < _MOST_UPDATES:
            return unit
    return 1.0
