"""Other processes that sort the lines of a long log change how long it takes, and nothing else."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepscope.core.errors import InputError
from stepscope.reading.bulk import helpers
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read
from tests.fuzz.test_bulk import bar_logs, long_logs, stamped_logs
from tests.fuzz.test_laws import columns

BATCH, MORE = 3000, 400
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")


@pytest.fixture
def asked(monkeypatch):
    """Helpers are asked for at once and get small stretches; how many batches each reading took from them."""
    monkeypatch.setattr("stepscope.reading.bulk.bulk_reader.BYTES_FOR_HELP", 1)
    monkeypatch.setitem(LogReader.__init__.__kwdefaults__, "settle_bytes", 512)
    monkeypatch.setattr("threading.active_count", lambda: 1)  # whatever runs the tests
    monkeypatch.setattr("stepscope.source.files.CHUNK_BYTES", 5000)
    monkeypatch.setattr(helpers, "_BATCH_BYTES", BATCH)
    monkeypatch.setattr(helpers, "_MORE_BYTES", MORE)
    monkeypatch.setattr(helpers, "_num_cores", lambda: 2)
    taken: list[int] = []
    plain = helpers.Helpers.batches

    def counted(self, start, end):
        for batch in plain(self, start, end):
            taken.append(batch.start)
            yield batch

    monkeypatch.setattr(helpers.Helpers, "batches", counted)
    return taken


def outcome(path: Path):
    try:
        return columns(read(str(path)))
    except InputError as problem:
        return problem.key


def alone(path: Path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helpers, "_num_cores", lambda: 1)
        return outcome(path)


@pytest.mark.usefixtures("asked")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(long_logs(), bar_logs(), stamped_logs()))
def test_the_run_is_the_same_with_and_without_help(tmp_path, data):
    path = tmp_path / "train.log"
    path.write_bytes(data * 3)
    assert outcome(path) == alone(path)


def steady(num: int, end: str = "\n") -> str:
    lines = []
    for step in range(num):
        lines.append(f"iter {step}: loss 3.{step % 10000:04d}, time {100 + step % 7}.25ms, mfu 30.12%")
        if step % 50 == 0:
            lines += [f"step {step}: train loss 3.0100, val loss 3.1200", "saving checkpoint to out"]
    return end.join(lines) + end


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_steady_log_is_mostly_read_by_helpers(asked, tmp_path, end):
    path = tmp_path / "train.log"
    path.write_bytes(steady(2000, end).encode())
    assert outcome(path) == alone(path)
    assert len(asked) > 0.8 * path.stat().st_size / BATCH


@pytest.mark.parametrize("odd", ["\0", "x" * 5000, "Traceback (most recent call last):\n  File\nKeyError: 1", "\r\0\n"])
def test_what_helpers_cannot_sort_is_read_without_them(asked, tmp_path, odd):
    path = tmp_path / "train.log"
    path.write_bytes((steady(600) + odd + "\n" + steady(900)).encode())
    assert outcome(path) == alone(path)
    assert asked


@pytest.mark.usefixtures("asked")
def test_a_helper_that_dies_is_done_without(tmp_path, monkeypatch):
    """Killed by somebody short of memory, say."""
    path = tmp_path / "train.log"
    path.write_bytes(steady(2000).encode())
    expected = alone(path)
    begin = helpers.Helpers.begin.__func__

    def doomed(cls, sort, path):
        begun = begin(cls, sort, path)
        os.kill(begun._helpers[0].pid, signal.SIGKILL)
        return begun

    monkeypatch.setattr(helpers.Helpers, "begin", classmethod(doomed))
    assert outcome(path) == expected


@pytest.mark.usefixtures("asked")
def test_no_helper_outlives_the_reading(tmp_path, monkeypatch):
    path, pids = tmp_path / "train.log", []
    path.write_bytes(steady(2000).encode())
    start = helpers._start

    def noted(*args):
        helper = start(*args)
        pids.append(helper.pid)
        return helper

    monkeypatch.setattr(helpers, "_start", noted)
    outcome(path)
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_program_with_threads_is_not_forked(asked, tmp_path, monkeypatch):
    path = tmp_path / "train.log"
    path.write_bytes(steady(2000).encode())
    monkeypatch.setattr("threading.active_count", lambda: 2)
    outcome(path)
    assert not asked
