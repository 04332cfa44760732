"""Spans of a training that was recorded from inside: what is read, and where their seconds are booked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stepscope
from stepscope.analysis.explain import explain
from stepscope.causes._diagnose import _moved
from stepscope.ledger.phases import PhaseTotal
from stepscope.reading.reader import read
from stepscope.run.ranks import find_slowest
from stepscope.source.span_file import read_lanes

NS = 10**9
START = 1_780_000_000


class Recording:
    """Writes what a training would, on a clock of its own: seconds after the start."""

    def __init__(self, folder: Path, rank: int = 0, host: str = "one", first_s: float = 5.0) -> None:
        self.folder, self.now = folder, first_s
        (folder / "spans").mkdir(parents=True, exist_ok=True)
        self._file = folder / "spans" / f"{rank:05d}-{host}-7.tsv"
        self._put(f"H\t0\tclock\t0\t{START * NS}\tformat=stepscope.spans/1 rank={rank} world=2 host={host} pid=7")
        for name in ("log.txt", "stamps.tsv"):
            (folder / name).touch()

    def _put(self, record: str) -> None:
        with self._file.open("a") as file:
            file.write(record + "\n")

    def span(self, kind: str, seconds: float, detail: str = "", thread: int = 0) -> None:
        end = self.now + seconds
        self._put(f"E\t{round(end * NS)}\t{kind}\t{thread}\t{round(seconds * NS)}\t{detail}")
        if not thread:
            self.now = end

    def begin(self, kind: str) -> None:
        self._put(f"B\t{round(self.now * NS)}\t{kind}\t0\t\t")

    def note(self, kind: str, detail: str) -> None:
        self._put(f"N\t{round(self.now * NS)}\t{kind}\t0\t\t{detail}")

    def line(self, text: str) -> None:
        with (self.folder / "log.txt").open("a") as log, (self.folder / "stamps.tsv").open("a") as stamps:
            log.write(text + "\n")
            stamps.write(f"{log.tell()}\t{START + self.now:.6f}\t{self.now:.6f}\n")


def seconds(folder: Path) -> dict[str, float]:
    ledger = explain(read(str(folder))).ledger
    assert sum(total.ns for total in ledger.phases) == ledger.wall_ns
    assert all(total.num > 0 for total in ledger.phases)
    return {total.phase: round(total.seconds, 3) for total in ledger.phases}


def test_every_second_is_booked_where_it_happened(tmp_path):
    run = Recording(tmp_path)
    run.line("starting")
    run.span("gc", 1.0)  # of the imports: part of the start
    run.note("total", "steps=200")
    for step in range(100):
        run.span("data", 2.0 if step == 33 else 0.01)
        run.span("step", 0.1, str(step))
        if step == 50:
            run.now += 3.0  # nobody says why
        if step % 20 == 19:
            run.span("evaluation", 1.5)
            run.span("checkpoint", 0.5)
            run.span("checkpoint", 4.0, thread=9)  # in the background: takes no time
        run.line(f"step {step} loss {step % 7 / 7:.3f}")
    report = explain(read(str(tmp_path)))
    assert seconds(tmp_path) == {
        "step": 10.0,
        "evaluation": 7.5,
        "checkpoint": 2.5,
        "warmup": 1.0,
        "data": 2.99,
        "stall": pytest.approx(3.0, abs=0.02),
    }
    causes = {slow.step: slow.cause for slow in report.ledger.slow if slow.cause not in {"evaluation", "checkpoint"}}
    assert causes == {33: "data", 50: "unexplained"}
    assert report.run.settings.count("max_steps") == 199
    assert report.forecast.remaining_s == pytest.approx(100 * 0.11 + 5 * 2.0, rel=0.1)


def test_an_evaluation_that_begins_as_the_first_line_arrives_is_whole(tmp_path):
    """The line was printed before it, and reached us a moment later on a busy machine."""
    own = Recording(tmp_path)
    began = own.now
    own.now += 0.004
    own.line("begin")
    own.now = began
    own.span("evaluation", 0.5)
    for step in range(10):
        own.span("step", 0.1, str(step))
        own.line(f"step {step} loss 1.0")
    assert seconds(tmp_path)["evaluation"] == pytest.approx(0.5, abs=1e-6)


def test_a_compile_within_an_evaluation_is_part_of_it(tmp_path):
    own = Recording(tmp_path)
    own.line("begin")
    for step in range(10):
        own.span("step", 0.1, str(step))
        own.line(f"step {step} loss 1.0")
    began = own.now
    own.span("compile", 0.3)
    own.now = began
    own.span("evaluation", 0.5)
    own.span("compile", 0.2)
    for step in range(10, 20):
        own.span("step", 0.1, str(step))
        own.line(f"step {step} loss 1.0")
    assert seconds(tmp_path)["evaluation"] == pytest.approx(0.5, abs=1e-6)
    assert seconds(tmp_path)["warmup"] == pytest.approx(0.2, abs=1e-6)


def test_the_usual_load_of_a_batch_is_part_of_the_step_and_only_a_pause_is_a_wait(tmp_path):
    run = Recording(tmp_path)
    for step in range(60):
        run.span("fetch", 3.05 if step == 20 else 0.05)
        run.span("step", 0.05, str(step))
    assert seconds(tmp_path)["data"] == pytest.approx(3.0, abs=0.01)
    assert seconds(tmp_path)["step"] == pytest.approx(6.0, abs=0.02)


def test_a_pause_after_every_save_is_the_saves_and_another_is_nobodys(tmp_path):
    run = Recording(tmp_path)
    for step in range(60):
        run.span("fetch", 0.01)
        run.span("step", 0.1, str(step))
        if step % 10 == 9:
            run.span("checkpoint", 0.02)
            run.now += 1.5
        if step == 33:
            run.now += 1.5
    ledger = explain(read(str(tmp_path))).ledger
    totals = {total.phase: total for total in ledger.phases}
    assert totals["checkpoint"].seconds == pytest.approx(6 * 1.52 - 1.5, abs=0.02)
    assert (totals["checkpoint"].basis, totals["checkpoint"].low_s < 0.2) == ("inferred", True)
    assert totals["stall"].seconds == pytest.approx(1.5, abs=0.02)


def test_a_run_that_prints_nothing_readable_is_read_from_its_spans(tmp_path):
    run = Recording(tmp_path)
    run.line("hello")
    for step in range(1, 31):
        run.span("step", 0.2, str(step))
    run.line("bye")
    found = read(str(tmp_path))
    assert found.steps.step.tolist() == list(range(1, 31))
    assert found.format.name == "stepscope_spans"


def test_counted_steps_get_the_numbers_of_the_log(tmp_path):
    run = Recording(tmp_path)
    for step in range(40):
        run.span("step", 0.2, f"~{step}")
        run.now += 0.001
        if step % 5 == 0:
            run.line(f"iter {1000 + step}: loss 3.0000, time 200.00ms")
    assert read(str(tmp_path)).steps.step[[0, -1]].tolist() == [1000, 1039]


def test_two_steps_of_an_optimizer_for_each_printed_one_are_one(tmp_path):
    """The critic of a GAN steps twice: its steps are counted, the log numbers the iterations."""
    own = Recording(tmp_path)
    own.line("begin")
    for step in range(40):
        for part in range(2):
            own.span("step", 0.05, f"~{2 * step + part}")
        own.now += 1.0 if step == 23 else 0.02
        if step % 5 == 0:
            own.line(f"step {step} loss 1.0")
    report = explain(read(str(tmp_path)))
    assert report.run.steps.step[[0, -1]].tolist() == [0, 39]
    assert [slow.step for slow in report.ledger.slow] == [23]
    assert seconds(tmp_path)["stall"] == pytest.approx(1.0, abs=0.05)


def test_two_trainings_of_one_process_are_told_apart(tmp_path):
    run = Recording(tmp_path)
    run.line("begin")
    for _ in range(2):
        for step in range(40):
            run.span("step", 0.1, str(step))
        run.now += 5.0
    run.line("end")
    found = read(str(tmp_path))
    assert (found.num_trainings, [segment.num_rows for segment in found.segments]) == (2, [40, 40])
    assert sum(seconds(tmp_path).values()) == pytest.approx(18.0, abs=0.01)
    assert seconds(tmp_path)["step"] == pytest.approx(8.0, abs=0.2)


def test_ranks_are_lanes_and_the_slowest_is_named_with_its_host(tmp_path):
    for rank, each in ((0, 0.1), (1, 0.13)):
        run = Recording(tmp_path, rank, f"node{rank}")
        for step in range(30):
            run.span("step", each, str(step))
    found = read(str(tmp_path))
    assert [(rank.number, rank.host) for rank in found.ranks] == [(0, "node0"), (1, "node1")]
    assert len(found) == 30
    assert find_slowest(found).host == "node1"
    assert any("node1" in str(alarm.message) for alarm in explain(found).alarms if alarm.code == "straggler")


def test_an_evaluation_that_has_not_ended_is_open_and_counts(tmp_path):
    run = Recording(tmp_path)
    for step in range(20):
        run.span("step", 0.1, str(step))
    run.begin("evaluation")
    run.now += 4.0
    run.span("gc", 0.1)
    (lane,) = read_lanes(tmp_path)
    assert [one.kind for one in lane.open] == ["evaluation"]
    assert seconds(tmp_path)["evaluation"] == pytest.approx(4.1, abs=0.01)


def test_a_torn_record_and_a_damaged_one_are_passed_over(tmp_path):
    run = Recording(tmp_path)
    for step in range(20):
        run.span("step", 0.1, str(step))
    (file,) = (tmp_path / "spans").iterdir()
    file.write_bytes(file.read_bytes() + b"E\tx\tstep\t0\t5\t3\nE\t99\tstep\nE\t31000000000\tstep\t0\t1000")
    assert len(read(str(tmp_path))) == 20


def test_the_clock_of_another_machine_is_its_own(tmp_path):
    """Arrivals of lines on this machine say nothing about the monotonic clock of that one."""
    run = Recording(tmp_path)
    for step in range(5):
        run.span("step", 0.1, str(step))
    (tmp_path / "log.txt").write_text("a\n")
    (tmp_path / "stamps.tsv").write_text(f"2\t{START}.5\t987654.0\n")
    (lane,) = read_lanes(tmp_path)
    assert int(lane.spans["step"][0, 0]) == (START + 5) * NS


def test_a_cause_takes_no_more_from_the_unexplained_than_it_names():
    """No count goes below zero, and what nobody explains stays."""
    totals = (
        PhaseTotal("step", 10.0, 10.0, 10.0, "measured", 10 * NS, 100, 0.6),
        PhaseTotal("stall", 6.0, 6.0, 6.0, "measured", 6 * NS, 1, 0.4),
    )
    moved = {total.phase: total for total in _moved(totals, [("evaluation", 1.0), ("evaluation", 1.0), ("gc", 0.5)])}
    assert {phase: total.seconds for phase, total in moved.items()} == {
        "step": 10.0,
        "evaluation": 2.0,
        "gc": 0.5,
        "stall": 3.5,
    }
    assert all(total.num >= 1 for total in moved.values())


def test_the_recorder_writes_what_it_was_given(tmp_path):
    script = (
        "import sys, time, stepscope\n"
        "rec = stepscope.Recorder(sys.argv[1], total_steps=6)\n"
        "assert 'numpy' not in sys.modules\n"
        "for i in rec.data(range(6)):\n"
        "    with rec.step(i): pass\n"
        "    rec.log(i, loss=1.5)\n"
        "rec.begin('evaluation'); time.sleep(0.01); rec.end('evaluation'); rec.end('evaluation')\n"
        "with rec.phase('my\\tphase'): pass\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "r")], check=True, env=_environment(RANK="3"))
    (lane,) = read_lanes(tmp_path / "r")
    assert (lane.rank, lane.total_steps, lane.num_steps) == (3, 6, 6)
    assert {kind: len(spans) for kind, spans in lane.spans.items()} == {
        "step": 6,
        "data": 6,
        "evaluation": 1,
        "my phase": 1,
    }
    run = read(str(tmp_path / "r"))
    assert run.settings.count("max_steps") == 5
    np.testing.assert_array_equal(run.steps.loss, 1.5)


def test_a_process_that_was_forked_writes_nothing(tmp_path):
    script = (
        "import os, sys, stepscope\n"
        "rec = stepscope.Recorder(sys.argv[1])\n"
        "for i in range(5):\n"
        "    with rec.step(i): pass\n"
        "if not os.fork():\n"
        "    with rec.step(99): pass\n"
        "    rec.close(); os._exit(0)\n"
        "os.wait()\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "r")], check=True, env=_environment())
    (lane,) = read_lanes(tmp_path / "r")
    assert lane.step_numbers.tolist() == [0, 1, 2, 3, 4]
    assert json.loads((tmp_path / "r" / "exit.json").read_text())["code"] is None


def test_a_file_of_spans_is_read_by_itself(tmp_path):
    run = Recording(tmp_path)
    for step in range(30):
        run.span("data", 0.01)
        run.span("step", 0.1, str(step))
        if step % 10 == 9:
            run.span("evaluation", 1.0)
    (file,) = (tmp_path / "spans").iterdir()
    found = stepscope.read(str(file))
    assert (found.format.name, len(found), found.events.kind.count("evaluation")) == ("stepscope_spans", 30, 3)


def _environment(**more: str) -> dict[str, str]:
    import os

    return {key: own for key, own in os.environ.items() if key != "STEPSCOPE_RECORDING"} | more


def test_a_run_without_lines_lasts_from_its_first_step_to_the_end_of_its_last_work(tmp_path):
    """Not from the collections while packages are imported to the one with which the process ends."""
    recording = Recording(tmp_path)
    recording.span("gc", 0.5)
    recording.now += 4
    for step in range(20):
        recording.span("step", 0.1, str(step))
    recording.span("checkpoint", 0.3)
    recording.now += 0.2
    recording.span("gc", 1.0)
    assert explain(read(str(tmp_path))).ledger.wall_s == pytest.approx(2.3, abs=0.01)


def test_what_was_seen_of_a_loop_without_a_step_is_added_to_its_lines(tmp_path):
    """The last evaluation is after the last printed step: its seconds come from no step."""
    recording = Recording(tmp_path)
    for step in range(10, 101, 10):
        recording.now += 0.5
        recording.line(f"step {step}/100 loss {3 - step / 100:.3f}")
        if step % 50 == 0:
            recording.span("evaluation", 0.8, "sampled 5000000")
            recording.span("checkpoint", 0.4, "sampled 5000000")
            recording.line("accuracy 0.9")
    found = seconds(tmp_path)
    assert (found["evaluation"], found["checkpoint"]) == pytest.approx((1.6, 0.8), abs=0.01)
    assert found["step"] == pytest.approx(4.5, abs=0.02)
    assert found.get("unlogged", 0.0) < 0.05
