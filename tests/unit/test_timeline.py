"""The timeline: nothing overlaps, it adds up to the ledger, and the exports hold what it holds."""

from __future__ import annotations

import csv as plain_csv
import itertools
import json
from io import StringIO
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.cli import main
from stepscope.i18n import Language
from stepscope.ledger.timeline import timeline
from stepscope.report import csv, mllog, svg, trace
from tests.unit.logs import report_of, training

ENGLISH = Language.load("en")


def slices(lines, **flags):
    report = report_of(lines, **flags)
    return report, timeline(report.run, report.ledger)


@settings(max_examples=30, deadline=None)
@given(every=st.sampled_from([1, 5, 10]), evaluate=st.sampled_from([0, 20, 50]), save_ms=st.sampled_from([0.0, 400.0]))
def test_slices_follow_each_other_and_add_up(every, evaluate, save_ms):
    report, pieces = slices(training(300, every=every, evaluate=evaluate, save_ms=save_ms, compile_ms=3000.0))
    ends = [piece.start_s + piece.seconds for piece in pieces]
    starts = [piece.start_s for piece in pieces[1:]]
    assert all(start >= end - 1e-6 for start, end in zip(starts, ends, strict=False))
    assert sum(piece.seconds for piece in pieces) == pytest.approx(report.ledger.wall_s, rel=0.02)


def test_long_runs_are_merged_but_slow_steps_stay():
    report = report_of(training(3000, every=1, evaluate=500))
    pieces = timeline(report.run, report.ledger, most=100)
    assert len(pieces) < 150
    evaluations = [piece for piece in pieces if piece.phase == "evaluation"]
    assert [piece.last_step for piece in evaluations] == list(range(0, 3001, 500))


def test_seconds_that_only_stamps_show_are_nobodys():
    lines = []
    now = 1_000_000.0
    for step in range(60):
        now += 0.1 + (30.0 if step == 30 else 0.0)
        lines.append(f"{now:.3f} iter {step}: loss 3.0000, time 100.00ms")
    _, pieces = slices(lines)
    lost = [piece for piece in pieces if piece.phase == "unlogged"]
    assert len(lost) == 1
    assert lost[0].seconds == pytest.approx(30.0, rel=0.01)


def test_the_trace_has_one_track_per_family_and_nothing_overlaps():
    report, pieces = slices(training(300, every=10, evaluate=50, save_ms=300.0, compile_ms=2000.0))
    events = [event for event in json.loads(trace.render(report, ENGLISH))["traceEvents"] if event["ph"] == "X"]
    assert len(events) == len(pieces)
    for track in {event["tid"] for event in events}:
        own = sorted((event["ts"], event["dur"]) for event in events if event["tid"] == track)
        assert all(first[0] + first[1] <= second[0] + 0.01 for first, second in itertools.pairwise(own))


def test_the_table_holds_the_slices():
    report, pieces = slices(training(300, every=10, evaluate=50))
    rows = list(plain_csv.DictReader(StringIO(csv.render(report, ENGLISH))))
    assert [row["phase"] for row in rows] == [piece.phase for piece in pieces]
    assert sum(float(row["seconds"]) for row in rows) == pytest.approx(sum(piece.seconds for piece in pieces), abs=1e-3)


def test_mllog_lines_are_pairs_that_our_own_reader_reads():
    report, _ = slices(training(300, every=10, evaluate=50))
    lines = mllog.render(report, ENGLISH).splitlines()
    events = [json.loads(line.removeprefix(":::MLLOG ")) for line in lines]
    assert all(line.startswith(":::MLLOG {") for line in lines)
    assert events[0]["key"] == "run_start"
    assert events[-1]["key"] == "run_stop"
    starts = sum(event["event_type"] == "INTERVAL_START" for event in events)
    assert starts * 2 == len(events)
    assert np.all(np.diff([event["time_ms"] for event in events[1:-1]]) >= 0)


def test_the_picture_is_well_formed_whatever_the_log_says(tmp_path):
    log = tmp_path / "<b>&.log"
    log.write_text("\n".join(training(300, every=10, evaluate=50)) + "\n")
    target = tmp_path / "picture.svg"
    assert main([str(log), "--format", "svg", "-o", str(target)]) == 0
    root = ElementTree.fromstring(target.read_text())
    assert root.tag.endswith("svg")
    assert len(list(root.iter())) > 30


def test_a_log_without_steps_makes_empty_exports():
    report = report_of(["tokens per iteration will be: 32,768", "compiling the model... (takes a ~minute)"])
    for module in (trace, csv, mllog, svg):
        assert module.render(report, ENGLISH)
