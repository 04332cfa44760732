"""`watch`, `attach` and `run` know the same: arrivals, spans, stacks, the exit, time that runs down, the real end."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stepscope.i18n import Language
from stepscope.live.inside import Inside
from stepscope.live.open_spans import OpenSpans
from stepscope.live.process import has_writer, recorded_pid, recording_of, training_process
from stepscope.live.watch import Facts, Watch
from stepscope.report import live
from stepscope.source.recording import RecordingTail
from tests.live.test_pulse_and_watch import FakeClock, FakeTail, text_of, views_until, watch_of
from tests.unit.logs import training

linux = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc here")
STEPSCOPE = [sys.executable, "-m", "stepscope"]
# Prints no time; waits until somebody watches it; after its last line it still works for a while.
TIMELESS = """
import pathlib, sys, time
for step in range(100):
    time.sleep(0.05)
    print(f"step {step}/100 loss {3 / (step + 1):.4f}", flush=True)
    while step == 10 and not pathlib.Path("watched").exists():
        time.sleep(0.02)
time.sleep(float(sys.argv[1]))
sys.exit(int(sys.argv[2]))
"""


def recording(tmp_path: Path, *arguments: str, text: str = TIMELESS) -> tuple[subprocess.Popen, Path]:
    script = tmp_path / "script.py"
    script.write_text(text)
    run = [*STEPSCOPE, "run", "--dir", str(tmp_path), "--name", "r", "--", sys.executable, str(script), *arguments]
    process = subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder = tmp_path / "r"
    end = time.monotonic() + 60
    while not (folder / "log.txt").exists() or (folder / "log.txt").read_bytes().count(b"\n") < 5:
        assert time.monotonic() < end
        time.sleep(0.05)
    return process, folder


def watched(target: str, *flags: str, command: str = "watch", place: Path | None = None) -> subprocess.CompletedProcess:
    """Watch to the end; in `place` it is marked when the first line is there."""
    arguments = [*STEPSCOPE, command, target, "--plain", "--interval", "0.3", *flags]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        if place is not None:
            (place / "watched").touch()
        out, err = process.communicate(timeout=90)
    return subprocess.CompletedProcess(arguments, process.returncode, first + out, err)


def test_a_recording_is_watched_by_its_arrivals_and_ends_with_its_exit(tmp_path):
    process, folder = recording(tmp_path, "3", "0")
    done = watched(str(folder), place=tmp_path)
    process.wait(timeout=60)
    assert done.returncode == 0, done.stderr
    assert "left" in done.stdout  # a forecast, although no line prints a time
    assert "finished" in done.stdout


def test_a_failed_recording_ends_the_watch(tmp_path):
    process, folder = recording(tmp_path, "0", "3", text=TIMELESS.replace("/100", "/1000"))
    done = watched(str(folder), place=tmp_path)
    process.wait(timeout=60)
    assert done.returncode == 4
    assert "exit code 3" in done.stdout


@linux
def test_attach_finds_the_recording_of_a_process(tmp_path):
    process, folder = recording(tmp_path, "2", "0")
    pid = recorded_pid(folder)
    assert pid is not None
    assert recording_of(pid) == folder
    done = watched(str(pid), command="attach", place=tmp_path)
    process.wait(timeout=60)
    assert done.returncode == 0, done.stderr
    assert "left" in done.stdout
    assert recorded_pid(folder) is None  # it has ended


@linux
def test_a_plain_file_without_times_is_timed_as_it_arrives(tmp_path):
    script, log = tmp_path / "script.py", tmp_path / "train.log"
    script.write_text(TIMELESS)
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, str(script), "4", "0"], cwd=tmp_path, stdout=out)
    done = watched(str(log), place=tmp_path)
    process.wait(timeout=60)
    assert done.returncode == 0, done.stderr
    assert "left" in done.stdout
    assert "finished" in done.stdout


def test_figures_for_prometheus(tmp_path):
    log, figures = tmp_path / "train.log", tmp_path / "train.prom"
    log.write_bytes(text_of(training(300, every=10)))
    done = watched(str(log), "--max-steps", "300", "--metrics-file", str(figures))
    assert done.returncode == 0, done.stderr
    assert f'stepscope_steps{{run="{log}"}} 300.0' in figures.read_text()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert watched(str(log), "--metrics-file", str(tmp_path / "none" / "x")).returncode == 1


def test_a_log_with_times_is_read_by_them():
    """Lines come in bursts from a buffer: their own times count."""
    lines = [f"iter {step}: loss 3.0000, time 500.00ms" for step in range(60)]
    pieces = [(0, text_of(lines[:10])), *((5.0 * n, text_of(lines[10 * n : 10 * n + 10])) for n in range(1, 6))]
    watch, clock = watch_of(pieces)
    last = views_until(watch, clock, 40)[-1]
    assert last.report is not None
    assert last.report.ledger.step is not None
    assert last.report.ledger.step.typical_s == pytest.approx(0.5)
    assert not last.report.run.is_recorded


def test_time_left_runs_down_between_lines():
    watch, clock = watch_of([(0, text_of(training(600, every=10, step_ms=1000.0)))])
    language = Language.load("en")
    texts = [live.line(view, language) for view in views_until(watch, clock, 30)]
    lefts = [text.split(" left")[0].rsplit("·", 1)[-1].strip() for text in texts if " left" in text]
    assert len(set(lefts)) >= 3, lefts


def test_done_is_not_finished_while_the_process_runs():
    clock = FakeClock()
    alive = True
    watch = Watch(
        FakeTail(clock, [(0, text_of(training(1000, every=10)))]),
        name="train.log",
        facts=Facts(config=None, flags={"max_steps": 1000}, confidence=0.9),
        clock=clock,
        is_alive=lambda: alive,
    )
    views = views_until(watch, clock, 30)
    assert {view.pulse.doing for view in views[2:]} == {"closing"}
    assert not any(alarm.code == "finished" for view in views for alarm in view.fresh)
    assert watch.end is None
    alive = False
    views = views_until(watch, clock, 35)
    assert views[-1].pulse.doing == "finished"
    assert [alarm.code for view in views for alarm in view.fresh] == ["finished"]
    assert watch.end == "finished"


def spans_of(folder: Path, *records: str) -> None:
    (folder / "spans").mkdir(exist_ok=True)
    with (folder / "spans" / "0-host-1.tsv").open("a") as file:
        file.write("".join("\t".join(record.split()) + ("\t" * (5 - record.count(" "))) + "\n" for record in records))


def test_an_open_span_is_what_goes_on(tmp_path):
    now_ns = 50_000_000_000
    spans = OpenSpans(tmp_path, clock=lambda: now_ns)
    assert spans.now() is None
    spans_of(tmp_path, "B 40000000000 step 0", "B 45000000000 evaluation 0", "B 46000000000 checkpoint 7")
    found = spans.now()
    assert found is not None
    assert (found.doing, found.since_s) == ("evaluation", 5.0)  # the other one is another thread's
    spans_of(tmp_path, "B 47000000000 checkpoint 0")
    assert spans.now().doing == "checkpoint"
    spans_of(tmp_path, "E 48000000000 evaluation 0 3000000000")  # the end of the inner one was lost
    assert spans.now() is None
    assert spans.has_any
    spans.close()


def test_after_a_save_it_is_still_the_save_until_something_begins(tmp_path):
    spans = OpenSpans(tmp_path, clock=lambda: 50_000_000_000)
    spans_of(tmp_path, "B 40000000000 checkpoint 0", "E 45000000000 checkpoint 0 5000000000")
    assert (spans.now(), spans.since_save()) == (None, 5.0)
    spans_of(tmp_path, "N 45000000001 values 0")
    assert (spans.now(), spans.since_save()) == (None, 5.0)
    spans_of(tmp_path, "E 46000000000 data 0 1000")
    assert (spans.now(), spans.since_save()) == (None, None)
    spans.close()


def test_spans_beat_what_the_log_suggests(tmp_path):
    lines = training(499, every=1, evaluate=100, step_ms=170.0, evaluation_ms=25_000.0)
    facts = Facts(config=None, flags={"max_steps": 1000, "eval_interval": 100}, confidence=0.9)
    watch, clock = watch_of([(0, text_of(lines))], facts=facts)
    view = views_until(watch, clock, 10)[-1]
    assert view.pulse.doing == "evaluation"  # it is due, as far as the log says
    inside = Inside(clock, folder=tmp_path)
    assert inside.look(view).pulse.doing == "evaluation"
    spans_of(tmp_path, f"B {time.monotonic_ns()} checkpoint 0")
    assert inside.look(view).pulse.doing == "checkpoint"
    spans_of(tmp_path, f"E {time.monotonic_ns()} checkpoint 0 1")
    assert inside.look(view).pulse.doing == "checkpoint"
    spans_of(tmp_path, f"B {time.monotonic_ns()} step 0")
    assert inside.look(view).pulse.doing == "training"
    inside.close()


@linux
def test_the_process_that_works_is_found(tmp_path):
    mark = tmp_path / "mark"
    work = f"import pathlib, time\nn = sum(range(4000000))\npathlib.Path({str(mark)!r}).touch()\ntime.sleep(60)"
    shell = subprocess.Popen(["sh", "-c", f"'{sys.executable}' -c \"$0\"; true", work])
    try:
        end = time.monotonic() + 30
        while not mark.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        assert training_process(shell.pid) != shell.pid
    finally:
        os.kill(training_process(shell.pid), signal.SIGKILL)
        shell.wait(timeout=30)


@linux
def test_a_loaders_worker_is_not_what_trains(tmp_path):
    """Workers are forks of the training, and may work more than it does."""
    mark = tmp_path / "mark"
    program = tmp_path / "train.py"
    program.write_text(
        "import multiprocessing, pathlib, sys, time\n"
        "def work():\n    n = sum(range(8000000))\n    pathlib.Path(sys.argv[1]).touch()\n    time.sleep(60)\n"
        "multiprocessing.get_context('fork').Process(target=work, daemon=True).start()\ntime.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, str(program), str(mark)])
    try:
        end = time.monotonic() + 30
        while not mark.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        assert training_process(child.pid) == child.pid
    finally:
        child.terminate()
        child.wait(timeout=30)


@linux
def test_who_writes_a_file(tmp_path):
    path = tmp_path / "log"
    with path.open("w"):
        assert has_writer(path)
    assert has_writer(path) is False
    with path.open():
        assert has_writer(path) is False  # a reader is none


def test_the_recording_of_a_run_that_is_over_says_so_at_once(tmp_path):
    """Also where no line says that it is."""
    (tmp_path / "log.txt").write_text("".join(f"step {n}/40 loss 3.0\n" for n in range(10)))
    stamps = "".join(f"{16 * (n + 1)}\t{1700000000 + n}\t{n + 5}\n" for n in range(10))
    (tmp_path / "stamps.tsv").write_text(stamps)
    (tmp_path / "exit.json").write_text('{"code": 137, "signal": 9, "wall": 0, "lost_bytes": 0}')
    clock = FakeClock()
    facts = Facts(config=None, flags={}, confidence=0.9)
    before, views = clock.now(), []
    with contextlib.closing(RecordingTail(tmp_path)) as tail:
        watch = Watch(tail, name=str(tmp_path), facts=facts, clock=clock)
        assert watch.run_to_end(views.append) == "ended"
    assert clock.now() - before < dt.timedelta(seconds=3)
    assert [alarm.code for view in views for alarm in view.fresh] == ["killed"]
