"""What the printed MFU says about the run: operations per step, and with the settings, ranks, batch or model size.

nanoGPT prints a running mean of (operations per step / step time) over the peak of one GPU, always the same one: mean =
0.9 x mean of the line before + 0.1 x this step's. Undoing that mean gives the operations per step that the trainer
assumes. They do not depend on the GPU or on the step time, only on settings: settings that give another number are not
the run's, or this copy of the trainer divides by the peak of another GPU.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.settings import Settings, Value
from stepscope.core.units import NS
from stepscope.run.model import Run

# Weight of the new figure in the running mean.
_NEW = 0.1
# MFU is printed to a hundredth of a percent; two lines' rounding is in each figure.
_ROUNDING = 0.5e-4 * (2 - _NEW) / _NEW
_LEAST_ROWS = 20
# Rounding alone must leave a single figure this good for it to count: below some 0.4 % of the peak it does not.
_WORST_ROUNDING = 0.25
# The tolerance for errors other than rounding of the MFU: printed times are rounded too, and a step or two may be
# missing between the lines.
_LEAST_TOLERANCE = 0.01


class Operations(NamedTuple):
    """Floating-point operations of one step on one rank, and how far off they may be, as a share."""

    per_step: float
    tolerance: float
    num_rows: int


class Contradiction(NamedTuple):
    """A setting, what was stated, and what the lines show. `by_mfu`: the evidence is the printed MFU."""

    setting: str
    stated: Value
    seen: Value
    by_mfu: bool = False


def operations(run: Run) -> Operations | None:
    """What the printed MFU makes of a step; None where the lines do not carry it, or only in its rounding."""
    peak, steps = run.format.habits.mfu_peak_tflops, run.steps
    if peak is None or not run.clock.is_per_step or len(run) <= _LEAST_ROWS:
        return None
    before, after = steps.mfu[:-1], steps.mfu[1:]
    usable = (np.diff(steps.segment) == 0) & (before > 0) & (after > 0) & (steps.dur_ns[1:] > 0)
    own = (after - (1 - _NEW) * before)[usable] / _NEW
    good = own > _ROUNDING / _WORST_ROUNDING
    if int(good.sum()) < _LEAST_ROWS:
        return None
    found = own[good] * peak * 1e12 * steps.dur_ns[1:][usable][good] / NS
    middle = float(median(found))
    # Evaluating steps have a tiny MFU, and with it a large rounding: they are the ones left out above, if any.
    scatter = 1.4826 * float(median(np.abs(found / middle - 1)))
    rounding = _ROUNDING / float(median(own[good]))
    tolerance = 3 * max(scatter, rounding) / math.sqrt(len(found))
    return Operations(middle, max(_LEAST_TOLERANCE, tolerance), len(found))


def world_size_by_mfu(run: Run, settings: Settings) -> int | None:
    """How many ranks share a step: the stated operations over those of one rank, where that is a whole number."""
    seen, stated = operations(run), _stated_operations(settings)
    accumulation = settings.count("gradient_accumulation_steps")
    if seen is None or stated is None or accumulation is None:
        return None
    ranks = round((stated[0] + stated[1]) / 2 / seen.per_step)
    if ranks < 2 or accumulation % ranks or not _agrees(ranks * seen.per_step, stated, seen.tolerance):
        return None
    return ranks


def contradictions_by_mfu(run: Run) -> list[Contradiction]:
    """Settings that cannot all be true if the printed MFU is: which one, and what it would have to be."""
    settings = run.settings
    seen, stated = operations(run), _stated_operations(settings)
    if seen is None or stated is None:
        return []
    ranks = settings.count("world_size") or 1
    total = seen.per_step * ranks
    if _agrees(total, stated, seen.tolerance):
        return []
    count = _count_that_settles(settings, total / math.sqrt(stated[0] * stated[1]), ranks)
    if count is not None:
        name, value, number = count
        # Fewer ranks, or more micro-steps, make a step of one rank as much larger.
        fitting = total * (number / ranks if name == "world_size" else value / number)
        if _agrees(fitting, stated, seen.tolerance):
            return [Contradiction(name, value, number, by_mfu=True)]
    parameters, tokens = settings.number("parameters"), _tokens(settings)
    if parameters is None or tokens is None:
        return []
    implied = parameters * total / math.sqrt(stated[0] * stated[1])
    return [Contradiction("parameters", int(parameters), _rounded(implied), by_mfu=True)]


def _count_that_settles(settings: Settings, ratio: float, ranks: int) -> tuple[str, int, int] | None:
    """The count that may be wrong: (name, what is stated, what it would be). Printed tokens leave only the ranks."""
    printed, accumulation = settings.get("tokens_per_step"), settings.count("gradient_accumulation_steps")
    if printed is not None and printed.origin == "log":
        number = round(ranks / ratio)
        return ("world_size", ranks, number) if number >= 1 and number != ranks else None
    if accumulation is None:
        return None
    number = round(accumulation * ratio)
    return ("gradient_accumulation_steps", accumulation, number) if number >= 1 and number != accumulation else None


def _agrees(seen: float, stated: tuple[float, float], tolerance: float) -> bool:
    return stated[0] * (1 - tolerance) <= seen <= stated[1] * (1 + tolerance)


def _stated_operations(settings: Settings) -> tuple[float, float] | None:
    """Operations of one step on all ranks by the settings, at least and at most; None where they do not fix it."""
    parameters, tokens, block = settings.number("parameters"), _tokens(settings), settings.count("block_size")
    if not parameters or not tokens or not block:
        return None
    # Printed to a hundredth of a million, it is the figure without position embeddings; a full count has them.
    has_positions = parameters % 10_000 != 0
    found = [
        6 * (parameters - has_positions * block * width) + 12.0 * layers * width * block
        for layers, width in _shapes(settings, parameters, block)
    ]
    return (min(found) * tokens, max(found) * tokens) if found else None


def _shapes(settings: Settings, parameters: float, block: int) -> list[tuple[int, int]]:
    """Layers and width: as stated, or all that have this many parameters."""
    layers, width = settings.count("n_layer"), settings.count("n_embd")
    if layers is not None and width is not None:
        return [(layers, width)]
    words = settings.count("vocab_size") or 50304
    found = []
    for wide in range(64, 4097, 64):
        deep = round((parameters - (words + block) * wide) / (12 * wide * wide))
        if 1 <= deep <= 96 and abs((words + block) * wide + 12 * deep * wide * wide - parameters) < 0.005 * parameters:
            found.append((deep, wide))
    return found


def _tokens(settings: Settings) -> float | None:
    """Tokens of one step on all ranks: as printed, else accumulation x batch x block where those were stated."""
    printed = settings.number("tokens_per_step")
    if printed is not None:
        return printed
    names = ("batch_size", "block_size", "gradient_accumulation_steps")
    if any(name not in settings or settings[name].origin == "default" for name in names):
        return None
    sizes = [settings.number(name) for name in names]
    return math.prod(size for size in sizes if size is not None) if None not in sizes else None


def _rounded(value: float) -> int:
    """To two digits: more would claim more than the MFU knows."""
    unit = int(10 ** max(0, math.floor(math.log10(value)) - 1))
    return round(value / unit) * unit
