"""How a recorded command ended is known by its exit code and signal: an alarm, once, also before the first step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stepscope.analysis.explain import explain
from stepscope.reading.reader import read

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")
STEPS = "for n in range(20): print(f'iter {n}: loss 3.0000, time 10.00ms', flush=True)\n"


def alarmed(tmp_path: Path, text: str) -> tuple[subprocess.CompletedProcess, list[str]]:
    """Record a script; what it returned, and the alarms that were sent, each with its words."""
    told, teller = tmp_path / "told", tmp_path / "tell.py"
    teller.write_text(
        "import os, sys, pathlib\n"
        "with open(sys.argv[1], 'a') as file:\n"
        "    file.write(os.environ['STEPSCOPE_ALARM_CODE'] + ' ' + os.environ['STEPSCOPE_ALARM'] + '\\n')"
    )
    script = tmp_path / "script.py"
    script.write_text(text)
    run = [sys.executable, "-m", "stepscope", "run", "--dir", str(tmp_path), "--name", "r"]
    run += ["--exec", f"{sys.executable} {teller} {told}", "--", sys.executable, str(script)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    end = time.monotonic() + 20
    while not told.exists() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.3)  # a second alarm would come with the first
    return done, told.read_text().splitlines() if told.exists() else []


@pytest.mark.parametrize("steps", ["", STEPS])
def test_a_kill_is_an_alarm_with_its_signal(tmp_path, steps):
    done, told = alarmed(tmp_path, steps + "import os; os.kill(os.getpid(), 9)")
    assert done.returncode == 137
    assert [line.split()[0] for line in told] == ["killed"]
    assert "SIGKILL" in told[0]
    assert "137" in told[0]
    report = explain(read(str(tmp_path / "r")))
    assert report.state.value == "killed"
    assert "killed" in {alarm.code for alarm in report.alarms}


def test_a_crash_before_the_first_step_is_one_alarm(tmp_path):
    done, told = alarmed(tmp_path, "import nosuchmodule")
    assert done.returncode == 1
    assert [line.split()[0] for line in told] == ["crash"]
    assert "nosuchmodule" in told[0]
    assert "exit code 1" in told[0]


def test_an_exit_code_without_a_word(tmp_path):
    done, told = alarmed(tmp_path, STEPS + "raise SystemExit(3)")
    assert done.returncode == 3
    assert [line.split()[0] for line in told] == ["crash"]
    assert "exit code 3" in told[0]


def test_out_of_memory_is_one_alarm(tmp_path):
    _, told = alarmed(tmp_path, STEPS + "raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')")
    assert [line.split()[0] for line in told] == ["oom"]


def test_a_polite_end_is_an_interruption(tmp_path):
    _, told = alarmed(tmp_path, STEPS + "import os; os.kill(os.getpid(), 15)")
    assert [line.split()[0] for line in told] == ["interrupted"]
    assert "SIGTERM" in told[0]


def test_a_good_end_is_finished(tmp_path):
    """The exit code says it where no total is known."""
    _, told = alarmed(tmp_path, STEPS)
    assert [line.split()[0] for line in told] == ["finished"]
    assert explain(read(str(tmp_path / "r"))).state.value == "finished"


def test_the_signal_is_said_without_a_watch(tmp_path):
    run = [sys.executable, "-m", "stepscope", "run", "--dir", str(tmp_path), "--", "sh", "-c", "kill -SEGV $$"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 128 + signal.SIGSEGV
    assert "SIGSEGV" in done.stderr
