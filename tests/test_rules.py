"""Advice rules and alarms are their own documentation: one file each, with a code and four headings."""

from __future__ import annotations

import pytest

from stepscope import advice, alarms, audit, causes

RULES = {**causes.rules(), **advice.rules(), **alarms.rules(), **audit.rules()}


@pytest.mark.parametrize("code", RULES)
def test_a_rule_explains_itself(code):
    page = RULES[code].__doc__
    assert page.startswith(f"{code}: ")
    why = "Why it costs time" if code in causes.rules() or code in advice.rules() else "Why it matters"
    for heading in ("What it looks at", why, "Example", "What to change"):
        assert f"\n{heading}\n    " in page


def test_codes_are_unique():
    assert len(RULES) == sum(len(package.rules()) for package in (causes, advice, alarms, audit))


@pytest.mark.parametrize("code", RULES)
def test_doc_prints_the_page(cli, code):
    status, out, _ = cli("doc", code.lower())
    assert status == 0
    assert out.startswith(f"{code}: ")


def test_doc_of_an_unknown_code_names_the_known_ones(cli):
    status, _, err = cli("doc", "A999")
    assert status == 2
    assert "A101" in err
