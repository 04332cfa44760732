"""`stepscope run` on a disk that fills up, becomes unwritable or goes away: the command and what it prints go on."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys

import pytest

from stepscope.live.output import OutputTail, PrintedOutput, Spilled
from stepscope.live.shared_state import SharedState
from stepscope.reading.reader import read
from tests.faults.runs import CODE, Recorded, kill, wait_for

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")


def is_said(run: Recorded, words: str) -> object:
    return wait_for(lambda: words in run.err.read_text(), f"{words}: {run.err.read_text()}")


def test_a_disk_that_fills_up(tmp_path, small_disk):
    """Said at once; shown to the last byte; how it ended is kept; what is in the log can be read."""
    run = Recorded(tmp_path, "full", runs=small_disk.path)
    run.wait_until_started()
    small_disk.fill()
    is_said(run, ": No space left on device. The command continues")
    assert not (run.folder / "exit.json").exists()  # it was said while the command was running
    run.finish()
    assert run.code() == CODE
    assert run.out.read_bytes() == run.wanted
    assert run.log
    assert run.wanted.startswith(run.log)
    ending = run.ending()
    assert ending["code"] == CODE
    assert ending["lost_bytes"] == len(run.wanted) - len(run.log)
    assert f"{ending['lost_bytes']:,} bytes" in run.err.read_text()
    assert not list(run.folder.glob(".*"))
    assert not list(run.folder.glob("*.tmp"))
    assert len(read(str(run.folder))) >= 3


def test_a_disk_that_is_full_for_a_while(tmp_path, small_disk):
    """The log goes on with whole lines, and the view loses nothing, also when the recorder is killed meanwhile."""
    run = Recorded(tmp_path, "gap", runs=small_disk.path)
    run.wait_until_started()
    small_disk.fill()
    is_said(run, "can no longer be written")
    kill(run.pid("recorder"))
    small_disk.empty()
    before = len(run.log)
    wait_for(lambda: len(run.log) > before, "more log")
    run.finish()
    assert run.code() == CODE
    wanted, shown = run.wanted, run.out.read_bytes()
    # Of a chunk that a killed recorder had begun, it is not known whether the view got it: it may come twice.
    assert set(wanted.split(b"\n")) <= set(shown.split(b"\n"))
    assert len(shown) <= len(wanted) + (1 << 16)
    torn = set(run.log.splitlines()) - set(wanted.splitlines())
    assert len(torn) <= 1, torn
    assert run.log.endswith(b"bar 4\r")
    assert len(read(str(run.folder))) >= 3


def test_another_reason_than_a_full_disk(tmp_path):
    """A limit on the size of files, set for the recorder while it runs; no rights are needed for that."""
    run = Recorded(tmp_path, "limit")
    run.wait_until_started()
    limit = max(4096, len(run.log))
    resource.prlimit(run.pid("recorder"), resource.RLIMIT_FSIZE, (limit, limit))
    is_said(run, ": File too large. The command continues")
    run.finish()
    assert run.code() == CODE
    assert run.out.read_bytes() == run.wanted
    assert run.ending()["code"] == CODE


def test_a_disk_that_fails_and_becomes_read_only(tmp_path, failing_disk):
    """While the log is open: said at once, shown to the last byte, and what was recorded until then can be read."""
    run = Recorded(tmp_path, "failed", runs=failing_disk.path)
    run.wait_until_started()
    failing_disk.fail()
    is_said(run, ": Read-only file system. The command continues")
    run.finish()
    assert run.code() == CODE
    assert run.out.read_bytes() == run.wanted
    assert run.log
    assert run.wanted.startswith(run.log)
    assert len(read(str(run.folder))) >= 3
    assert "Traceback" not in run.err.read_text()


def test_a_disk_that_vanishes(tmp_path, small_disk):
    run = Recorded(tmp_path, "vanished", runs=small_disk.path)
    run.wait_until_started()
    small_disk.vanish()
    is_said(run, "was removed")
    run.finish()
    assert run.code() == CODE
    assert run.out.read_bytes() == run.wanted
    assert not list(small_disk.path.iterdir())


def test_a_folder_that_is_removed(tmp_path):
    run = Recorded(tmp_path, "gone")
    run.wait_until_started()
    shutil.rmtree(run.folder)
    is_said(run, "was removed")
    run.finish()
    assert run.code() == CODE
    assert run.out.read_bytes() == run.wanted
    assert not run.folder.exists()


def test_a_folder_that_is_moved(tmp_path):
    """Nothing is lost, and nothing else is said."""
    run = Recorded(tmp_path, "moved")
    run.wait_until_started()
    run.folder = run.folder.rename(tmp_path / "elsewhere")
    before = len(run.log)
    wait_for(lambda: len(run.log) > before, "more log")
    run.finish()
    assert run.code() == CODE
    assert run.log == run.out.read_bytes() == run.wanted
    assert "removed" not in run.err.read_text()


def test_a_disk_that_cannot_be_written_to(tmp_path, small_disk):
    """The command is not started: whoever wants a recording must know that there will be none."""
    small_disk.make_read_only()
    mark = tmp_path / "mark"
    run = [sys.executable, "-m", "stepscope", "run", "--dir", str(small_disk.path), "--", "touch", str(mark)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "cannot-write" in done.stderr
    assert not mark.exists()


def test_a_disk_without_room_from_the_start(tmp_path, small_disk):
    small_disk.fill()
    mark = tmp_path / "mark"
    run = [sys.executable, "-m", "stepscope", "run", "--dir", str(small_disk.path), "--", "touch", str(mark)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert not mark.exists()
    assert [path.name for path in small_disk.path.iterdir()] == ["ballast"]


def test_several_runs_under_one_name(tmp_path):
    """Each has a folder of its own."""
    command = [sys.executable, "-m", "stepscope", "run", "--dir", str(tmp_path), "--name", "r", "--"]
    runs = [subprocess.Popen([*command, "echo", str(number)], stdout=-1, stderr=-1, text=True) for number in range(3)]
    printed = {run.communicate(timeout=60)[0] for run in runs}
    assert printed == {f"{number}\n" for number in range(3)}
    assert {(folder / "log.txt").read_text() for folder in tmp_path.iterdir()} == printed


def test_the_output_goes_on_past_the_log(tmp_path):
    """Whoever follows it sees every byte once: those before the gap from the log, those after it from the recorder."""
    (tmp_path / "log.txt").write_bytes(b"one\ntw")
    (tmp_path / "stamps.tsv").write_bytes(b"4\t1700000000.000000\t5.000000\n")
    state = SharedState.new()
    there, here = os.pipe()
    os.set_blocking(there, False)
    spilled = Spilled(there)
    tail, printed = OutputTail(tmp_path, state, spilled), PrintedOutput(tmp_path, state, spilled)
    assert tail.look().data == b"1700000000.000000 one\n"
    assert printed.read().data == b"one\ntw"
    state.spilled = 6 + 1
    os.write(here, b"o\nthree\nfo")
    with (tmp_path / "log.txt").open("ab") as log, (tmp_path / "stamps.tsv").open("ab") as stamps:
        log.write(b"\nfour\n")  # there is room again
        stamps.write(b"12\t1700000009.000000\t9.000000\n")
    assert printed.read().data == b"o\nthree\nfo"
    lines = tail.look().data.splitlines()
    assert [line.partition(b" ")[2] for line in lines] == [b"two", b"three"]
    os.write(here, b"ur\n")
    assert tail.look().data.endswith(b" four\n")
    assert printed.read().data == b"ur\n"
    assert not printed.read()
    tail.close()
    printed.close()
