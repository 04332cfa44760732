"""Is that normal for this card? The run's speed against what its card can do, and against what such a model takes."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.errors import UsageError
from stepscope.i18n import Language
from stepscope.message import Share
from stepscope.plan.cards import Card, known_card
from stepscope.plan.shape import shape_from_flags
from stepscope.plan.speed import step
from stepscope.report.build import Report


class Verdict(NamedTuple):
    """The card, the utilisation of its own peak, and the range a step of such a model should take (seconds)."""

    card: Card
    utilisation: float
    expected: tuple[float, float] | None


def judge(report: Report) -> Verdict | None:
    """What can be said; None when the card is unknown or nothing tells how much work a step is."""
    card = known_card(report.hardware.gpu) if report.hardware and report.hardware.gpu else None
    if card is None or report.ledger.step is None or not report.ledger.step.typical_s:
        return None
    settings, fmt = report.run.settings, report.run.format
    devices = settings.count("world_size") or 1
    parameters = settings.number("parameters")
    if report.mfu is not None and fmt.mfu_peak_tflops:
        utilisation = report.mfu * fmt.mfu_peak_tflops / card.tflops
    elif parameters and report.tokens_per_s:
        utilisation = 6 * parameters * report.tokens_per_s / (devices * card.tflops * 1e12)
    else:
        return None
    return Verdict(card=card, utilisation=utilisation, expected=_expected(report, card, parameters, devices))


def lines(report: Report, language: Language) -> list[str]:
    """The verdict in words; empty when there is none."""
    verdict = judge(report)
    if verdict is None or report.ledger.step is None:
        return []
    peak = language.number(verdict.card.tflops, 1 if verdict.card.tflops < 100 else 0)
    found = [language.text("card-mfu", gpu=verdict.card.name, share=Share(verdict.utilisation), peak=peak)]
    if verdict.expected is not None:
        low, high = verdict.expected
        took = report.ledger.step.typical_s
        key = "card-slow" if took > high else "card-fast" if took < low else "card-normal"
        found.append(language.text(key, span=language.span(low, high)))
    return [" ".join(found)]


def _expected(report: Report, card: Card, parameters: float | None, devices: int) -> tuple[float, float] | None:
    """What a model of so many parameters and the usual proportions should take; None when its batch is not known."""
    settings = report.run.settings
    names = ("batch_size", "gradient_accumulation_steps", "block_size")
    batch, accumulation, block = (settings.count(name) for name in names)
    if not parameters or not batch or not accumulation or not block:
        return None
    try:
        shape = shape_from_flags(
            parameters=parameters,
            layers=settings.count("n_layer"),
            hidden=settings.count("n_embd"),
            vocabulary=settings.count("vocab_size"),
            context=block,
        )
    except UsageError:
        return None
    own = accumulation // devices if report.run.format.accumulation_is_total else accumulation
    said = step(
        shape,
        card,
        micro_batch=batch,
        accumulation=max(1, own),
        software="eager" if settings.truth("compile") is False else "compiled",
        devices=devices,
        dtype=settings.text("dtype") or "bfloat16",
    )
    return said.span()
