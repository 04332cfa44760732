"""Logs that nobody had seen when they were first read, against their labels: every one that falls short is named.

The table is `blind.json`; `pytest --update-golden` rewrites it. A verdict may get better, never worse, and no answer
may be wrong and sure of itself.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
from functools import cache
from pathlib import Path
from unittest import mock

import pytest

from stepscope.cli import main
from tests.corpus.conftest import SHARED
from tests.corpus.reports import run_of

BLIND = SHARED / "blind"
TABLE = Path(__file__).parent / "blind.json"
LABELS = json.loads((BLIND / "expect.json").read_text()) if (BLIND / "expect.json").is_file() else []
# From best to worst; a right refusal is as good as a right answer.
ORDER = ("right", "right-refusal", "partly", "refused", "wrong", "hang")
SURE = 0.5
# Floors for the logs with times.
RIGHT, REFUSED = 0.89, 0.0


@cache
def scorer():
    spec = importlib.util.spec_from_file_location("score", BLIND / "score.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.ask = ask
    return module


def ask(_, path):
    out = io.StringIO()
    shared = mock.patch("stepscope.reading.reader.read", run_of)
    with shared, contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(["explain", path, "--format", "json", "--lang", "en"])
    try:
        return code, json.loads(out.getvalue())
    except ValueError:
        return code, None


def rank(verdict):
    return ORDER.index(verdict)


@pytest.mark.parametrize("label", LABELS, ids=[label["file"] for label in LABELS])
def test_a_blind_log_is_read_as_well_as_the_table_says(label, request):
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    verdict, why, confidence = scorer().judge("", str(BLIND / label["file"]), label)
    if request.config.getoption("--update-golden"):
        table[label["file"]] = {"verdict": verdict, "short": why}
        TABLE.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n")
    assert rank(verdict) <= rank(table[label["file"]]["verdict"]), why
    assert verdict != "wrong" or (confidence is not None and confidence <= SURE), (confidence, why)


def test_most_logs_with_times_are_right_throughout():
    """What the table says must be enough."""
    table = json.loads(TABLE.read_text())
    timed = [table[label["file"]]["verdict"] for label in LABELS if label["kind"] == "training"]
    assert timed.count("right") >= RIGHT * len(timed)
    assert timed.count("refused") <= REFUSED * len(timed)
