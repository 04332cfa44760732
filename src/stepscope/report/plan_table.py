"""A plan as rows of text, for every renderer that draws a table: labels down the side, a column per GPU."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import NamedTuple

from stepscope.core.message import Decimal, Message, Money
from stepscope.core.price import StatedPrice
from stepscope.core.settings import Value
from stepscope.i18n import Language
from stepscope.plan.build import Estimate, GpuPlan
from stepscope.plan.derive import Derived
from stepscope.plan.model_shape import ModelShape
from stepscope.plan.training import Training

_GIB = 1 << 30
_SETTINGS = (
    ("batch_size", "batch_size"),
    ("gradient_accumulation_steps", "accumulation"),
    ("eval_interval", "eval_interval"),
    ("eval_iters", "eval_iters"),
)
_PARTS = ("weights", "gradients", "optimizer", "activations", "logits", "context")


class PlanReport(NamedTuple):
    """Everything a renderer may say about a run before it begins."""

    shape: ModelShape
    training: Training
    cards: tuple[GpuPlan, ...]
    derived: Derived | None
    notes: tuple[Message, ...]
    price: StatedPrice | None
    now: dt.datetime
    config: Mapping[str, Value]  # a nanoGPT config as it was read; empty for any other trainer

    def cost(self, plan: GpuPlan, estimate: Estimate) -> float | None:
        """What the run costs, in the price's own currency."""
        if self.price is None:
            return None
        if self.price.per_kwh:
            return estimate.energy_j / 3.6e6 * self.price.value
        return estimate.total_s / 3600 * plan.devices * self.price.value


def headline(report: PlanReport, language: Language) -> str:
    """The model in one line."""
    shape, derived = report.shape, report.derived
    sizes: dict[str, str | int] = {
        "parameters": count(shape.parameters, language),
        "layers": shape.layers,
        "hidden": shape.hidden,
        "context": shape.context,
        "vocabulary": shape.vocabulary,
    }
    if derived is None:
        return language.text("plan-model", **sizes)
    ends = {"low": language.number(derived.low / 1e6), "high": language.number(derived.high / 1e6)}
    return language.text("plan-model-derived", **sizes, **ends)


def training_line(report: PlanReport, language: Language) -> str:
    """What is to be run, in one line."""
    training = report.training
    return language.text(
        "plan-training",
        steps=training.max_steps,
        tokens=training.sequences * report.shape.context,
        batch=training.batch_size,
        accumulation=training.accumulation,
        context=report.shape.context,
        flops=language.number(report.shape.flops_per_token / 1e9, 2),
    )


def rows(report: PlanReport, language: Language) -> list[tuple[str, list[str]]]:
    """The labelled rows of the table, one cell per GPU."""
    plans = report.cards
    table = [
        ("plan-row-memory", [_memory(plan, language) for plan in plans]),
        ("plan-row-largest", [language.number(plan.largest) for plan in plans]),
        ("plan-row-step", [language.duration(plan.asked.step.seconds) for plan in plans]),
        ("plan-row-band", [language.span(*plan.asked.step.span()) for plan in plans]),
        ("plan-row-tokens", [language.number(float(f"{plan.tokens_per_s:.3g}")) for plan in plans]),
        ("plan-row-utilisation", [language.percent(plan.utilisation) for plan in plans]),
        ("plan-row-evaluation", [language.duration(plan.asked.evaluation_s) for plan in plans]),
        ("plan-row-checkpoint", [language.duration(plan.asked.checkpoint_s) for plan in plans]),
        ("plan-row-total", [language.duration(plan.asked.total_s) for plan in plans]),
        ("plan-row-band", [language.span(*plan.asked.span) for plan in plans]),
        ("plan-row-finish", [_finish(report, plan, language) for plan in plans]),
        ("plan-row-energy", [_energy(plan.asked, language) for plan in plans]),
    ]
    if report.price is not None:
        table.append(("plan-row-cost", [_money(report, plan, plan.asked, language) for plan in plans]))
    return [(language.text(key), cells) for key, cells in table]


def memory_rows(report: PlanReport, language: Language) -> list[tuple[str, str]]:
    """What the memory goes to, part by part; the same on every GPU."""
    held, other = report.cards[0].asked.memory, report.cards[0].known.memory_offset
    parts = [
        (language.text(f"plan-memory-{name}"), gib(getattr(held, name), language))
        for name in _PARTS
        if getattr(held, name)
    ]
    if other > _GIB / 10:
        # Memory that the log's GPU held beyond the formula: fragments, another program.
        parts.append((language.text("plan-memory-other"), gib(other + held.total - sum(held), language)))
    return parts


def settings_lines(plan: GpuPlan, config: Mapping[str, Value]) -> list[str]:
    """The proposed settings as a nanoGPT config, ready to run: the config's own, the changed ones in place."""
    if plan.proposed is None:
        return []
    training = plan.proposed.training
    settings: dict[str, Value] = {name: value for name, value in config.items() if name.isidentifier()}
    settings |= {
        "batch_size": training.batch_size,
        "gradient_accumulation_steps": training.accumulation,
        "block_size": plan.shape.context,
        "max_iters": training.max_steps,
        "eval_interval": training.eval_interval,
        "eval_iters": training.eval_iters,
        "always_save_checkpoint": training.always_saves,
        "dtype": training.dtype,
        "compile": training.is_compiled,
    }
    step_s, total_s = plan.proposed.step.seconds, plan.proposed.total_s
    low, high = plan.proposed.span
    return [
        f"# {plan.gpu.name}, by stepscope plan: {step_s * 1000:.3g} ms an iteration, "
        f"{total_s / 60:.0f} min in all ({low / 60:.0f} to {high / 60:.0f})",
        *(f"{name} = {value!r}" for name, value in settings.items()),
    ]


def proposal_rows(report: PlanReport, language: Language) -> list[tuple[str, list[str]]]:
    """The present settings and the proposed ones with their results: the first cell is now, then one per GPU."""
    now = report.training
    found = [plan.proposed for plan in report.cards]
    table = [
        (name, [str(getattr(now, field)), *(str(getattr(own.training, field)) if own else "–" for own in found)])
        for name, field in _shown(report)
    ]
    sequences = [now, *(own.training if own else None for own in found)]
    cells = [language.number(one.batch_size * one.eval_iters) if one else "–" for one in sequences]
    table.append((language.text("plan-row-sequences"), cells))
    both = [(plan, plan.proposed) for plan in report.cards]
    measures: list[tuple[str, Callable[[GpuPlan, Estimate], str]]] = [
        ("plan-row-memory", lambda plan, own: _held(plan, own, language)),
        ("plan-row-step", lambda _, own: language.duration(own.step.seconds)),
        ("plan-row-evaluations", lambda _, own: _evaluations(own, language)),
        ("plan-row-total", lambda _, own: language.duration(own.total_s)),
        ("plan-row-band", lambda _, own: language.span(*own.span)),
        ("plan-row-saved", lambda plan, own: language.duration(max(0.0, plan.asked.total_s - own.total_s))),
    ]
    if report.price is not None:
        measures.append(("plan-row-cost", lambda plan, own: _money(report, plan, own, language)))
    for key, write in measures:
        table.append((language.text(key), ["", *(write(plan, own) if own else "–" for plan, own in both)]))
    return table


def _money(report: PlanReport, plan: GpuPlan, estimate: Estimate, language: Language) -> str:
    currency = report.price.currency if report.price is not None else ""
    return language.money(Money(report.cost(plan, estimate) or 0.0, currency))


def _shown(report: PlanReport) -> tuple[tuple[str, str], ...]:
    """The settings to show: `dtype` only where it changes."""
    proposed = [plan.proposed.training for plan in report.cards if plan.proposed is not None]
    if all(own.dtype == report.training.dtype for own in proposed):
        return _SETTINGS
    return (*_SETTINGS, ("dtype", "dtype"))


def _held(plan: GpuPlan, own: Estimate, language: Language) -> str:
    held = own.memory.total + plan.known.memory_offset
    used, total = language.number(held / _GIB, 1), language.number(plan.gpu.memory / _GIB, 1)
    return language.text("plan-fits", used=used, total=total)


def _evaluations(own: Estimate, language: Language) -> str:
    return f"{language.number(own.num_evaluations)} × {language.duration(own.evaluation_s)}"


def proposal_notes(report: PlanReport, language: Language) -> list[str]:
    """What the proposed settings do to training, and the GPUs that nothing fits into."""
    lines = [language.text("plan-fits-nothing", gpu=plan.gpu.name) for plan in report.cards if plan.proposed is None]
    proposed = [plan.proposed.training for plan in report.cards if plan.proposed is not None]
    if proposed:
        keeps = all(own.dtype == report.training.dtype for own in proposed)
        lines.append(language.text("plan-keeps" if keeps else "plan-keeps-not"))
    return lines


def count(value: float, language: Language) -> str:
    """`124.4 M`, as people write parameters."""
    for scale, sign in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if value >= scale:
            return f"{language.number(value / scale, 1)} {sign}"
    return language.number(value)


def gib(value: float, language: Language) -> str:
    """Bytes in GiB."""
    return language.text("size-gib", size=Decimal(value / _GIB, 2 if value < _GIB else 1))


def _memory(plan: GpuPlan, language: Language) -> str:
    key = "plan-fits" if plan.surely_fits else "plan-fits-barely" if plan.fits else "plan-fits-not"
    return language.text(
        key, used=language.number(plan.held / _GIB, 1), total=language.number(plan.gpu.memory / _GIB, 1)
    )


def _energy(own: Estimate, language: Language) -> str:
    kwh = own.energy_j / 3.6e6
    return f"{language.number(kwh, 2 if kwh < 10 else 0)} kWh"


def _finish(report: PlanReport, plan: GpuPlan, language: Language) -> str:
    try:
        moment = report.now + dt.timedelta(seconds=plan.asked.total_s)
    except OverflowError:
        return "–"
    return language.clock(moment, report.now)
