"""Is that normal for this card: utilisation against its own peak, and the range such a model should take."""

from __future__ import annotations

import pytest

from stepscope.i18n import Language, languages
from stepscope.report import card
from stepscope.report.build import explain
from tests.unit.logs import run_of

HEAD = ["tokens per iteration will be: 491,520", "number of parameters: 123.59M"]
FLAGS = {"batch_size": 12, "block_size": 1024, "gradient_accumulation_steps": 40}


def steps(took_ms: float, mfu: str = ", mfu 28.90%") -> list[str]:
    return [f"iter {step}: loss 4.{step:04d}, time {took_ms + step % 7:.2f}ms{mfu}" for step in range(100)]


def verdict(took_ms: float, gpu: str, mfu: str = ", mfu 28.90%"):
    report = explain(run_of(HEAD + steps(took_ms, mfu)), flags=FLAGS, gpu=gpu)
    return card.judge(report), " ".join(card.lines(report, Language.load("en")))


def test_printed_mfu_is_turned_to_the_cards_own_peak():
    """nanoGPT divides by an A100's 312 TFLOPS whatever the card: 28.9 % printed are 54.6 % of a 4090."""
    found, _ = verdict(4620, "RTX 4090")
    assert found.utilisation == pytest.approx(0.289 * 312 / 165.2)


def test_without_a_printed_mfu_parameters_and_tokens_tell():
    found, _ = verdict(4620, "RTX 4090", mfu="")
    assert found.utilisation == pytest.approx(6 * 123.59e6 * 491520 / 4.62 / 165.2e12, rel=0.01)


@pytest.mark.parametrize(("took_ms", "word"), [(4620, "normal"), (12_000, "slow"), (1500, "faster")])
def test_the_verdict(took_ms, word):
    assert word in verdict(took_ms, "RTX 4090")[1]


def test_nothing_is_said_of_an_unknown_card():
    assert verdict(4620, "Voodoo 2") == (None, "")


@pytest.mark.parametrize("code", languages())
def test_every_language(code):
    report = explain(run_of(HEAD + steps(4620)), flags=FLAGS, gpu="4090")
    assert "RTX 4090" in card.lines(report, Language.load(code))[0]
