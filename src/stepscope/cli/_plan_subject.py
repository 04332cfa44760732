"""What `stepscope plan` is about: the model and the run, from config, flags and perhaps a log of another run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stepscope.core.errors import InputError, UsageError
from stepscope.core.message import Message, Seconds, say
from stepscope.core.settings import Value
from stepscope.plan.build import Known
from stepscope.plan.derive import Derived, derive_shape, first_loss
from stepscope.plan.gpus import GpuSpec, find_gpu
from stepscope.plan.memory import memory
from stepscope.plan.model_shape import ModelShape, shape_from_flags, shape_of
from stepscope.plan.speed import step
from stepscope.plan.training import Training, training_of

if TYPE_CHECKING:
    from stepscope.analysis.report import Report

# Only other trainers' configs have these.
_FOREIGN = frozenset({"model_type", "hidden_size", "architectures", "per_device_train_batch_size"})
_MODEL_KEYS = ("n_layer", "n_embd", "hidden_size", "num_hidden_layers")
# GPUs boost above their nominal rate; no training comes near it.
_FASTEST = 1.1
# What a forward pass can take of a micro-step; beyond that, the log's evaluations are not such as nanoGPT's.
_FORWARD = (0.1, 0.7)
# The same formula for two GPUs: what it gets wrong about the model cancels, what it gets wrong about the GPUs does not.
_SAME_GPU_LOG_SD, _OTHER_GPU_LOG_SD = 0.05, 0.15


class Subject(NamedTuple):
    """What is planned: the model, the run, and what another run or a measurement says about it."""

    shape: ModelShape
    training: Training
    derived: Derived | None
    seen: Seen | None
    notes: list[Message]
    config: dict[str, Value]  # nanoGPT's settings, as stated; empty for any other trainer


class Seen(NamedTuple):
    """A run with a log: its GPU, its typical step, the memory it held, how long its stops took."""

    gpu: GpuSpec
    step_s: float
    memory_used: float | None
    devices: int = 1
    evaluation_s: float | None = None
    checkpoint_s: float | None = None


# -- the model and the run --------------------------------------------------------------------------------


def find_subject(args: argparse.Namespace) -> Subject:
    """The subject of a plan; what is missing and cannot be worked out is an error that says so."""
    from stepscope.core.configfile import read_config

    config: dict[str, Value] = read_config(Path(args.config)) if args.config else {}
    config |= args.set
    stated = {} if _FOREIGN & set(config) else dict(config)
    notes: list[Message] = []
    log = _read_log(args) if args.log else None
    if log is not None:
        config = {**_settings_of(log), **config}
    training = training_of(config, max_steps=args.max_steps)
    seen = _seen(args, log)
    derived = None
    shape = _stated_shape(args, config, notes, has_log=seen is not None)
    if shape is None:
        assert seen is not None
        assert log is not None
        derived = _derive(training, seen, log, args, config)
        notes.append(_say_derived(derived, seen, training))
        shape = derived.shape
    elif seen is not None:
        _check_pace(args, seen, shape, training)
        notes.append(say("plan-note-from", duration=Seconds(seen.step_s), gpu=seen.gpu.name))
    if training.assumed:
        notes.append(say("plan-note-defaults", names=", ".join(training.assumed)))
    return Subject(shape=shape, training=training, derived=derived, seen=seen, notes=notes, config=stated)


def _stated_shape(
    args: argparse.Namespace, config: dict[str, Value], notes: list[Message], *, has_log: bool
) -> ModelShape | None:
    """The shape that flags or the config state; None when it must be derived from a log."""
    if any(value is not None for value in (args.params, args.layers, args.hidden)):
        flags = {"layers": args.layers, "hidden": args.hidden, "vocabulary": args.vocab, "context": args.context}
        return shape_from_flags(parameters=args.params, **flags)
    if not any(key in config for key in _MODEL_KEYS):
        if has_log:
            return None
        if not args.config and not args.set:
            raise UsageError("plan-needs-model", place="stepscope plan")
    shape, assumed = shape_of(config)
    if assumed:
        notes.append(say("plan-note-defaults", names=", ".join(assumed)))
    return shape._replace(context=args.context or shape.context, vocabulary=args.vocab or shape.vocabulary)


def _check_pace(args: argparse.Namespace, seen: Seen, shape: ModelShape, training: Training) -> None:
    """Refuse a log whose GPU would have worked above its peak: it did not run this model."""
    peak = seen.devices * seen.gpu.tflops * 1e12
    share = training.sequences * shape.context * shape.flops_per_token / seen.step_s / peak
    if share > _FASTEST:
        raise UsageError("plan-from-impossible", place=f"--from {args.log}", gpu=seen.gpu.name, share=f"{share:.0%}")


def _say_derived(derived: Derived, seen: Seen, training: Training) -> Message:
    return say(
        "plan-note-derived-memory" if derived.used_memory else "plan-note-derived",
        low=_millions(derived.low),
        high=_millions(derived.high),
        duration=Seconds(seen.step_s),
        tokens=training.sequences * derived.shape.context,
        gpu=seen.gpu.name,
    )


def _millions(value: float) -> str:
    return f"{value / 1e6:.0f} M"


# -- a log to calibrate with ------------------------------------------------------------------------------


def _read_log(args: argparse.Namespace) -> Report:
    from stepscope.analysis.explain import explain
    from stepscope.core.configfile import read_config
    from stepscope.reading.reader import read

    report = explain(read(args.log), config=read_config(Path(args.config)) if args.config else None)
    if report.ledger.step is None or not report.ledger.step.typical_s:
        raise InputError("plan-log-untimed", place=args.log)
    return report


def _settings_of(log: Report) -> dict[str, Value]:
    """What the log itself says about its run, under the names a config uses."""
    names = {"max_steps": "max_iters"}
    settings = log.run.settings
    return {
        names.get(name, name): settings[name].value
        for name in (
            "max_steps",
            "batch_size",
            "gradient_accumulation_steps",
            "block_size",
            "eval_interval",
            "eval_iters",
            "always_save_checkpoint",
            "compile",
            "dtype",
        )
        if name in settings and settings[name].origin != "default"
    }


def _seen(args: argparse.Namespace, log: Report | None) -> Seen | None:
    if log is None or log.ledger.step is None:
        return None
    hardware = None
    if args.nvidia_smi:
        from stepscope.source.nvidia_smi import read_nvidia_smi

        hardware = read_nvidia_smi(Path(args.nvidia_smi))
    name = args.from_gpu or (hardware.gpu if hardware else None)
    if name is None:
        raise UsageError("plan-from-needs-card", place=f"--from {args.log}")
    used = hardware.memory_used if hardware else None
    evaluation, save = log.ledger.evaluation_price, log.ledger.checkpoint_price
    return Seen(
        gpu=find_gpu(name),
        step_s=log.ledger.step.typical_s,
        memory_used=used,
        devices=log.run.settings.count("world_size") or 1,
        evaluation_s=evaluation.seconds if evaluation else None,
        checkpoint_s=save.seconds if save else None,
    )


def _derive(training: Training, seen: Seen, log: Report, args: argparse.Namespace, config: dict[str, Value]) -> Derived:
    block = args.context or config.get("block_size")
    if not isinstance(block, int | float) or isinstance(block, bool):
        raise UsageError("plan-needs-context", place=f"--from {args.log}")
    derived = derive_shape(
        training,
        seen.gpu,
        step_s=seen.step_s,
        context=int(block),
        first_loss=first_loss(log.run),
        memory_used=seen.memory_used,
    )
    if derived is None:
        raise InputError("plan-not-derived", place=args.log)
    return derived


def known_about(subject: Subject, gpu: GpuSpec) -> Known:
    """What the log says in place of the formula."""
    if subject.seen is None:
        return Known()
    training, seen = subject.training, subject.seen
    said = step(
        subject.shape,
        seen.gpu,
        micro_batch=training.batch_size,
        accumulation=training.accumulation,
        software=training.software,
        dtype=training.dtype,
    )
    offset = 0.0
    if seen.memory_used is not None:
        offset = seen.memory_used - memory(subject.shape, training.batch_size, is_compiled=training.is_compiled).total
    calibration = seen.step_s / said.seconds
    forward = None
    if seen.evaluation_s is not None:
        forward = seen.evaluation_s / (2 * training.eval_iters * said.micro_s * calibration)
    return Known(
        forward_share=forward if forward is not None and _FORWARD[0] < forward < _FORWARD[1] else None,
        checkpoint_s=seen.checkpoint_s,
        calibration=calibration,
        log_sd=_SAME_GPU_LOG_SD if gpu.name == seen.gpu.name else _OTHER_GPU_LOG_SD,
        memory_offset=offset,
    )
