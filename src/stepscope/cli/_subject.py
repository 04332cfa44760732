"""What `stepscope plan` is about: the model and the run, from config, flags and perhaps a log of another run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stepscope import units
from stepscope.errors import InputError, UsageError
from stepscope.message import Message, Seconds, say
from stepscope.plan.build import Known
from stepscope.plan.cards import Card, find_card
from stepscope.plan.derive import Derived, derive_shape, first_loss
from stepscope.plan.memory import memory
from stepscope.plan.shape import Shape, shape_from_flags, shape_of
from stepscope.plan.speed import step
from stepscope.plan.training import Training, training_of
from stepscope.settings import Value, parse_value

if TYPE_CHECKING:
    from stepscope.report.build import Report

_MODEL_KEYS = ("n_layer", "n_embd", "hidden_size", "num_hidden_layers")
# The same formula for two cards: what it gets wrong about the model cancels, what about the cards does not.
_SAME_CARD_LOG_SD, _OTHER_CARD_LOG_SD = 0.05, 0.15


class Subject(NamedTuple):
    """What is planned: the model, the run, and what another run or a measurement says about it."""

    shape: Shape
    training: Training
    derived: Derived | None
    seen: Seen | None
    notes: list[Message]


class Seen(NamedTuple):
    """A run that was watched: on which card, its typical step, the memory it held."""

    card: Card
    step_s: float
    memory_used: float | None


# -- the model and the run --------------------------------------------------------------------------------


def find_subject(args: argparse.Namespace) -> Subject:
    """The subject of a plan; what is missing and cannot be worked out is an error that says so."""
    from stepscope.configfile import read_config

    config: dict[str, Value] = read_config(Path(args.config)) if args.config else {}
    for text in args.set:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UsageError("bad-setting", place=text)
        config[key.strip()] = parse_value(value)
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
    if training.assumed:
        notes.append(say("plan-note-defaults", names=", ".join(training.assumed)))
    return Subject(shape=shape, training=training, derived=derived, seen=seen, notes=notes)


def _stated_shape(
    args: argparse.Namespace, config: dict[str, Value], notes: list[Message], *, has_log: bool
) -> Shape | None:
    """The shape that flags or the config state; None when only a log can tell."""
    parameters = units.parse_count(args.params) if args.params else None
    if args.params and parameters is None:
        raise UsageError("bad-parameters", place=f"--params {args.params}")
    if any(value is not None for value in (parameters, args.layers, args.hidden)):
        flags = {"layers": args.layers, "hidden": args.hidden, "vocabulary": args.vocab, "context": args.context}
        return shape_from_flags(parameters=parameters, **flags)
    if not any(key in config for key in _MODEL_KEYS):
        if has_log:
            return None
        if not args.config and not args.set:
            raise UsageError("plan-needs-model", place="stepscope plan")
    shape, assumed = shape_of(config)
    if assumed:
        notes.append(say("plan-note-defaults", names=", ".join(assumed)))
    return shape._replace(context=args.context or shape.context, vocabulary=args.vocab or shape.vocabulary)


def _say_derived(derived: Derived, seen: Seen, training: Training) -> Message:
    return say(
        "plan-note-derived-memory" if derived.used_memory else "plan-note-derived",
        low=_millions(derived.low),
        high=_millions(derived.high),
        duration=Seconds(seen.step_s),
        tokens=training.sequences * derived.shape.context,
        gpu=seen.card.name,
    )


def _millions(value: float) -> str:
    return f"{value / 1e6:.0f} M"


# -- a log to calibrate with ------------------------------------------------------------------------------


def _read_log(args: argparse.Namespace) -> Report:
    from stepscope.configfile import read_config
    from stepscope.reader import read
    from stepscope.report.build import explain

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
    return Seen(card=find_card(name), step_s=log.ledger.step.typical_s, memory_used=used)


def _derive(training: Training, seen: Seen, log: Report, args: argparse.Namespace, config: dict[str, Value]) -> Derived:
    block = args.context or config.get("block_size")
    if not isinstance(block, int | float) or isinstance(block, bool):
        raise UsageError("plan-needs-context", place=f"--from {args.log}")
    derived = derive_shape(
        training,
        seen.card,
        step_s=seen.step_s,
        context=int(block),
        first_loss=first_loss(log.run),
        memory_used=seen.memory_used,
    )
    if derived is None:
        raise InputError("plan-not-derived", place=args.log)
    return derived


def known_about(subject: Subject, card: Card) -> Known:
    """What the log says in place of the formula."""
    if subject.seen is None:
        return Known()
    training, seen = subject.training, subject.seen
    said = step(
        subject.shape,
        seen.card,
        micro_batch=training.batch_size,
        accumulation=training.accumulation,
        software=training.software,
        dtype=training.dtype,
    )
    offset = 0.0
    if seen.memory_used is not None:
        offset = seen.memory_used - memory(subject.shape, training.batch_size, is_compiled=training.is_compiled).total
    return Known(
        calibration=seen.step_s / said.seconds,
        log_sd=_SAME_CARD_LOG_SD if card.name == seen.card.name else _OTHER_CARD_LOG_SD,
        memory_offset=offset,
    )
