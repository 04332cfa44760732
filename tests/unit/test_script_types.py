"""The types that the scripts are checked against name what Python writes."""

from __future__ import annotations

import re

import pytest

from stepscope.analysis.explain import explain
from stepscope.i18n import Language
from stepscope.report import page_data
from stepscope.web.rows import about
from stepscope.web.summary import summarize
from tests.conftest import ROOT
from tests.unit.logs import run_of, training

TYPES = (ROOT / "tools" / "page.d.ts").read_text(encoding="utf-8")


def fields(name):
    """The fields of an interface, and those of them that may be missing."""
    found = re.search(rf"^interface {name} {{\n(.*?)^}}", TYPES, re.MULTILINE | re.DOTALL)
    assert found is not None
    named = re.findall(r"^  (\w+)(\??):", found[1], re.MULTILINE)
    return {field for field, _ in named}, {field for field, mark in named if mark}


@pytest.fixture(scope="module")
def report():
    lines = training(2000, every=10, evaluate=100, save_ms=300.0)
    return explain(run_of(lines), flags={"max_steps": 5000, "eval_iters": 200, "batch_size": 12, "block_size": 1024})


def test_the_data_of_a_page(report):
    data = page_data.data(report, Language.load("en"))
    assert fields("PageData")[0] == set(data)
    for name, key in (("Words", "words"), ("WhatIf", "whatif"), ("Ahead", "ahead")):
        assert fields(name)[0] == set(data[key]), name


def test_a_row_of_the_list(report):
    named, optional = fields("Row")
    assert optional == set(about(summarize(report, Language.load("en"))))
    assert named - optional == {"key", "name", "size", "mtime", "files", "problem"}
