"""Complete a run's settings: what the user states, what a config says, and what the log itself shows.

Also where a stated interval and the log disagree: what happened beats what was written down,
unless the user said so on the command line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from stepscope.columns.statistics import median
from stepscope.core.settings import Settings, Value
from stepscope.run.mfu import Contradiction, contradictions_by_mfu, world_size_by_mfu
from stepscope.run.model import Run
from stepscope.run.stops import find_evaluations

# From this many events on, their spacing is evidence enough to overrule a config file.
_ENOUGH_EVENTS = 3
_MOSTLY = 0.7
# Spacings of at least this many steps that differ by one step count as equal.
_LONG = 50
# So are spacings of at least this many printed lines that differ by one line.
_COARSE = 5
# nanoGPT's tokens per iteration are the product of these.
_TOKENS = ("gradient_accumulation_steps", "batch_size", "block_size")


def with_settings(
    run: Run, *, config: Mapping[str, Value] | None = None, flags: Mapping[str, Value] | None = None
) -> Run:
    """`run` with its settings completed from `config`, `flags` and the spacing of its last training's own lines."""
    settings, own = run.settings, run.training(-1)
    if config is not None:
        settings = settings.with_layer(
            {run.format.controls.canonical(key): value for key, value in config.items()}, "config"
        )
        settings = settings.with_layer(run.format.controls.defaults, "default")
    settings = settings.with_layer(
        {run.format.controls.canonical(key): value for key, value in (flags or {}).items()}, "flag"
    )
    settings = _with_interval(settings, "log_interval", *log_interval(own))
    settings = _with_interval(settings, "eval_interval", *evaluation_interval(own))
    settings = _with_shipped(own, settings)
    if settings.count("checkpoint_interval") is None:
        follows = run.format.habits.saves_only_after_evaluation
        settings = _with_checkpoint_interval(own, settings) if follows else _with_save_interval(own, settings)
    settings = _with_accumulation(settings)
    if "world_size" not in settings and (ranks := world_size_by_mfu(own, settings)) is not None:
        settings = settings.replaced("world_size", ranks, "detected")
    return run.with_settings(settings)


def contradictions(run: Run) -> list[Contradiction]:
    """Settings that the log's own lines disprove."""
    settings = run.settings
    found = [
        Contradiction(name, stated.value, settings[name].value)
        for name, stated in settings.overruled.items()
        if stated.origin in {"config", "log"} and name in {"eval_interval", "log_interval"}
    ]
    every, num_events = evaluation_interval(run)
    stated_every = settings.count("eval_interval")
    if every and stated_every and num_events >= _ENOUGH_EVENTS and every % stated_every:
        found.append(Contradiction("eval_interval", stated_every, every))
    sizes = [settings.get(name) for name in _TOKENS]
    printed = settings.get("tokens_per_step")
    if printed is not None and printed.origin == "log" and all(size and size.origin != "default" for size in sizes):
        product = math.prod(settings.count(name) or 0 for name in _TOKENS)
        tokens = settings.count("tokens_per_step")
        if product and tokens and not _are_of_all_ranks(run, product, tokens):
            found.append(Contradiction("tokens_per_step", product, tokens))
            return found
    return found + contradictions_by_mfu(run.training(-1))


def _are_of_all_ranks(run: Run, product: int, tokens: int) -> bool:
    """Whether `tokens` is what all ranks take in a step, when batch, block and accumulation make `product`.

    Most trainers count the accumulation of one rank; how many ranks there are is not always in the log.
    """
    if run.format.controls.accumulation_is_total:
        return product == tokens
    ranks = run.settings.count("world_size")
    return tokens == product * ranks if ranks else tokens % product == 0


def log_interval(run: Run) -> tuple[int | None, int]:
    """The greatest common spacing of the printed steps, and how many spacings it rests on."""
    return _common_spacing(run.steps.step, run.steps.segment)


def evaluation_interval(run: Run) -> tuple[int | None, int]:
    """The greatest common spacing of the evaluations, and how many evaluations it rests on."""
    stops = [stop for stop in find_evaluations(run) if stop.printed]
    if not stops:
        return None, 0
    steps, segments = np.array([stop.step for stop in stops]), np.array([stop.segment for stop in stops])
    # An evaluation before the first step is printed with that step's number, even if it is not 0.
    is_first = len(stops) > _ENOUGH_EVENTS - 1 and stops[0].next_row == 0
    if not is_first and stops[0].next_row == 0 and steps[0] == run.format.layout.first_step == 1:
        steps[0] = 0
    grain = _grain(run)
    every, _ = _common_spacing(steps[is_first:], segments[is_first:], grain)
    # Many trainers evaluate once more after their last step, wherever that is.
    if len(run) and int(steps[-1]) >= int(run.steps.step[-1]) and len(set(steps.tolist())) >= _ENOUGH_EVENTS:
        before = steps < steps[-1]
        usual, _ = _common_spacing(steps[before], segments[before], grain)
        if usual is not None and every is not None and usual > every:
            every = usual
    return every, len(set(steps.tolist()))


def _grain(run: Run) -> int:
    """How far off an evaluation's step may be: where its line does not say it, by the steps between two lines."""
    states_step = (
        int(step) >= 0 for step, kind in zip(run.events.step, run.events.kind, strict=True) if kind == "evaluation"
    )
    return 0 if any(states_step) else log_interval(run)[0] or 0


def _common_spacing(steps: np.ndarray, segments: np.ndarray, grain: int = 0) -> tuple[int | None, int]:
    """The spacing of events and how many spacings it rests on; `grain` is how far off the steps may be."""
    if len(steps) < 2:
        return None, 0
    gaps = np.diff(steps)[np.diff(segments) == 0]
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return None, 0
    common, middle = int(np.gcd.reduce(gaps)), int(median(gaps))
    # Epochs are a step longer or shorter where the batches do not come out even.
    if common < middle and middle >= _LONG and int(np.abs(gaps - middle).max()) <= max(1, middle // 100):
        return middle, len(gaps)
    mean = float(gaps.mean())
    if common < middle and mean >= _COARSE * grain > 0 and float(np.abs(gaps - mean).max()) <= grain:
        return round(mean), len(gaps)
    # One odd spacing (the last step, a resume) must not spoil what all the others say.
    values, counts = zip(*sorted(_count(gaps).items(), key=lambda item: (-item[1], item[0])), strict=True)
    if common < values[0] and counts[0] >= _MOSTLY * len(gaps):
        return int(values[0]), len(gaps)
    return common, len(gaps)


def _count(gaps: np.ndarray) -> dict[int, int]:
    found: dict[int, int] = {}
    for gap in gaps.tolist():
        found[gap] = found.get(gap, 0) + 1
    return found


def _with_interval(settings: Settings, name: str, every: int | None, num_seen: int) -> Settings:
    if every is None:
        return settings
    known = settings.get(name)
    if known is None or known.origin == "default":
        return settings.replaced(name, every, "detected")
    stated = settings.count(name)
    # A sparser log than stated may have been cut or pasted; a denser or shifted one disproves the statement.
    if known.origin != "flag" and num_seen >= _ENOUGH_EVENTS and (stated is None or every % stated):
        return settings.replaced(name, every, "detected")
    return settings


def _with_shipped(run: Run, settings: Settings) -> Settings:
    """The settings with a shipped config's evaluation interval, before the log shows one.

    Only for a run that prints as often and lasts as long as that config, and contradicts it in nothing.
    """
    every, total = settings.count("log_interval"), settings.count("max_steps")
    if "eval_interval" in settings or every is None or total is None or not len(run):
        return settings
    for config in run.format.controls.shipped_configs:
        known = [name for name in config if name in settings and name not in {"log_interval", "max_steps"}]
        # A log of every tenth step need not print the last one.
        is_same = config["log_interval"] == every and 0 <= config["max_steps"] - total <= every
        has_come = int(run.steps.step[-1]) >= config["eval_interval"]
        if is_same and not has_come and all(settings[name].value == config[name] for name in known):
            return settings.with_layer(config, "default")
    return settings


def _with_checkpoint_interval(run: Run, settings: Settings) -> Settings:
    """A trainer that saves only after an evaluation saves at its interval, if it always saves."""
    evaluation = settings.get("eval_interval")
    if evaluation is None:
        return settings
    always = settings.truth("always_save_checkpoint")
    if always:
        return settings.replaced("checkpoint_interval", evaluation.value, evaluation.origin)
    if always is None and all_evaluations_saved(run):
        return settings.replaced("checkpoint_interval", evaluation.value, "detected")
    return settings


def _with_save_interval(run: Run, settings: Settings) -> Settings:
    """A trainer that saves on its own beat shows it, once there are enough checkpoints."""
    stops = [stop for stop in run.stops if stop.saved and stop.printed and stop.step >= 0]
    if len(stops) < _ENOUGH_EVENTS:
        return settings
    steps, segments = np.array([stop.step for stop in stops]), np.array([stop.segment for stop in stops])
    gaps = np.diff(steps)[np.diff(segments) == 0]
    every, num = _common_spacing(steps, segments)
    # A checkpoint now and then, whenever something improved, has no beat.
    if every is None or num < _ENOUGH_EVENTS - 1 or int((gaps == every).sum()) < _MOSTLY * len(gaps):
        return settings
    return settings.replaced("checkpoint_interval", every, "detected")


def all_evaluations_saved(run: Run) -> bool:
    """Whether at least two evaluations past the first step were seen and every one was followed by a checkpoint."""
    flags = [evaluation.saved for evaluation in find_evaluations(run) if evaluation.step > 0]
    return len(flags) >= 2 and all(flags)


def _with_accumulation(settings: Settings) -> Settings:
    """Accumulation from tokens per step, where it is only a default: tokens = accumulation x batch x block."""
    known = settings.get("gradient_accumulation_steps")
    if known is not None and known.origin != "default":
        return settings
    tokens, batch, block = (settings.count(name) for name in ("tokens_per_step", "batch_size", "block_size"))
    stated = [settings[name].origin != "default" for name in ("batch_size", "block_size") if name in settings]
    if tokens and batch and block and all(stated) and tokens % (batch * block) == 0:
        return settings.replaced("gradient_accumulation_steps", tokens // (batch * block), "detected")
    return settings
