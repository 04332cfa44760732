"""kill -9 on each process around a command: the command goes on, and nothing it printed is lost.

Two kills of each by default; STEPSCOPE_FAULTS=100 makes it a hundred, at random moments.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import pytest

from stepscope.live import recorder
from stepscope.live.recorder import Handles
from stepscope.live.shared_state import SharedState
from stepscope.reading.reader import read
from tests.faults.conftest import NUM_FAULTS
from tests.faults.runs import CODE, Recorded, kill, printed, wait_for

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")
NUM_KILLS = NUM_FAULTS or 2
_AT_ONCE = 4


def batches(tmp_path: Path, role: str):
    """Runs, a few at a time, each hurt at a moment of its own."""
    moments = random.Random(role)
    for first in range(0, NUM_KILLS, _AT_ONCE):
        numbers = range(first, min(NUM_KILLS, first + _AT_ONCE))
        runs = [Recorded(tmp_path, f"{role}-{number}") for number in numbers]
        for run in runs:
            run.wait_until_started()
        for run in sorted(runs, key=lambda _: moments.random()):
            num_lines = len(run.log.splitlines()) + moments.randrange(200)
            wait_for(lambda run=run, num=num_lines: len(run.log.splitlines()) >= num, "more lines")
            kill(run.pid(role))
        for run in runs:
            run.finish()
        yield runs


def test_the_view_is_killed(tmp_path):
    for runs in batches(tmp_path, "view"):
        for run in runs:
            assert run.code() == -signal.SIGKILL
            assert run.ending()["code"] == CODE
            run.check_whole()
            assert run.out.read_bytes() == run.log[: run.out.stat().st_size]


@pytest.mark.parametrize("role", ["recorder", "supervisor"])
def test_a_process_behind_the_view_is_killed(tmp_path, role):
    for runs in batches(tmp_path, role):
        for run in runs:
            assert run.code() == CODE, run.err.read_text()
            assert run.ending() | {"wall": 0} == {"code": CODE, "signal": None, "wall": 0, "lost_bytes": 0}
            run.check_whole()
            assert run.out.read_bytes() == run.wanted


def test_the_command_is_killed(tmp_path):
    for runs in batches(tmp_path, "command"):
        for run in runs:
            assert run.code() == 128 + signal.SIGKILL
            assert run.ending()["signal"] == signal.SIGKILL
            assert printed(run.log.count(b"iter") // 20 + 1).startswith(run.log)
            assert run.out.read_bytes() == run.log
            assert len(read(str(run.folder))) >= 3


def test_one_after_the_other_is_killed(tmp_path):
    """Each is replaced, so that not even all of them in turn end the command."""
    run = Recorded(tmp_path, "all")
    run.wait_until_started()
    for role in ("recorder", "supervisor", "recorder"):
        before = run.pid(role)
        kill(before)
        wait_for(lambda role=role, before=before: run._find(role) not in {None, before}, f"another {role}")
        num_lines = run.log.count(b"\n")
        wait_for(lambda num=num_lines: run.log.count(b"\n") > num, "more lines")
    kill(run.process.pid)
    run.finish()
    run.code()
    assert run.ending()["code"] in {CODE, None}  # the view had adopted the command, and only it could know
    run.check_whole()


def test_a_command_that_nobody_waits_for_has_ended():
    """In a container whose first process waits for nobody, it stays in the table of processes for ever."""
    pid = os.fork()
    if not pid:
        os._exit(0)
    wait_for(lambda: not recorder._is_there(pid), "the end of a process that is still in the table")
    os.waitpid(pid, 0)
    assert recorder._is_there(os.getpid())


def test_a_recorder_killed_at_every_step_loses_nothing_and_repeats_nothing(tmp_path):
    """After each system call, and in the middle of each write."""
    pieces = [b"first\r\nsec", b"ond\r", b"\nbar 1\rbar 2\r", b"last\r\n\0"]
    wanted = b"first\nsecond\nbar 1\rbar 2\rlast\n"
    for moment in range(1, 100):
        folder = tmp_path / str(moment)
        folder.mkdir()
        terminal, other = os.pipe2(os.O_DIRECT)  # each piece is read alone
        for piece in pieces:
            os.write(other, piece)
        os.close(other)
        log, stamps = (
            os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_APPEND) for name in ("log.txt", "stamps.tsv")
        )
        state = SharedState.new()
        state.note_status(0)
        handles = Handles(terminal, state.number, log, stamps, os.open(os.devnull, os.O_WRONLY))
        was_killed = _record_in_a_process(folder, handles, moment)
        if was_killed:
            assert not _record_in_a_process(folder, handles, None)
        text = (folder / "log.txt").read_bytes()
        assert text.rstrip(b"\0") == wanted, (moment, text)
        assert (folder / "exit.json").exists()
        ends = {int(record.split(b"\t")[0]) for record in (folder / "stamps.tsv").read_bytes().splitlines() if record}
        assert ends == {index + 1 for index, byte in enumerate(wanted) if byte in b"\r\n"}, moment
        for number in handles.opened:
            os.close(number)
        if not was_killed:
            assert moment > 20
            print(f"killed after each of {moment - 1} steps")
            return
    raise AssertionError("it was killed every time")


def _record_in_a_process(folder: Path, handles: Handles, moment: int | None) -> bool:
    """Record in a process that kills itself after so many steps; whether it did."""
    pid = os.fork()
    if pid == 0:
        if moment is not None:
            _kill_after(moment)
        recorder.record(folder, handles)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert status in {0, signal.SIGKILL}
    return status != 0


def _kill_after(moment: int) -> None:
    steps = iter(range(1, 10**9))

    def step() -> None:
        if next(steps) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    readv, write, mark = os.readv, os.write, recorder.Recorder._mark

    def readv_and_step(*given):
        num = readv(*given)
        step()
        return num

    def write_in_halves(number, data):
        done = write(number, data[: len(data) // 2])
        step()
        done += write(number, data[len(data) // 2 :])
        step()
        return done

    def mark_and_step(*given):
        mark(*given)
        step()

    os.readv, os.write, recorder.Recorder._mark = readv_and_step, write_in_halves, mark_and_step
