"""The timeline: nothing overlaps, it adds up to the ledger, and the exports hold what it holds."""

from __future__ import annotations

import csv as plain_csv
import itertools
import json
import os
import struct
import subprocess
import sys
from io import StringIO
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet as parquet_file

from stepscope.cli import main
from stepscope.core.installing import install_command
from stepscope.i18n import Language
from stepscope.ledger.timeline import timeline
from stepscope.report import csv, mllog, palette, parquet, png, svg, trace
from stepscope.report.page_head import cards_of
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


def test_the_picture_has_the_colours_of_the_page():
    light = palette.css().partition("@media")[0]
    picture = svg.render(slices(training(300, every=10, evaluate=50))[0], ENGLISH)
    for phase in ("step", "evaluation"):
        color = palette.PHASES[phase].light
        assert f"--{phase}:{color};" in light
        assert f'fill="{color}"' in picture


def test_parquet_has_the_columns_and_values_of_the_csv(tmp_path):
    log, target = tmp_path / "train.log", tmp_path / "out.parquet"
    log.write_text("\n".join(training(300, every=10, evaluate=50)) + "\n")
    assert main([str(log), "--format", "parquet", "-o", str(target)]) == 0
    table = parquet_file.read_table(target)
    report, pieces = slices(log.read_text().splitlines())
    assert tuple(table.column_names) == csv.COLUMNS
    assert table["phase"].to_pylist() == [piece.phase for piece in pieces]
    assert table["seconds"].to_pylist() == [piece.seconds for piece in pieces]
    assert table["last_step"].to_pylist() == [piece.last_step for piece in pieces]
    assert table.schema.metadata[b"format"] == report.run.format.name.encode()


def test_a_picture_may_be_dark(tmp_path, capsys):
    report = slices(training(300, every=10, evaluate=50))[0]
    picture = svg.render(report, ENGLISH, "dark")
    assert f'fill="{palette.SURFACES["canvas"].dark}"' in picture
    assert palette.PHASES["step"].light not in picture
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(300, every=10, evaluate=50)) + "\n")
    assert main([str(log), "--format", "svg", "--theme", "dark", "--lang", "en"]) == 0
    assert palette.SURFACES["canvas"].dark in capsys.readouterr().out
    assert main([str(log), "--theme", "dark", "--lang", "en"]) == 2
    assert "--format png" in capsys.readouterr().err


def test_the_picture_says_what_the_cards_of_the_page_say():
    report = slices(training(300, every=10, evaluate=50), max_steps=1000)[0]
    picture = svg.render(report, ENGLISH)
    for card in cards_of(report, ENGLISH):
        assert f">{card.name}<" in picture
        assert f">{card.value}<" in picture


def test_png_is_the_picture_in_dots():
    report, _ = slices(training(300, every=10, evaluate=50))
    dots = png.render(report, ENGLISH)
    assert dots.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", dots[16:24])
    root = ElementTree.fromstring(svg.render(report, ENGLISH))
    assert (width, height) == (2 * int(root.get("width")), 2 * int(root.get("height")))


@pytest.mark.parametrize("name", ["parquet", "png"])
def test_bytes_go_to_a_file_or_a_pipe_but_to_no_terminal(tmp_path, name):
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(100, every=10)) + "\n")
    command = [sys.executable, "-m", "stepscope", str(log), "--format", name, "--lang", "en"]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert piped.stdout[:4] in {b"PAR1", b"\x89PNG"}
    ours, theirs = os.openpty()
    shown = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    os.close(ours)
    assert shown.returncode == 2
    assert f"-o report.{name}".encode() in shown.stderr


@pytest.mark.parametrize(("name", "package"), [("parquet", "pyarrow"), ("png", "resvg_py")])
def test_without_its_extra_a_format_says_what_to_install(tmp_path, monkeypatch, capsys, name, package):
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(100, every=10)) + "\n")
    monkeypatch.setitem(sys.modules, package, None)
    target = tmp_path / f"out.{name}"
    assert main([str(log), "--format", name, "--lang", "en", "-o", str(target)]) == 2
    assert install_command(name) in capsys.readouterr().err
    assert not target.exists()


def test_a_log_without_steps_makes_empty_exports():
    report = report_of(["tokens per iteration will be: 32,768", "compiling the model... (takes a ~minute)"])
    for module in (trace, csv, parquet, mllog, svg, png):
        assert module.render(report, ENGLISH)
