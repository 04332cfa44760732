"""What is known about evaluations and checkpoints before a log says anything: first principles with ranges.

An evaluation is `splits x eval_iters` forward passes. A forward pass is a share of a micro-step: in theory a
third, measured 0.28 to 0.42 on GPUs, less where the optimiser or a slowed step takes the rest of the time.
A checkpoint is about 12 bytes a parameter, divided by the speed of the disk: 180 to 650 MB/s end to end on GPU
machines, over 1 GB/s where it only reaches the page cache.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stepscope.core.settings import Settings
from stepscope.lines.format import Format

_FORWARD_SHARE = 0.34
_FORWARD_LOG_SD = 0.17
# Bytes an optimiser moves per parameter cost as much as this many floating-point operations: 270 to 500
# measured on a CPU, about 2,000 by data sheet on a GPU.
_OPTIMISER_FLOPS = {"cpu": 400.0, "cuda": 2000.0}
_ANY_OPTIMISER_FLOPS = 900.0
_OPTIMISER_LOG_SD = 0.8
# Without settings: 5 to 200 batches of two splits, over 1 to 40 micro-steps; elsewhere a whole validation set.
_ANY_EVALUATION_STEPS = (20.0, 1.3)
_VALIDATION_SET_STEPS = (30.0, 2.0)
_DISK_BYTES_PER_S = 330e6
_DISK_LOG_SD = 0.85
# Peak of one core: 100 GFLOP/s in float32, 10 GB/s; AdamW and clipping move 40 bytes a parameter. A step
# takes up to three times the sum on a quiet machine.
_CPU_FLOPS = 100e9
_CPU_BYTES_PER_S = 10e9
_OPTIMISER_BYTES = 40.0
_USUAL_OVERHEAD = 3.0
# How much a checkpoint is slowed down by a busy machine is unknown: not at all, or as much as a step.
_SLOWED_BY_LOAD = 0.6
# Without a model size, the usual cost of a checkpoint: 0.01 s (0.8 M parameters) to 8 s (124 M on a slow disk).
_SAVE_S = 0.4
_SAVE_LOG_SD = 1.6


class LogNormal(NamedTuple):
    """A positive quantity known up to a factor."""

    median: float
    log_sd: float


def evaluation_steps(settings: Settings, fmt: Format) -> LogNormal | None:
    """The cost of one evaluation in units of one step; None when the settings do not say how many batches it runs."""
    num_passes = evaluation_passes(settings, fmt)
    if num_passes is None:
        return None
    if "gradient_accumulation_steps" not in settings:
        return None
    share, log_sd = _FORWARD_SHARE, _FORWARD_LOG_SD
    tokens = settings.count("tokens_per_step") or _tokens(settings)
    if tokens is not None:
        per_token = 6.0 * tokens / _world_size(settings)
        device = (settings.text("device") or "").partition(":")[0]
        flops = _OPTIMISER_FLOPS.get(device, _ANY_OPTIMISER_FLOPS)
        optimiser = flops / (flops + per_token)
        share *= 1 - optimiser
        log_sd = math.hypot(log_sd, _OPTIMISER_LOG_SD * optimiser)
    median = num_passes * share / micro_steps(settings, fmt)
    return LogNormal(median, log_sd)


def evaluation_passes(settings: Settings, fmt: Format) -> float | None:
    """Forward passes of one evaluation on one process: what the log says, else `eval_iters` of each split."""
    printed, num_batches = settings.number("eval_passes"), settings.count("eval_iters")
    if printed is not None and printed > 0:
        return printed
    splits = fmt.habits.evaluation.num_splits
    return None if num_batches is None or splits is None else splits * num_batches


def any_evaluation_steps(fmt: Format) -> LogNormal:
    """What an evaluation costs in steps where the settings are not known: only that it is neither nothing nor days."""
    return LogNormal(*(_VALIDATION_SET_STEPS if fmt.habits.evaluation.num_splits is None else _ANY_EVALUATION_STEPS))


def micro_steps(settings: Settings, fmt: Format) -> float:
    """Micro-steps that one process runs one after the other in a step."""
    steps = float(settings.count("gradient_accumulation_steps") or 1)
    return max(1.0, steps / _world_size(settings)) if fmt.controls.accumulation_is_total else steps


def _world_size(settings: Settings) -> int:
    return settings.count("world_size") or 1


def _tokens(settings: Settings) -> int | None:
    batch, block = settings.count("batch_size"), settings.count("block_size")
    if batch is None or block is None:
        return None
    return batch * block * (settings.count("gradient_accumulation_steps") or 1)


def checkpoint_seconds(settings: Settings, fmt: Format, *, level_s: float | None = None) -> LogNormal:
    """The stall of one checkpoint. `level_s`, what a step takes, shows whether the machine is also busy elsewhere."""
    parameters = settings.number("parameters")
    if not parameters or fmt.habits.checkpoint_bytes_per_parameter is None:
        return LogNormal(_SAVE_S, _SAVE_LOG_SD)
    quiet = fmt.habits.checkpoint_bytes_per_parameter * parameters / _DISK_BYTES_PER_S
    slower = 1.0 if level_s is None else _slower(settings, parameters, level_s)
    return LogNormal(quiet, math.hypot(_DISK_LOG_SD, _SLOWED_BY_LOAD * math.log(slower)))


def _slower(settings: Settings, parameters: float, level_s: float) -> float:
    """How many times longer than its arithmetic needs a step takes on a CPU: others are at work there.

    A checkpoint on such a machine takes between as long as on a quiet one and as many times longer as a step.
    """
    tokens = settings.count("tokens_per_step") or _tokens(settings)
    if settings.text("device") != "cpu" or tokens is None:
        return 1.0
    needed_s = 6.0 * parameters * tokens / _CPU_FLOPS + _OPTIMISER_BYTES * parameters / _CPU_BYTES_PER_S
    return max(1.0, level_s / (_USUAL_OVERHEAD * needed_s))
