"""The check of dependencies never takes silence for safety."""

from __future__ import annotations

import importlib.util

from tests.conftest import ROOT

_spec = importlib.util.spec_from_file_location("audit_tool", ROOT / "tools" / "audit.py")
assert _spec is not None
assert _spec.loader is not None
audit = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(audit)

SAFE = {"name": "numpy", "version": "2.4.0", "vulns": []}
BAD = {"name": "rich", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}]}
UNKNOWN = {"name": "torch", "skip_reason": "Dependency not found on PyPI"}
OWN = {"name": "stepscope", "skip_reason": "Dependency not found on PyPI"}


def test_all_packages_are_known_and_safe():
    assert audit.verdict({"dependencies": [SAFE, OWN]}) == (0, "1 packages, no known vulnerability")


def test_a_vulnerability_is_named():
    code, text = audit.verdict({"dependencies": [SAFE, BAD, UNKNOWN]})
    assert code == 1
    assert text == "rich 1.0: PYSEC-1, mended in 1.1"


def test_a_registry_that_knows_nothing_is_no_all_clear():
    code, text = audit.verdict({"dependencies": [UNKNOWN, OWN]})
    assert code == 2
    assert text.startswith("not checked: 1 of 1")
    assert audit.verdict({})[0] == 2
    assert audit.verdict({"dependencies": [SAFE, UNKNOWN]})[0] == 2


def test_no_answer_at_all_is_no_all_clear(monkeypatch, capsys):
    monkeypatch.setattr(audit, "_COMMAND", ("-c", "raise SystemExit('no route to host')"))
    assert audit.main() == 2
    assert capsys.readouterr().out == "not checked: no route to host\n"
