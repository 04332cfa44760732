"""What a figure of an unknown log's step lines times: one step or all since the last line, and in which unit.

The reading that other evidence agrees with is taken; without any, the likeliest, or none where two are as likely.
"""

from __future__ import annotations

import math

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.units import NS
from stepscope.infer.step_rows import StepLines
from stepscope.infer.time_figures import (
    CLEAR,
    NEAR,
    Floats,
    Meaning,
    Reading,
    Reason,
    TimeColumn,
    median_pace,
    paces_of,
)

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
# Nobody waits for a step of ten seconds and prints it in milliseconds when it is one of many; and a bare number up to
# ten is seconds: a step of a few milliseconds would be printed as 3.2 only under a name that says so.
_LONG_MS = 10_000.0
_BARE_S = 10.0
# Up to this size where it is printed unrounded.
_RAW_S, _RAW_DECIMALS = 3600.0, 8
PACES = (1e-5, 1e6)
_UNITS = (1.0, 1e-3, 1e-6, 60.0)  # the likeliest first
_AGREES = 0.2
# Of a run's whole time: evaluations, checkpoints and start-up are beside its steps.
LEAST_FILLED, MOST_FILLED = 0.4, 1.03
_SEVERAL = 2
# How near the first step's time must be to the others' so that it is no slow first step beside the sums of many.
_AS_SLOW = 0.15
_STEADY, _MOST, _FEW, _TWO = 0.03, 0.9, 8, 2
# Of minutes that nothing states, none is so many times what passed between the first and the last line.
_LONGER = 2.0


def meaning_of(column: TimeColumn, rows: StepLines, evidence: list[tuple[Reason, float]]) -> Meaning | None:
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
    guesses = [guess for guess in guesses if PACES[0] < guess[0] < PACES[1]]
    if not guesses:
        return None
    for reason, pace in evidence:
        ranked = sorted((abs(math.log(guess[0] / pace)), guess) for guess in guesses)
        is_clear = len(ranked) == 1 or ranked[1][0] - ranked[0][0] > CLEAR
        if ranked[0][0] < NEAR and is_clear:
            _, (guess, reading, unit) = ranked[0]
            if reason == "stamps" and column.unit_s is None and unit > 1 and not _fits_stamps(column, unit, rows):
                continue  # the medians meet by chance
            return Meaning(column, reading, unit, reason, CONFIDENCE[reason], guess)
    likely = [guess for guess in guesses if guess[2] in units[:plain]] or guesses
    by_total = _by_total(rows, likely)
    if by_total is not None:
        pace, reading, unit = by_total
        return Meaning(column, reading, unit, "total", CONFIDENCE["total"], pace)
    return _without_evidence(column, rows, likely)


def _fits_stamps(column: TimeColumn, unit: float, rows: StepLines) -> bool:
    """Whether no figure, in a unit that it does not state, is longer than the timestamps of all lines leave."""
    known = rows.t_ns[np.isfinite(rows.t_ns)]
    longest = float(np.nanmax(column.values)) * unit
    return len(known) < _FEW or longest < _LONGER * float(known.max() - known.min()) / NS


def _by_total(rows: StepLines, guesses: list[tuple[float, Reading, float]]) -> tuple[float, Reading, float] | None:
    """The one guess whose steps fill most of what the whole run took, and no more; none where several do, or none."""
    since = rows.since
    if not rows.run_s or len(guesses) < _SEVERAL or bool((since < 0).any()):
        return None
    num_steps = float(rows.steps[-1] - rows.steps[0] + median(since))
    fitting = [guess for guess in guesses if LEAST_FILLED <= guess[0] * num_steps / rows.run_s <= MOST_FILLED]
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


def _by_spacing(column: TimeColumn, rows: StepLines) -> Reading | None:
    """Whether a figure goes with the number of steps since the last line, where that is not always the same."""
    values, since = column.values, rows.since
    usual = float(median(since))
    odd = np.flatnonzero((since > 0) & ~rows.resets & ((since > 1.5 * usual) | (since < usual / 1.5)))
    level = float(np.nanmedian(values))
    if level <= 0:
        return None  # no time: a difference, a slope
    if rows.steps[0] <= 1 and usual >= 5 and np.isfinite(values[0]):
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
