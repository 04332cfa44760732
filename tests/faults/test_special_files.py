"""Pipes, devices and endless files: never opened where they lie next to a log, read up to a limit where they are named.

Each test runs in a process of its own with a time limit: what fails here hangs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from tests.conftest import DEMO

LOG, CONFIG = DEMO / "train.log", DEMO / "config.py"
NAMES = ("gpu.csv", "trace.tsv", "stamps.tsv", "suspends.tsv", "other.log", "config.py", "meta.yaml")


def stepscope(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stepscope", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, **options)  # type: ignore


@pytest.mark.parametrize(("name", "kind"), [("log.txt", "pipe"), ("train.log", "device")])
def test_what_lies_next_to_a_log_is_opened_only_if_it_is_a_file(tmp_path, kind, name):
    """With every name that is looked for at once, in a recording and next to a plain log."""
    log = tmp_path / name
    log.write_bytes(LOG.read_bytes())
    for other in NAMES:
        if kind == "pipe":
            os.mkfifo(tmp_path / other)
        else:
            (tmp_path / other).symlink_to("/dev/zero")
    for argument in (log, tmp_path):
        done = stepscope(argument, "--max-steps", "20000")
        assert done.returncode == 0, done.stderr
        assert "20,000" in done.stdout


@pytest.mark.parametrize(("flag", "device"), [("--config", "/dev/zero"), ("--nvidia-smi", "/dev/urandom")])
def test_a_device_in_place_of_a_named_file_is_refused(flag, device):
    done = stepscope(LOG, flag, device)
    assert done.returncode == 1
    assert "device" in done.stderr


@pytest.mark.parametrize(("flag", "key"), [("--config", "config-too-large"), ("--nvidia-smi", "nvidia-smi-too-large")])
def test_an_endless_pipe_in_place_of_a_named_file_is_refused(flag, key):
    done = subprocess.run(
        ["bash", "-c", 'exec "$0" -m stepscope "$1" "$2" <(yes "x = 1")', sys.executable, str(LOG), flag],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert key in done.stderr


def test_a_pipe_in_place_of_a_config_is_read(tmp_path):
    pipe = tmp_path / "config.py"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(CONFIG.read_bytes(),), daemon=True).start()
    assert stepscope(LOG, "--config", pipe).stdout == stepscope(LOG, "--config", CONFIG).stdout


def test_the_end_of_a_long_series_of_nvidia_smi_counts(tmp_path):
    table = (DEMO / "nvidia-smi.txt").read_text()
    series = tmp_path / "smi.txt"
    series.write_text("x\n" * (5 << 20) + table)
    assert (
        stepscope(LOG, "--nvidia-smi", series).stdout == stepscope(LOG, "--nvidia-smi", DEMO / "nvidia-smi.txt").stdout
    )


@pytest.mark.parametrize("command", ['"$0" -m stepscope <(zcat "$1")', 'cat "$1" | "$0" -m stepscope /dev/stdin'])
def test_process_substitution(tmp_path, command):
    packed = tmp_path / "train.log.gz"
    subprocess.run(f"gzip -c '{LOG}' > '{packed}'", shell=True, check=True)
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, str(packed)], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "1,300" in done.stdout


def test_watch_of_a_named_pipe(tmp_path):
    lines = "".join(f"iter {step}: loss 2.5000, time 100.00ms, mfu 30.00%\n" for step in range(101))
    (tmp_path / "a.log").write_text(lines)
    done = subprocess.run(
        ["bash", "-c", '"$0" -m stepscope watch <(cat "$1") --max-steps 100', sys.executable, str(tmp_path / "a.log")],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "100" in done.stdout
