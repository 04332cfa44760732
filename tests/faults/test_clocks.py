"""The wall clock is set while a command is recorded, both ways: real processes, whose clock `set_clock.c` turns.

Nobody may set the clock of the machine that runs the tests.
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read
from tests.consistency import breaches
from tests.faults.runs import CODE, Recorded, kill, wait_for

_COMPILER = shutil.which("cc")
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc"),
    pytest.mark.skipif(_COMPILER is None, reason="no C compiler for the clock that can be set"),
]
# Steps that take as long as they say.
STEPS = """
import pathlib, sys, time
stop, step, began = pathlib.Path(sys.argv[1]), 0, time.monotonic()
while not stop.exists():
    time.sleep(0.02)
    now = time.monotonic()
    print(f"iter {step}: loss 3.0000, time {(now - began) * 1e3:.2f}ms, mfu 30.00%", flush=True)
    step, began = step + 1, now
sys.exit(3)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The clock that can be set, compiled."""
    path = tmp_path_factory.mktemp("clock") / "set_clock.so"
    source = Path(__file__).parent / "set_clock.c"
    subprocess.run([str(_COMPILER), "-shared", "-fPIC", "-O1", "-o", str(path), str(source), "-ldl"], check=True)
    return path


class WallClock:
    """The clock of the processes that are started while it is there; their monotonic clock goes on."""

    def __init__(self, library: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._off_ns = mmap.mmap(file.fileno(), 8)
        monkeypatch.setenv("LD_PRELOAD", str(library))
        monkeypatch.setenv("STEPSCOPE_SET_CLOCK", str(path))

    def set_by(self, seconds: int) -> None:
        """Set it to so many seconds before or after the machine's own."""
        self._off_ns[:] = struct.pack("=q", seconds * 10**9)


def arrivals(run: Recorded) -> list[tuple[float, float]]:
    """The arrival of each line by the wall clock and by the monotonic one."""
    records = (run.folder / "stamps.tsv").read_text().splitlines()
    return [(float(wall), float(steady)) for _, wall, steady in (record.split("\t") for record in records)]


@pytest.mark.parametrize(("by_s", "killed"), [(-3600, None), (-2, None), (2, None), (3600, None), (-30, "recorder")])
def test_the_clock_is_set_during_a_recording(tmp_path, monkeypatch, library, by_s, killed):
    """The total is what passed, whatever the clock was set by; also if another recorder takes over.

    A line may arrive some time after it was printed, on a machine that does other work.
    """
    clock = WallClock(library, tmp_path / "clock", monkeypatch)
    run = Recorded(tmp_path, "set", command=STEPS)
    monkeypatch.delenv("LD_PRELOAD")
    more_lines(run)
    clock.set_by(by_s)
    if killed is not None:
        kill(run.pid(killed))
    more_lines(run)
    run.finish()
    assert run.code() == CODE, run.err.read_text()
    found = arrivals(run)
    assert len(found) == run.log.count(b"\n")
    passed_s = found[-1][1] - found[0][1]
    assert found[-1][0] - found[0][0] - passed_s == pytest.approx(by_s, abs=0.1)  # the clock was set indeed
    report = explain(read(str(run.folder)))
    first_s = report.run.steps.seconds[0]
    assert not breaches(report)
    assert report.ledger.wall_s == pytest.approx(passed_s + first_s, abs=0.2)
    assert report.moment is not None
    assert report.moment.timestamp() == pytest.approx(found[-1][0], abs=0.3)


def more_lines(run: Recorded) -> None:
    """Wait for fifty more."""
    num = run.log.count(b"\n") + 50
    wait_for(lambda: run.log.count(b"\n") >= num, "more lines")
