"""A plan as rows of text, for every renderer that draws a table: labels down the side, a column per card."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from stepscope.i18n import Language
from stepscope.message import Message
from stepscope.plan.build import CardPlan, Estimate
from stepscope.plan.derive import Derived
from stepscope.plan.shape import Shape
from stepscope.plan.training import Training

_GIB = 1 << 30
_PARTS = ("weights", "gradients", "optimizer", "activations", "logits", "context")


class Price(NamedTuple):
    """What `--price` states: per hour of one card, or per kilowatt-hour."""

    value: float
    per_kwh: bool


class PlanReport(NamedTuple):
    """Everything a renderer may say about a run before it begins."""

    shape: Shape
    training: Training
    cards: tuple[CardPlan, ...]
    derived: Derived | None
    notes: tuple[Message, ...]
    price: Price | None
    now: dt.datetime

    def cost(self, plan: CardPlan, estimate: Estimate) -> float | None:
        """What the run costs, in the price's own currency."""
        if self.price is None:
            return None
        if self.price.per_kwh:
            return estimate.energy_j / 3.6e6 * self.price.value
        return estimate.total_s / 3600 * plan.devices * self.price.value


def headline(report: PlanReport, language: Language) -> str:
    """The model in one line."""
    shape = report.shape
    return language.text(
        "plan-model",
        parameters=count(shape.parameters, language),
        layers=shape.layers,
        hidden=shape.hidden,
        context=shape.context,
        vocabulary=shape.vocabulary,
    )


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
    """The labelled rows of the table, one cell per card."""
    plans = report.cards
    table = [
        ("plan-row-memory", [_memory(plan, language) for plan in plans]),
        ("plan-row-largest", [language.number(plan.largest) for plan in plans]),
        ("plan-row-step", [language.duration(plan.asked.step.seconds) for plan in plans]),
        ("plan-row-band", [language.span(*plan.asked.step.span()) for plan in plans]),
        ("plan-row-tokens", [language.number(plan.tokens_per_s) for plan in plans]),
        ("plan-row-utilisation", [language.percent(plan.utilisation) for plan in plans]),
        ("plan-row-evaluation", [language.duration(plan.asked.evaluation_s) for plan in plans]),
        ("plan-row-checkpoint", [language.duration(plan.asked.checkpoint_s) for plan in plans]),
        ("plan-row-total", [language.duration(plan.asked.total_s) for plan in plans]),
        ("plan-row-band", [language.span(*plan.asked.span) for plan in plans]),
        ("plan-row-finish", [_finish(report, plan, language) for plan in plans]),
        ("plan-row-energy", [f"{language.number(plan.asked.energy_j / 3.6e6, 1)} kWh" for plan in plans]),
    ]
    if report.price is not None:
        costs = [report.cost(plan, plan.asked) or 0.0 for plan in plans]
        table.append(("plan-row-cost", [language.number(cost, 2) for cost in costs]))
    return [(language.text(key), cells) for key, cells in table]


def memory_rows(report: PlanReport, language: Language) -> list[tuple[str, str]]:
    """What the memory goes to, part by part; the same on every card."""
    held = report.cards[0].asked.memory
    return [(language.text(f"plan-memory-{name}"), gib(getattr(held, name), language)) for name in _PARTS]


def settings_lines(plan: CardPlan) -> list[str]:
    """The proposed settings as lines of a nanoGPT config; fit to paste."""
    if plan.proposed is None:
        return []
    training = plan.proposed.training
    return [
        f"batch_size = {training.batch_size}",
        f"gradient_accumulation_steps = {training.accumulation}",
        f"block_size = {plan.shape.context}",
        f"max_iters = {training.max_steps}",
        f"eval_interval = {training.eval_interval}",
        f"eval_iters = {training.eval_iters}",
        f"dtype = '{training.dtype}'",
        f"compile = {training.is_compiled}",
    ]


def proposal(plan: CardPlan, language: Language) -> str:
    """What the proposed settings do, in a sentence."""
    if plan.proposed is None:
        return language.text("plan-fits-nothing", gpu=plan.card.name)
    return language.text(
        "plan-proposed",
        gpu=plan.card.name,
        step=language.duration(plan.proposed.step.seconds),
        total=language.duration(plan.proposed.total_s),
        span=language.span(*plan.proposed.span),
    )


def count(value: float, language: Language) -> str:
    """`124.4 M`, as people write parameters."""
    for scale, sign in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if value >= scale:
            return f"{language.number(value / scale, 1)} {sign}"
    return language.number(value)


def gib(value: float, language: Language) -> str:
    """Bytes in GiB."""
    return f"{language.number(value / _GIB, 2 if value < _GIB else 1)} GiB"


def _memory(plan: CardPlan, language: Language) -> str:
    key = "plan-fits" if plan.surely_fits else "plan-fits-barely" if plan.fits else "plan-fits-not"
    return language.text(
        key, used=language.number(plan.held / _GIB, 1), total=language.number(plan.card.memory / _GIB, 1)
    )


def _finish(report: PlanReport, plan: CardPlan, language: Language) -> str:
    try:
        moment = report.now + dt.timedelta(seconds=plan.asked.total_s)
    except OverflowError:
        return "–"
    return language.clock(moment, report.now)
