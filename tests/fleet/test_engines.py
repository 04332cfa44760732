"""Real clusters of two workers on this machine: what they say, and what a dead worker costs."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from stepscope.fleet.engines import Done, Inline, engine_named
from stepscope.fleet.engines.base import kept_ahead
from stepscope.fleet.scan import scan
from stepscope.fleet.store import Store
from stepscope.fleet.work import Result, explain_chunk
from tests.fleet.logs import nanogpt_log
from tests.fleet.stores import content, rows


def killing(mark: Path, deadly: str):
    """Work that kills its worker: once, in the middle of a chunk, and each time at one log."""

    def work(chunk):
        uris = [file.uri for one in chunk for file in one.files]
        if any(deadly in uri for uri in uris):
            os.kill(os.getpid(), signal.SIGKILL)
        if any("job-1.out" in uri for uri in uris) and not mark.exists():
            explain_chunk(chunk[:1])
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return explain_chunk(chunk)

    return work


def ray_engine(work):
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    from stepscope.fleet.engines.on_ray import Ray

    return Ray(None, 2, work)


def dask_engine(work):
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    from stepscope.fleet.engines.on_dask import Dask

    return Dask(None, 2, work)


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("make", [ray_engine, dask_engine])
def test_a_cluster_says_what_one_process_says_though_workers_are_killed(tmp_path, make):
    for job in range(12):
        path = tmp_path / "logs" / f"{job // 2}" / f"job-{job}.out"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(nanogpt_log(seed=job, steps=50))
        os.utime(path, (1_700_000_000, 1_700_000_000))
    expected, store = Store(tmp_path / "inline"), Store(tmp_path / "cluster")
    with contextlib.closing(make(killing(tmp_path / "mark", "job-7.out"))) as engine:
        scanned = scan([str(tmp_path / "logs")], store, engine, chunk_size=2)
    scan([str(tmp_path / "logs")], expected, Inline())
    assert (tmp_path / "mark").exists()
    # The folder that the deadly log is in was explained nowhere; all others were, the interrupted chunk too.
    assert (scanned.progress.num_done, scanned.num_failed) == (6, 1)
    assert [row["error"] for row in rows(store, "runs") if row["status"] == "failed"] == ["worker-died"]
    assert without(content(store), "/3/job-") == without(content(expected), "/3/job-")


def without(said, piece):
    return {table: [row for row in own if piece not in row] for table, own in said.items()}


def test_no_more_chunks_are_taken_than_the_workers_need():
    taken, most = 0, 0

    def chunks():
        nonlocal taken
        for number in range(50):
            taken += 1
            yield (number,)

    done = []
    workers = iter([1] * 20 + [3] * 100)
    for one in kept_ahead(
        chunks(), num_workers=lambda: next(workers), submit=lambda chunk: chunk[0], wait=min, result=lambda _: None
    ):
        done.append(one)
        most = max(most, taken - len(done))
    assert done == [Done((number,), None) for number in range(50)]
    assert most == 2 * 3 - 1


def test_the_pool_is_the_engine_that_nothing_has_to_be_installed_for():
    assert isinstance(engine_named("pool", 1), Inline)
    assert isinstance(explain_chunk(()), Result)


@pytest.mark.parametrize("name", ["ray://auto", "dask://127.0.0.1:9"])
def test_a_cluster_that_is_not_there_is_said(name, cli, tmp_path, monkeypatch):
    pytest.importorskip("ray" if name.startswith("ray") else "distributed")
    if name.startswith("dask"):
        import dask

        monkeypatch.setitem(dask.config.config["distributed"]["comm"]["timeouts"], "connect", "1s")
    status, _, err = cli("fleet", "scan", tmp_path, "--store", tmp_path / "store", "--engine", name)
    assert status == 1
    assert "error[engine-unreachable]" in err
