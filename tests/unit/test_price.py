"""`--price`: seconds in money, in the sentences and in the document; one reader of prices for all commands."""

from __future__ import annotations

import json

import pytest

from stepscope.core.errors import UsageError
from stepscope.core.message import Money
from stepscope.core.price import StatedPrice, parse_price
from stepscope.i18n import Language
from tests.conftest import DEMO
from tests.schemas import check

CASE = [DEMO / "train.log", "--config", DEMO / "config.py", "--now", "02:30"]


@pytest.mark.parametrize(
    ("text", "price", "shown"),
    [
        ("2.10/h", StatedPrice(2.1, False), "2.10/h"),
        ("2", StatedPrice(2.0, False), "2.00/h"),
        ("$2.10/h", StatedPrice(2.1, False, "$"), "$2.10/h"),
        ("2.10 eur / h", StatedPrice(2.1, False, "EUR"), "2.10 EUR/h"),
        ("0.305€/kWh", StatedPrice(0.305, True, "€"), "€0.305/kWh"),
    ],
)
def test_a_price_may_be_written_in_several_ways(text, price, shown):
    assert parse_price(text) == price
    assert parse_price(text).text == shown
    assert parse_price(price.text) == price


@pytest.mark.parametrize("text", ["", "cheap", "-1/h", "1/day", "$1€/h", "1e3/h", "nan", "1" * 40])
@pytest.mark.parametrize("command", [["explain", *CASE], ["plan", "--gpu", "4070", "--params", "124M"]])
def test_what_is_no_price_is_an_error(cli, command, text):
    with pytest.raises(UsageError):
        parse_price(text)
    status, _, err = cli(*command, f"--price={text}")
    assert (status, err.startswith("error[bad-price]: ")) == (2, True)


def test_an_amount_is_written_as_the_language_does():
    said = {code: Language.load(code).money(Money(12.5, "$")) for code in ("en", "de")}
    assert said == {"en": "$12.50", "de": "12,50 $"}
    assert Language.load("en").money(Money(12345.6, "EUR")) == "12,346 EUR"


def test_the_document_has_what_the_seconds_cost(cli):
    found = json.loads(cli(*CASE, "--price", "3.60/h", "--format", "json")[1])
    check(found, strict=True)
    assert found["price"] == pytest.approx(
        {"value": 3.6, "per": "h", "currency": None, "devices": 1, "spent": found["wall_s"] / 1000}
    )
    assert found["forecast"]["money"] == pytest.approx(found["forecast"]["remaining_s"] / 1000)
    for one in found["findings"]:
        assert one["money"] == pytest.approx(one["seconds"] / 1000)
    for one in found["advice"]:
        assert one["saves_money"] == pytest.approx(one["saves_s"] / 1000)
    unpriced = json.loads(cli(*CASE, "--format", "json")[1])
    assert (unpriced["price"], unpriced["forecast"]["money"], unpriced["findings"][0]["money"]) == (None, None, None)


def test_every_gpu_of_the_run_is_paid_for(cli):
    out = cli("eta", *CASE, "--price", "2/h", "--set", "world_size=8")[1]
    assert "15.1" in out
    assert "at 2.00/h × 8 GPUs" in out


@pytest.mark.parametrize("command", ["explain", "eta", "advise"])
def test_the_answer_says_it(cli, command):
    out = cli(command, *CASE, "--price", "$30/h")[1]
    assert ("at $30.00/h" in out) == (command != "advise")
    assert ("· $1.3" in out) == (command != "eta")  # what the first piece of advice saves: 2 min 40 s
    assert "$" not in cli(command, *CASE)[1]


def test_electricity_needs_the_power(cli):
    status, _, err = cli(*CASE, "--price", "0.30/kWh")
    assert (status, err.startswith("error[price-needs-power]: ")) == (2, True)
    table = DEMO / "nvidia-smi.txt"
    assert cli(*CASE, "--price", "0.30/kWh", "--nvidia-smi", table)[0] == 0
