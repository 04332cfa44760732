"""Logs that nobody had seen, cut at 40 % of their lines: what was really left after that, against the forecast.

A run that falls short is named here with its reason; every other one must be inside its interval or off by little.
"""

from __future__ import annotations

import json

import pytest

from stepscope.analysis.explain import explain
from stepscope.forecast.finish import Forecast
from stepscope.reading.reader import read
from tests.corpus.conftest import SHARED

BLIND = SHARED / "blind"
LABELS = json.loads((BLIND / "expect.json").read_text()) if (BLIND / "expect.json").is_file() else []
CUT = [label for label in LABELS if label.get("left_at_40")]
# The total is in none of their lines up to there: no forecast is the right answer.
WITHOUT_TOTAL = frozenset(
    {
        "llm/nanochat/nanoswe-speedrun.log",
        "llm/hf/clora-train.log",
        "llm/colossalai/vilt.txt",  # a bar of each epoch; how many there are is nowhere
    }
)
# Its total is known from its command only.
FLAG = "left_needs_total"
NEAR = 0.05


def forecast_of(label, folder):
    """The forecast of the first 40 % of a log's lines."""
    *lines, rest = (BLIND / label["file"]).read_bytes().split(b"\n")  # a bar that is drawn over is one line
    begun = folder / "begun.log"
    begun.write_bytes(b"\n".join(lines[: int(0.4 * (len(lines) + bool(rest)))]) + b"\n")
    flags = {"max_steps": label["total_steps"] or label["last_step"]} if label.get(FLAG) else {}
    return explain(read(begun), flags=flags).forecast


@pytest.mark.parametrize("label", CUT, ids=[label["file"] for label in CUT])
def test_what_is_left_at_40_percent_of_the_lines(label, tmp_path):
    end = forecast_of(label, tmp_path)
    if label["file"] in WITHOUT_TOTAL:
        assert not isinstance(end, Forecast)
        return
    assert isinstance(end, Forecast), end.reason
    left = label["left_at_40"]
    assert end.low_s <= left <= end.high_s or abs(end.remaining_s / left - 1) < NEAR, (end.low_s, end.high_s, left)
