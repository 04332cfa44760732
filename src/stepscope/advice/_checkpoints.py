"""What several rules and reports ask about checkpoints: how often, how large, and how often they are needed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stepscope.advice._base import Situation
from stepscope.columns.statistics import distinct, median
from stepscope.forecast.finish import Forecast
from stepscope.run.model import Run

# Before anything is known: one crash in a week, counted as one seen.
_WEEK_S = 7 * 86400.0
# Weights and both moments of Adam in 32 bits, where the trainer's source does not say; in 16 bits, and with another
# 32-bit copy next to them.
_BYTES_PER_PARAMETER = (8.0, 12.0, 18.0)
_FEW = 4
# Names of the setting for how many checkpoints to keep.
_LIMITS = ("keep_saves", "save_total_limit", "keep_latest_k")


class Disk(NamedTuple):
    """What checkpoints take on disk: bytes of one, low and high; how many there will be, and how many of them stay."""

    each: float
    each_low: float
    each_high: float
    num: int
    num_kept: int | None  # None where unknown

    @property
    def keeps_all(self) -> bool:
        """Whether none is ever deleted."""
        return self.num_kept is not None and self.num_kept >= self.num

    @property
    def total(self) -> float | None:
        """Bytes at the end of the run."""
        return None if self.num_kept is None else self.each * self.num_kept


class Safety(NamedTuple):
    """What a crash may cost: steps between two checkpoints now, and what suits the user and this run's restarts."""

    interval: int
    at_stake_s: float
    best: int | None  # by Daly's rule; None where the cost of a checkpoint is unknown
    needed: int  # for what the user accepts to lose
    stall_s: float | None


def steps_between_checkpoints(run: Run) -> int | None:
    """Steps between two checkpoints: stated, that of the evaluations they follow, or read off the log."""
    stated = run.settings.count("checkpoint_interval")
    if stated is not None:
        return stated
    if run.format.habits.saves_only_after_evaluation:
        return run.settings.count("eval_interval")
    gaps = np.diff(distinct([stop.step for stop in run.stops if stop.saved and stop.step > 0]))
    return int(median(gaps)) if len(gaps) >= 2 else None


def seconds_between_crashes(situation: Situation) -> float:
    """Mean time between restarts: those seen in this run, and one in a week before anything is known."""
    crashes = max(0, len(situation.run.segments) - 1)
    return (situation.ledger.wall_s + _WEEK_S) / (crashes + 1)


def best_interval_s(stall_s: float, between_s: float) -> float:
    """Seconds of work between two checkpoints that lose the least (Young 1974, with Daly's terms of 2006)."""
    ratio = stall_s / (2 * between_s)
    if ratio >= 1:
        return between_s
    return math.sqrt(2 * stall_s * between_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - stall_s


def overhead(work_s: float, stall_s: float, between_s: float) -> float:
    """Seconds lost for each second of work: one checkpoint per interval, and half an interval done again per crash."""
    return stall_s / work_s + work_s / (2 * between_s)


def safety(situation: Situation) -> Safety | None:
    """How often to save for what the user accepts to lose; None where nothing was accepted or nothing is known."""
    interval, level = steps_between_checkpoints(situation.run), situation.level_s
    if situation.may_lose_s is None or interval is None or not level:
        return None
    price = situation.ledger.checkpoint_price
    best = None
    if price is not None and price.seconds > 0:
        best = max(1, round(best_interval_s(price.seconds, seconds_between_crashes(situation)) / level))
    return Safety(
        interval=interval,
        at_stake_s=interval * level,
        best=best,
        needed=max(1, round_down(situation.may_lose_s / level)),
        stall_s=price.seconds if price else None,
    )


def round_down(value: float) -> int:
    """A number that people would write, not above `value`: 1, 2 or 5 with noughts."""
    if value < 1:
        return 0
    scale = 10 ** math.floor(math.log10(value))
    return int(next(digit * scale for digit in (5, 2, 1) if digit * scale <= value))


def disk(situation: Situation) -> Disk | None:
    """What the checkpoints take on disk; None where none was seen or the model's size is unknown."""
    run = situation.run
    parameters = run.settings.number("trained_parameters") or run.settings.number("parameters")
    num = sum(kind == "checkpoint" for kind in run.events.kind)
    if not parameters or not num:
        return None
    if situation.is_future and isinstance(situation.forecast, Forecast):
        num += situation.forecast.left["checkpoint"].num or 0
    stated = next(filter(None, (run.settings.count(name) for name in _LIMITS)), None)
    kept = run.format.habits.kept_checkpoints if stated is None else stated
    own = run.format.habits.checkpoint_bytes_per_parameter
    low, middle, high = (own, own, own) if own else _BYTES_PER_PARAMETER
    return Disk(
        each=middle * parameters,
        each_low=low * parameters,
        each_high=high * parameters,
        num=num,
        num_kept=None if kept is None else min(num, kept or num),
    )


def improving_share(run: Run) -> tuple[float, float, float]:
    """Low, middle and high of the share of evaluations that will improve on the best so far, as the last half did."""
    losses = run.events.val_loss[np.isfinite(run.events.val_loss)]
    if len(losses) <= _FEW:
        return 0.0, 0.5, 1.0
    improved = losses[1:] < np.minimum.accumulate(losses)[:-1]
    late = improved[len(improved) // 2 :]
    middle = (float(late.sum()) + 0.5) / (len(late) + 1)
    doubt = 1.645 * math.sqrt(middle * (1 - middle) / (len(late) + 1))
    return max(0.0, middle - doubt), middle, min(1.0, middle + doubt)
