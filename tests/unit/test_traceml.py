"""TraceML's final summary: what its means say of a run, by rank."""

from __future__ import annotations

import json

import pytest

from stepscope.analysis.explain import explain
from stepscope.formats.traceml import to_lines
from stepscope.reading.reader import read


def summary(*means: tuple[float, float], status: str = "completed") -> dict[str, object]:
    rows = {str(rank): {"metrics": {"step_time_ms": a, "input_wait_ms": b}} for rank, (a, b) in enumerate(means)}
    window = {"kind": "step_window", "start_step": 1, "end_step": 640}
    return {
        "schema_version": 1.9,
        "generated_at": "2026-11-01T10:00:00Z",
        "analysis_window": {"anchor": "step_time", **window},
        "run_context": {"run": {"status": status}},
        "step_time": {"global": {"window": window}, "groups": {"by": "global_rank", "rows": rows}},
    }


def test_the_steps_of_the_window_take_their_mean_each(tmp_path):
    path = tmp_path / "final_summary.json"
    path.write_text(json.dumps(summary((240.0, 20.0), (280.0, 80.0)), indent=1))
    report = explain(read(str(path)))
    assert report.ledger.wall_s == pytest.approx(640 * 0.24)
    assert {total.phase: total.seconds for total in report.ledger.phases} == {
        "step": pytest.approx(640 * 0.22),
        "data": pytest.approx(640 * 0.02),
    }
    assert [(one["rank"], one["typical_s"]) for one in report.to_dict()["ranks"]] == [(0, 0.24), (1, 0.28)]
    assert report.state.value == "finished"


@pytest.mark.parametrize(
    "broken",
    [
        {"schema_version": 1.9, "analysis_window": {}},
        {"schema_version": 1.9, "step_time": []},
        summary((float("nan"), 1.0)),
        summary(),
        [],
    ],
)
def test_a_summary_without_steps_gives_no_rows(broken):
    assert list(to_lines(json.dumps(broken).encode())) == []
