"""From folders to a store: what is one run, what is read again, and what a kill leaves."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from stepscope.fleet.engines import Inline, Pool
from stepscope.fleet.scan import scan
from stepscope.fleet.store import Store
from stepscope.fleet.work import explain_chunk
from stepscope.source.candidates import candidates
from stepscope.source.listing import listings
from tests.conftest import ROOT
from tests.fleet.logs import nanogpt_log
from tests.fleet.stores import content, rows
from tests.unit.test_tables import wandb_file


@pytest.fixture(autouse=True)
def _small_collections(monkeypatch):
    """A folder of more than four files is a collection here, so that few logs make one."""
    monkeypatch.setattr("stepscope.source.candidates._MOST_TOGETHER", 4)


def write(path: Path, text: str, *, age_s: float = 10 * 86_400) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    moment = time.time() - age_s
    os.utime(path, (moment, moment))
    return path


def uris_of(store: Store) -> list[str]:
    return sorted(Path(row["uri"]).name for row in rows(store, "runs"))


def test_unrelated_logs_are_runs_of_their_own(tmp_path):
    """One program, one configuration, begun alike: a folder of jobs, not ranks."""
    for job in range(4):
        write(tmp_path / "logs" / f"slurm-{1000 + job}.out", nanogpt_log(seed=job))
    store = Store(tmp_path / "store")
    scanned = scan([str(tmp_path / "logs")], store, Inline())
    assert uris_of(store) == [f"slurm-{1000 + job}.out" for job in range(4)]
    assert scanned.num_failed == 0


def test_ranks_parts_and_copies_are_one_run(tmp_path):
    for rank in range(4):
        write(tmp_path / "logs" / "ranks" / f"rank_{rank}.log", nanogpt_log(seed=rank))
    write(tmp_path / "logs" / "parts" / "train-1.log", nanogpt_log(seed=1, steps=400))
    write(tmp_path / "logs" / "parts" / "train-2.log", nanogpt_log(seed=2, first=390, steps=400))
    for name in ("log.txt", "stdout.txt"):
        write(tmp_path / "logs" / "copies" / name, nanogpt_log(seed=3))
    store = Store(tmp_path / "store")
    scan([str(tmp_path / "logs")], store, Inline())
    found = {Path(row["uri"]).parent.name: row for row in rows(store, "runs")}
    assert len(rows(store, "runs")) == 3
    assert len(found["ranks"]["paths"]) == 4
    assert (found["parts"]["last_step"], len(found["parts"]["paths"])) == (790, 2)
    assert len(found["copies"]["paths"]) == 2


def test_ranks_below_folders_of_their_own_are_one_run(tmp_path):
    for rank in range(3):
        write(tmp_path / "logs" / "job" / f"rank{rank}" / "train.log", nanogpt_log(seed=rank))
    found = [one for listing in listings(str(tmp_path / "logs"), print) for one in candidates(listing)]
    assert [len(one.files) for one in found] == [3]
    store = Store(tmp_path / "store")
    scan([str(tmp_path / "logs")], store, Inline())
    assert len(rows(store, "runs")) == 1


def test_folders_of_mlflow_and_wandb_are_a_run_each(tmp_path):
    """Metrics, output, settings, artifacts and debug logs of a run are in its folder, and are no runs."""
    for number in range(2):
        run = tmp_path / "logs" / "mlruns" / "0" / (f"{number}f" * 16)
        write(run / "meta.yaml", "run_id: x\n")
        for name in ("loss", "val/loss"):
            values = (f"{1_700_000_000_000 + 500 * step} {3 - step / 100} {step}\n" for step in range(60))
            write(run / "metrics" / name, "".join(values))
        write(run / "artifacts" / "train.log", nanogpt_log(seed=1))
        run = tmp_path / "logs" / "wandb" / f"run-20260101_12000{number}-ab12cd3{number}"
        write(run / f"run-ab12cd3{number}.wandb", "").write_bytes(wandb_file(num_rows=30))
        write(run / "files" / "output.log", nanogpt_log(seed=2))
        write(run / "logs" / "debug-internal.log", "2026-01-01 12:00:00 INFO started\n" * 50)
    # Its own file has not been uploaded: the output is the run.
    write(tmp_path / "logs" / "wandb" / "run-20260101_130000-ef" / "files" / "output.log", nanogpt_log(seed=3))
    store = Store(tmp_path / "store")
    scanned = scan([str(tmp_path / "logs")], store, Inline())
    found = sorted((row["format"], row["last_step"]) for row in rows(store, "runs"))
    assert found == [("mlflow_run", 59)] * 2 + [("nanogpt", 400)] + [("wandb_binary", 290)] * 2
    assert scanned.num_failed == 0


def test_a_file_that_is_no_log_is_a_row_with_its_reason(tmp_path):
    for job in range(5):
        write(tmp_path / "logs" / f"job-{job}.out", nanogpt_log(seed=job, steps=50))
    write(tmp_path / "logs" / "broken.out", "\0\1\2" * 100)
    store = Store(tmp_path / "store")
    scanned = scan([str(tmp_path / "logs")], store, Inline())
    failed = [row for row in rows(store, "runs") if row["status"] == "failed"]
    assert (scanned.num_failed, [Path(row["uri"]).name for row in failed]) == (1, ["broken.out"])
    assert failed[0]["error"]
    assert failed[0]["wall_s"] is None


def test_only_what_changed_is_read_again(tmp_path):
    for job in range(9):
        write(tmp_path / "logs" / f"job-{job}.out", nanogpt_log(seed=job, steps=50))
    store = Store(tmp_path / "store")
    scan([str(tmp_path / "logs")], store, Inline())
    before = content(store)
    again = scan([str(tmp_path / "logs")], store, Inline()).progress
    assert (again.num_found, again.num_known, again.num_done) == (9, 9, 0)
    assert content(store) == before
    write(tmp_path / "logs" / "job-7.out", nanogpt_log(seed=7, steps=200))
    again = scan([str(tmp_path / "logs")], store, Inline()).progress
    assert (again.num_known, again.num_done) == (8, 1)


def test_a_log_that_may_go_on_is_read_again(tmp_path):
    """Whether it runs is a matter of the clock: the same bytes a day later are another answer."""
    write(tmp_path / "logs" / "job.out", nanogpt_log(seed=1), age_s=5)
    store = Store(tmp_path / "store")
    scan([str(tmp_path / "logs")], store, Inline())
    assert rows(store, "runs")[0]["state"] == "running"
    assert scan([str(tmp_path / "logs")], store, Inline()).progress.num_known == 0
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=2)
    assert len(store.finished(later)) == 1


def test_many_small_parts_are_put_together_without_a_row_lost_or_doubled(tmp_path, monkeypatch):
    for job in range(9):
        write(tmp_path / "logs" / f"job-{job}.out", nanogpt_log(seed=job, steps=50))
    whole, parts = Store(tmp_path / "whole"), Store(tmp_path / "parts")
    scan([str(tmp_path / "logs")], whole, Inline())
    monkeypatch.setattr("stepscope.fleet.store._MANY", 8)
    scan([str(tmp_path / "logs")], parts, Inline(), chunk_size=1)
    assert len(parts.parts("runs")) == 2
    assert content(parts) == content(whole)


def test_the_pool_says_what_one_process_says(tmp_path):
    for job in range(9):
        write(tmp_path / "logs" / f"job-{job}.out", nanogpt_log(seed=job, steps=50))
    inline, pool = Store(tmp_path / "inline"), Store(tmp_path / "pool")
    scan([str(tmp_path / "logs")], inline, Inline())
    scan([str(tmp_path / "logs")], pool, Pool(2), chunk_size=3)
    assert content(pool) == content(inline)


def dies_of(chunk):
    """Work that a certain log kills, as a file that takes all memory would."""
    if any("job-3.out" in one.files[0].uri for one in chunk):
        os.kill(os.getpid(), signal.SIGKILL)
    return explain_chunk(chunk)


def test_a_log_that_kills_its_worker_is_a_row_with_its_reason(tmp_path):
    """The logs that come after it, more than wait for a worker, are read all the same."""
    for job in range(9):
        write(tmp_path / "logs" / f"job-{job}.out", nanogpt_log(seed=job, steps=50))
    store = Store(tmp_path / "store")
    scanned = scan([str(tmp_path / "logs")], store, Pool(2, work=dies_of), chunk_size=5)
    failed = [row for row in rows(store, "runs") if row["status"] == "failed"]
    assert [(Path(row["uri"]).name, row["error"]) for row in failed] == [("job-3.out", "worker-died")]
    assert scanned.progress.num_done == 9


def test_two_scans_of_one_store_are_refused(tmp_path, cli):
    write(tmp_path / "logs" / "job.out", nanogpt_log(seed=1))
    with Store(tmp_path / "store").opened():
        status, _, err = cli("fleet", "scan", tmp_path / "logs", "--store", tmp_path / "store")
    assert status == 1
    assert "error[fleet-store-busy]" in err


def test_the_command_says_what_it_found(tmp_path, cli):
    write(tmp_path / "logs" / "job.out", nanogpt_log(seed=1))
    command = ("fleet", "scan", tmp_path / "logs", "--store", tmp_path / "store", "--workers", "1")
    assert cli(*command)[:2] == (
        0,
        "One run read, 0 not understood; folders and logs unchanged: 0 of 1.\n",
    )
    assert cli(*command)[1] == "0 runs read, 0 not understood; folders and logs unchanged: 1 of 1.\n"


# How often a scan is killed: STEPSCOPE_KILLS=50 looks further.
KILLS = int(os.environ.get("STEPSCOPE_KILLS", "12"))


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_scan_that_is_killed_and_taken_up_again_says_what_one_that_was_not_says(tmp_path):
    for job in range(KILLS):
        write(tmp_path / "logs" / f"job-{job}.out", nanogpt_log(seed=job, steps=50))
    expected, store = Store(tmp_path / "whole"), Store(tmp_path / "killed")
    scan([str(tmp_path / "logs")], expected, Inline())
    command = [sys.executable, "-m", "tests.fleet.killed", tmp_path / "logs", store.folder, str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) >= KILLS // 2
    scan([str(tmp_path / "logs")], store, Inline(), chunk_size=1)
    assert content(store) == content(expected)
    assert not list(store.folder.glob("*/.*"))
