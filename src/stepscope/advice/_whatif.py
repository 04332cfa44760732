"""What exactly a change would do: counts recomputed, prices scaled, everything else as it is.

Works on the result of the forecast (or of the ledger where nothing is left), class by class, so that no change saves
nothing, and no change saves more than the class it touches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from stepscope.advice._base import Effect, batch_loss_sd
from stepscope.core.settings import Value
from stepscope.forecast.finish import Forecast, NoForecast, WorkLeft
from stepscope.forecast.schedule import plan
from stepscope.ledger.phases import Ledger
from stepscope.run.model import Run

CLASSES = ("step", "evaluation", "checkpoint")
# Settings whose effect on time can be worked out; of these, the second line also changes what is learned.
_TIMED = {"eval_interval", "eval_iters", "estimate_loss", "checkpoint_interval", "always_save_checkpoint"}
_LEARNED = {"max_steps", "batch_size", "gradient_accumulation_steps", "block_size"}
_BOTH_SPLITS = "['train', 'val']"
_HARMLESS = {"log_interval"}
CHANGEABLE = frozenset(_TIMED | _LEARNED | _HARMLESS)


class WhatIf(NamedTuple):
    """What changes do. `saves` is negative where they cost time. Classes: step, evaluation, checkpoint."""

    changes: Mapping[str, tuple[Value | None, Value]]  # setting → (now, then)
    before: Mapping[str, WorkLeft]
    after: Mapping[str, WorkLeft]
    saves_s: float
    saves_low_s: float
    saves_high_s: float
    after_s: float
    after_low_s: float
    after_high_s: float | None  # None where the log sets no upper bound
    is_future: bool
    error_before: float | None  # standard error of the validation loss
    error_after: float | None
    effect: Effect | None  # effect on what is learned; None where unknown
    unknown: tuple[str, ...]  # settings whose effect this log cannot show

    @property
    def changes_result(self) -> bool | None:
        """Whether the model that comes out was trained in another way; None where unknown."""
        return None if self.effect is None else self.effect == "learning"


def what_if(run: Run, ledger: Ledger, end: Forecast | NoForecast, changes: Mapping[str, Value]) -> WhatIf:
    """The rest of the run (or the logged run, where nothing is left) under `changes`, by Stepscope's names."""
    is_future = isinstance(end, Forecast) and not end.is_finished
    before = _future(end) if isinstance(end, Forecast) and is_future else _past(ledger)
    unknown = [name for name in changes if name not in CHANGEABLE]
    after: dict[str, WorkLeft] = {}
    for name in CLASSES:
        if isinstance(end, Forecast) and is_future:
            counts = _future_counts(name, run, end, changes, unknown)
        else:
            counts = _past_counts(name, run, changes, unknown)
        after[name] = _scaled(before[name], counts, _price(name, run, changes, unknown))
    saved = {name: (before[name].seconds or 0.0) - (after[name].seconds or 0.0) for name in CLASSES}
    saves_s = sum(saved.values())
    low, high = _range(ledger, saved)
    total = end.remaining_s if isinstance(end, Forecast) and is_future else ledger.wall_s
    span = (
        (end.low_s, end.high_s) if isinstance(end, Forecast) and is_future else (ledger.wall_low_s, ledger.wall_high_s)
    )
    after_s = max(0.0, total - saves_s)
    share = after_s / total if total else 1.0
    errors = _errors(run, changes)
    return WhatIf(
        changes={name: (_now(run, name), value) for name, value in changes.items()},
        before=before,
        after=after,
        saves_s=saves_s,
        saves_low_s=low,
        saves_high_s=high,
        after_s=after_s,
        after_low_s=span[0] * share,
        after_high_s=span[1] * share if math.isfinite(span[1]) else None,
        is_future=is_future,
        error_before=errors[0],
        error_after=errors[1],
        effect=None if unknown else _effect(run, changes),
        unknown=tuple(dict.fromkeys(unknown)),
    )


def _effect(run: Run, changes: Mapping[str, Value]) -> Effect:
    """What the changes do to the model that comes out."""
    if _tokens_factor(run, changes) != 1.0 or _differs(run, changes, ("max_steps", "block_size")):
        return "learning"
    shares_generator = run.format.habits.evaluation.shares_generator
    if shares_generator and _differs(run, changes, ("eval_interval", "eval_iters", "estimate_loss")):
        return "draws"
    return "rounding" if _differs(run, changes, ("batch_size",)) else "none"


def _differs(run: Run, changes: Mapping[str, Value], names: tuple[str, ...]) -> bool:
    return any(name in changes and changes[name] != _now(run, name) for name in names)


def _future(end: Forecast) -> dict[str, WorkLeft]:
    return {name: end.left.get(name, WorkLeft(num=0, seconds=0.0)) for name in CLASSES}


def _past(ledger: Ledger) -> dict[str, WorkLeft]:
    found = {name: WorkLeft(num=0, seconds=0.0) for name in CLASSES}
    for total in ledger.phases:
        if total.phase in found:
            found[total.phase] = WorkLeft(num=total.num, seconds=total.seconds)
    return found


def _now(run: Run, name: str) -> Value | None:
    if name == "estimate_loss":
        return _BOTH_SPLITS if (run.format.habits.evaluation.num_splits or 0) > 1 else None
    setting = run.settings.get(name)
    return setting.value if setting is not None else None


def _future_counts(name: str, run: Run, end: Forecast, changes: Mapping[str, Value], unknown: list[str]) -> float:
    """How many more or fewer there will be, as a factor."""
    total, every = changes.get("max_steps", end.schedule.max_steps), changes.get("eval_interval")
    if not isinstance(total, int):
        return 1.0
    then = plan(run, total, evaluation_interval=every if isinstance(every, int) else None)
    steps, evaluations = then.num_steps / max(1, end.schedule.num_steps), 1.0
    if end.schedule.num_evaluations and then.num_evaluations is not None:
        evaluations = then.num_evaluations / end.schedule.num_evaluations
    if name in {"step", "evaluation"}:
        return steps if name == "step" else evaluations
    follows = run.format.habits.saves_only_after_evaluation
    return _saves(run, end.schedule.save_probability, changes, unknown) * (evaluations if follows else steps)


def _past_counts(name: str, run: Run, changes: Mapping[str, Value], unknown: list[str]) -> float:
    """The same over the logged run: intervals stretch, lengths scale."""
    length = 1.0
    if "max_steps" in changes:
        length = _ratio(run, "max_steps", changes, unknown)
    if name == "step":
        return length
    evaluations = 1 / _ratio(run, "eval_interval", changes, unknown) if "eval_interval" in changes else 1.0
    if name == "evaluation":
        return length * evaluations
    follows = run.format.habits.saves_only_after_evaluation
    return length * _saves(run, 1.0, changes, unknown) * (evaluations if follows else 1.0)


def _saves(run: Run, probability: float, changes: Mapping[str, Value], unknown: list[str]) -> float:
    factor = 1.0
    if "checkpoint_interval" in changes:
        factor = 1 / _ratio(run, "checkpoint_interval", changes, unknown)
    always = changes.get("always_save_checkpoint")
    if always is True and probability > 0:
        factor /= probability
    elif always is False and run.settings.truth("always_save_checkpoint") is not False:
        # Nothing shows which evaluations improve: half of them is the guess that A104 makes too.
        factor *= 0.5
    return factor


def _price(name: str, run: Run, changes: Mapping[str, Value], unknown: list[str]) -> float:
    """How much more or less one of them costs, as a factor."""
    if name == "step":
        return _tokens_factor(run, changes)
    if name == "checkpoint":
        return 1.0
    factor = 1.0
    for setting in ("eval_iters", "batch_size", "block_size"):
        if setting in changes:
            factor *= _ratio(run, setting, changes, unknown)
    splits = run.format.habits.evaluation.num_splits
    if "estimate_loss" in changes:
        if splits:
            factor *= (1 if "train" not in str(changes["estimate_loss"]) else 2) / splits
        else:
            unknown.append("estimate_loss")
    return factor


def _tokens_factor(run: Run, changes: Mapping[str, Value]) -> float:
    """Tokens per step, then over now: the step's cost follows them; the same tokens in other portions cost the same."""
    factor = 1.0
    for name in ("batch_size", "gradient_accumulation_steps", "block_size"):
        value, now = changes.get(name), run.settings.number(name)
        if isinstance(value, int | float) and now:
            factor *= float(value) / now
    return factor


def _ratio(run: Run, name: str, changes: Mapping[str, Value], unknown: list[str]) -> float:
    value, now = changes[name], run.settings.number(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not now or value <= 0:
        unknown.append(name)
        return 1.0
    return float(value) / now


def _scaled(left: WorkLeft, counts: float, price: float) -> WorkLeft:
    return WorkLeft(
        num=None if left.num is None else round(left.num * counts),
        seconds=None if left.seconds is None else left.seconds * counts * price,
    )


def _range(ledger: Ledger, saved: Mapping[str, float]) -> tuple[float, float]:
    """What is saved, at the low and the high end of each price."""
    ends = [0.0, 0.0]
    prices = {"evaluation": ledger.evaluation_price, "checkpoint": ledger.checkpoint_price}
    for name, seconds in saved.items():
        price = prices.get(name)
        low, high = 1.0, 1.0
        if price is not None and price.seconds:
            low, high = price.low_s / price.seconds, price.high_s / price.seconds
        pair = sorted((seconds * low, seconds * high))
        ends = [ends[0] + pair[0], ends[1] + pair[1]]
    return ends[0], ends[1]


def _errors(run: Run, changes: Mapping[str, Value]) -> tuple[float | None, float | None]:
    """The standard error of the validation loss, now and then."""
    sd, batches = batch_loss_sd(run), run.settings.number("eval_iters")
    if sd is None or not batches:
        return None, None
    then = changes.get("eval_iters", batches)
    if not isinstance(then, int | float) or then <= 0:
        return sd / batches**0.5, None
    size, larger = run.settings.number("batch_size"), changes.get("batch_size")
    factor = float(larger) / size if size and isinstance(larger, int | float) else 1.0
    return sd / batches**0.5, sd / (float(then) * factor) ** 0.5
