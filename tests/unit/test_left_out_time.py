"""Recordings of logs whose printed total stands still while callbacks run: the arrivals are the clock then."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read


def recording(folder: Path, each_s: float) -> Path:
    """A run of CatBoost that says it takes 3 ms for ten rounds; its lines come `each_s` apart."""
    folder.mkdir()
    text, stamps, at = "", "", 1_700_000_000.0
    for step in range(0, 100, 10):
        text += f"{step}:\tlearn: 0.{900 - step}\ttotal: {3.0 * (step / 10 + 1):.4g}ms\tremaining: 10ms\n"
        stamps += f"{len(text)}\t{at:.6f}\t{at - 1_699_990_000:.6f}\n"
        at += each_s
    (folder / "log.txt").write_text(text)
    (folder / "stamps.tsv").write_text(stamps)
    return folder


@pytest.mark.parametrize(("each_s", "wall_s", "by_arrival"), [(0.5, 4.5, True), (0.0033, 0.03, False)])
def test_a_total_that_leaves_time_out_is_no_clock(tmp_path, each_s, wall_s, by_arrival):
    report = explain(read(str(recording(tmp_path / "r", each_s))))
    assert report.run.by_arrival is by_arrival
    assert report.ledger.wall_s == pytest.approx(wall_s, rel=0.15)
