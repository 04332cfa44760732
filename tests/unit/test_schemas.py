"""What is printed as JSON is what its schema says, and the schemas are ones that validators take."""

from __future__ import annotations

import copy
import json

import pytest
from jsonschema import Draft202012Validator

import stepscope
from stepscope.report.documents import kinds, schema
from tests.conftest import DEMO
from tests.schemas import check

LOG = DEMO / "train.log"
CASE = [LOG, "--config", DEMO / "config.py", "--nvidia-smi", DEMO / "nvidia-smi.txt", "--format", "json"]


@pytest.mark.parametrize("kind", kinds())
def test_a_schema_is_one(cli, kind):
    status, out, _ = cli("schema", kind)
    assert status == 0
    document = json.loads(out)
    Draft202012Validator.check_schema(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["properties"]["schema"] == {"const": f"stepscope.{kind}/1"}
    assert kind in cli("schema")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        [*CASE],
        [*CASE, "--deadline", "08:00"],
        ["eta", LOG, "--format", "json"],
        ["advise", *CASE, "--change", "eval_interval=1000", "--may-lose", "10min"],
        ["compare", LOG, LOG, "--format", "json"],
        ["plan", "--gpu", "4070,4090", "--config", DEMO / "config.py", "--format", "json"],
    ],
)
def test_a_document_has_no_key_that_its_schema_lacks(cli, arguments):
    check(json.loads(cli(*arguments)[1]), strict=True)


def test_a_document_of_a_log_without_times_is_valid(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(
        "tokens per iteration will be: 32,768\nInitializing a new model from scratch\nnumber of parameters: 10.65M\n"
    )
    check(stepscope.explain(stepscope.read(str(path))).to_dict(), strict=True)


def test_a_schema_refuses_what_is_no_such_document(cli):
    document = json.loads(cli(*CASE)[1])
    for change in (
        lambda own: own.pop("wall_s"),
        lambda own: own.update(wall_s="long"),
        lambda own: own["state"].update(value="tired"),
        lambda own: own["ledger"][0].update(phase="coffee"),
        lambda own: own["forecast"].pop("remaining_s"),
    ):
        wrong = copy.deepcopy(document)
        change(wrong)
        with pytest.raises(AssertionError):
            check(wrong)


def test_a_new_key_is_allowed_but_for_us(cli):
    """Who validates documents of a later version sees keys that this schema does not have."""
    document = json.loads(cli(*CASE)[1]) | {"mood": "good"}
    check(document)
    with pytest.raises(AssertionError):
        check(document, strict=True)


def test_every_key_of_the_report_that_is_fixed_is_required():
    fixed = {
        "schema",
        "source",
        "settings",
        "step",
        "slow",
        "ledger",
        "wall_s",
        "forecast",
        "advice",
        "state",
        "alarms",
    }
    assert fixed <= set(schema("report")["required"])
