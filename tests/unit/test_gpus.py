"""The table of cards: each figure agrees with the card's own units and clock, and says where it is from."""

from __future__ import annotations

import pytest

from stepscope.plan.gpus import GPUS
from tests.conftest import ROOT


@pytest.mark.parametrize("card", GPUS, ids=lambda card: card.name)
def test_a_rate_is_units_times_operations_times_clock(card):
    """Within 1.5 %: vendors round, and quote some inference cards at a lower clock."""
    assert card.formula_tflops == pytest.approx(card.tflops, rel=0.015)


@pytest.mark.parametrize("card", GPUS, ids=lambda card: card.name)
def test_a_card_names_its_source(card):
    assert any(word in card.source for word in ("whitepaper", "data sheet"))


def test_consumer_cards_count_at_their_true_rate():
    """512 operations per clock and unit with 32-bit accumulation, half of what is advertised."""
    assert {card.ops for card in GPUS if card.name.startswith(("RTX 30", "RTX 40", "RTX 50"))} == {512}


def test_the_page_of_cards_lists_every_one(cli):
    page = (ROOT / "docs" / "cards.md").read_text(encoding="utf-8")
    status, out, _ = cli("doc", "cards")
    assert status == 0
    for card in GPUS:
        assert f"| {card.name} |" in page
        assert card.source in page
        assert card.name in out


def test_doc_of_a_card(cli):
    status, out, _ = cli("doc", "rtx 4070")
    assert status == 0
    assert "58.3" in out
    assert "46 x 512 x 2475 MHz" in out
    assert "whitepaper" in out
