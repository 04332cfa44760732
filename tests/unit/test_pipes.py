"""Named pipes and process substitution are read like standard input; devices are refused."""

from __future__ import annotations

import gzip
import os
import threading

import pytest

from stepscope.core import opening
from stepscope.core.errors import InputError
from stepscope.reading.reader import read

LOG = "".join(f"iter {step}: loss 2.{step:03d}, time 250.00ms\n" for step in range(400)).encode()
pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")


def pipe_with(path, data):
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    return str(path)


@pytest.mark.parametrize("data", [LOG, gzip.compress(LOG)], ids=["plain", "gzip"])
def test_a_named_pipe(tmp_path, data):
    run = read(pipe_with(tmp_path / "pipe", data))
    assert len(run) == 400
    assert run.mtime is None


def test_two_parts_of_a_run_as_pipes(tmp_path):
    first, second = (LOG[: len(LOG) // 2], LOG[len(LOG) // 2 :])
    run = read(pipe_with(tmp_path / "a", first), pipe_with(tmp_path / "b", second))
    assert len(run) >= 399


def test_a_table_through_a_pipe(tmp_path):
    table = b"step,dt,loss\n" + b"".join(b"%d,0.5,2.0\n" % step for step in range(90))
    assert len(read(pipe_with(tmp_path / "pipe", table))) == 90


def test_a_pipe_that_nobody_writes_to(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_WRITER_WAIT_S", 0.01)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="nobody writes"):
        read(str(tmp_path / "pipe"))


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_devices_are_refused(device):
    with pytest.raises(InputError, match="device"):
        read(device)
