"""run, watch, attach with real processes, a real pseudo-terminal, real signals and real kills."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stepscope.analysis.explain import explain
from stepscope.live.recorder import append
from stepscope.reading.reader import read
from tests.unit.logs import training

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are POSIX")

TRAINER = """
import sys, time
last, pause = int(sys.argv[1]), float(sys.argv[2])
began = time.time()
try:
    for step in range(last + 1):
        if step % 10 == 0:
            time.sleep(5 * pause)
            print(f"step {step}: train loss 3.0000, val loss 3.1000")
        time.sleep(pause)
        now = time.time()
        print(f"iter {step}: loss 3.0000, time {(now - began) * 1000:.2f}ms")
        began = now
except KeyboardInterrupt:
    print("caught Ctrl-C")
    sys.exit(7)
"""


def stepscope(*arguments: str, **options) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "stepscope", *arguments], text=True, **options)


def wait_for(condition, seconds: float = 30.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it never came")


@pytest.fixture
def trainer(tmp_path: Path) -> Path:
    path = tmp_path / "trainer.py"
    path.write_text(TRAINER)
    return path


def started(folder: Path, lines: int = 3) -> bool:
    log = folder / "log.txt"
    return log.exists() and log.read_bytes().count(b"\n") >= lines


def test_output_and_exit_code_pass_through(tmp_path, trainer):
    done = stepscope(
        "run",
        "--dir",
        str(tmp_path),
        "--name",
        "r",
        "--",
        sys.executable,
        str(trainer),
        "20",
        "0.005",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = done.communicate(timeout=60)
    assert done.returncode == 0
    assert out == (tmp_path / "r" / "log.txt").read_text()
    assert out.count("iter ") == 21
    assert str(tmp_path / "r") in err


def test_the_exit_code_is_the_commands(tmp_path):
    for command, code in (("exit 5", 5), ("kill -9 $$", 137)):
        done = stepscope(
            "run", "--dir", str(tmp_path), "--", "sh", "-c", command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        done.communicate(timeout=60)
        assert done.returncode == code


def test_a_command_that_is_not_there(tmp_path):
    done = stepscope(
        "run", "--dir", str(tmp_path), "--", "no-such-command", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    _, err = done.communicate(timeout=60)
    assert done.returncode == 127
    assert "command not found" in err


def test_a_recording_is_read_with_its_stamps(tmp_path, trainer):
    """With stamps and every iteration printed, evaluation is measured: 5 pauses each."""
    done = stepscope(
        "run",
        "--dir",
        str(tmp_path),
        "--name",
        "r",
        "--",
        sys.executable,
        str(trainer),
        "40",
        "0.02",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    done.communicate(timeout=60)
    run = read(str(tmp_path / "r"))
    report = explain(run, flags={"max_steps": 40})
    phases = {total.phase: total for total in report.ledger.phases}
    assert len(run) == 41
    assert phases["evaluation"].basis == "measured"
    assert phases["evaluation"].seconds == pytest.approx(5 * 0.1, rel=0.5)


def test_ctrl_c_reaches_the_command(tmp_path, trainer):
    process = stepscope(
        "run",
        "--dir",
        str(tmp_path),
        "--name",
        "r",
        "--",
        sys.executable,
        str(trainer),
        "100000",
        "0.01",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: started(tmp_path / "r"))
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 7
    assert "caught Ctrl-C" in out


def test_killing_stepscope_does_not_kill_the_run(tmp_path, trainer):
    """SIGKILL: the training goes on to its end, and the log is complete."""
    process = stepscope(
        "run",
        "--dir",
        str(tmp_path),
        "--name",
        "r",
        "--",
        sys.executable,
        str(trainer),
        "60",
        "0.02",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: started(tmp_path / "r"))
    process.kill()
    process.wait()
    end = wait_for(
        lambda: (tmp_path / "r" / "exit.json").exists() and json.loads((tmp_path / "r" / "exit.json").read_text())
    )
    assert end["code"] == 0
    assert len(read(str(tmp_path / "r"))) == 61


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_noticed():
    number = os.open("/dev/full", os.O_WRONLY)
    assert append(number, b"a line\n") == (0, errno.ENOSPC)
    os.close(number)


def test_watch_follows_truncation_and_rotation(tmp_path):
    log = tmp_path / "train.log"
    lines = training(300, every=10)
    log.write_text("\n".join(lines[:10]) + "\n")
    process = stepscope(
        "watch",
        str(log),
        "--max-steps",
        "300",
        "--interval",
        "0.2",
        "--plain",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(1.5)
    with log.open("a") as file:
        file.write("\n".join(lines[10:20]) + "\n")
    time.sleep(1.0)
    log.rename(tmp_path / "train.log.1")
    log.write_text("\n".join(lines[20:]) + "\n")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "finished" in out


def test_watch_of_a_pipe_that_ends_early():
    process = stepscope(
        "watch", "-", "--max-steps", "300", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, _ = process.communicate("\n".join(training(200, every=10)) + "\n", timeout=60)
    assert process.returncode == 4
    assert "200" in out


def test_watch_interrupted_is_130(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(100, every=10)) + "\n")
    process = stepscope(
        "watch", str(log), "--max-steps", "300", "--interval", "0.2", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for(process.stdout.readline)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


def test_an_alarm_runs_a_command(tmp_path):
    log, mark = tmp_path / "train.log", tmp_path / "mark"
    lines = [*training(200, every=10), "Traceback (most recent call last):", "RuntimeError: boom"]
    log.write_text("\n".join(lines) + "\n")
    teller = tmp_path / "tell.py"
    teller.write_text(f"import os, pathlib; pathlib.Path({str(mark)!r}).write_text(os.environ['STEPSCOPE_ALARM_CODE'])")
    command = f"{sys.executable} {teller}"
    process = stepscope(
        "watch", str(log), "--interval", "0.2", "--exec", command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.communicate(timeout=60)
    assert process.returncode == 4
    wait_for(mark.exists)


def test_the_command_of_an_alarm_is_one_of_the_shell_and_the_log_is_none(tmp_path):
    """As the cookbook has it: redirected, with the text in a variable. What the text says is never run."""
    log, said = tmp_path / "train.log", tmp_path / "alarms.txt"
    lines = [*training(200, every=10), "Traceback (most recent call last):", f"RuntimeError: $(touch {tmp_path}/ran)"]
    log.write_text("\n".join(lines) + "\n")
    command = f'echo "$STEPSCOPE_ALARM" >> {said}'
    process = stepscope(
        "watch", str(log), "--interval", "0.2", "--exec", command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.communicate(timeout=60)
    wait_for(lambda: said.exists() and "RuntimeError: $(touch" in said.read_text())
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc here")
def test_attach_finds_the_log_and_ends_with_the_process(tmp_path, trainer):
    log = tmp_path / "out.log"
    with log.open("wb") as out:
        child = subprocess.Popen([sys.executable, "-u", str(trainer), "150", "0.03"], stdout=out)
    process = stepscope(
        "attach",
        str(child.pid),
        "--max-steps",
        "150",
        "--interval",
        "0.3",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    child.wait(timeout=60)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert str(log) in err
    assert "finished" in out


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc here")
def test_attach_to_what_cannot_be_attached_to(tmp_path):
    for pid, words in (("999999999", "no-such-process"), (str(os.getpid()), "")):
        done = subprocess.run(
            [sys.executable, "-m", "stepscope", "attach", pid, "--log", str(tmp_path / "none.log")]
            if not words
            else [sys.executable, "-m", "stepscope", "attach", pid],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1
        assert words in done.stderr


def test_replay_prints_the_log_again(tmp_path):
    log = tmp_path / "train.log"
    text = "\n".join(training(50, every=5, evaluate=10)) + "\n"
    log.write_text(text)
    done = stepscope("replay", str(log), "--speed", "1000", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, _ = done.communicate(timeout=60)
    assert out == text
