"""Buckets: a real S3 server on loopback, in pages of a few keys."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from stepscope.core.errors import InputError, UsageError
from stepscope.fleet import bucket_listing, buckets
from stepscope.fleet.engines import Inline
from stepscope.fleet.scan import scan
from stepscope.fleet.store import Store
from stepscope.source.candidates import candidates
from stepscope.source.listing import Listed
from tests.fleet.logs import nanogpt_log
from tests.fleet.servers import KEYS_PER_PAGE, put
from tests.fleet.stores import content, rows

# What tells the same run in a folder and in a bucket apart.
OF_A_PLACE = frozenset({"uri", "paths", "candidate", "digest", "version", "written_at"})


@pytest.fixture(autouse=True)
def _asked_anew():
    """A store of an earlier test has that test's credentials."""
    buckets._store.cache_clear()


def upload(client, folder: Path, prefix: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            put(client, f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())
    for file in buckets.objects(f"s3://logs/{prefix}"):
        # The time of a log without times is that of its file.
        os.utime(folder / file.uri.removeprefix(f"s3://logs/{prefix}/"), (file.mtime, file.mtime))


def test_a_scan_of_a_bucket_reads_what_has_changed_only(s3, tmp_path):
    num = 2 * KEYS_PER_PAGE + 3
    for job in range(num):
        put(s3, f"changing/job-{job:02}/train.log", nanogpt_log(seed=job, steps=50))
    store = Store(tmp_path / "store")
    first = scan(["s3://logs/changing"], store, Inline())
    assert (first.progress.num_found, first.progress.num_done, first.num_failed) == (num, num, 0)
    assert {row["uri"] for row in rows(store, "runs")} == {
        f"s3://logs/changing/job-{job:02}/train.log" for job in range(num)
    }
    settled(store)
    assert scan(["s3://logs/changing"], store, Inline()).progress.num_done == 0
    # As long as before, so that the etag alone tells them apart.
    before = nanogpt_log(seed=3, steps=50)
    changed = before.replace("loss 3", "loss 2")
    assert len(changed) == len(before)
    put(s3, "changing/job-03/train.log", changed)
    assert scan(["s3://logs/changing"], store, Inline()).progress.num_done == 1


def settled(store: Store) -> None:
    """Let the runs of a store be over: objects are as young as the test, and a young log may go on."""
    from pyarrow import Table, parquet

    from stepscope.fleet.tables import arrow_schema

    for path in store.parts("runs"):
        table = parquet.read_table(path)
        changed = [row | {"state": "ended"} for row in table.to_pylist()]
        parquet.write_table(
            Table.from_pylist(changed, schema=arrow_schema("runs")).replace_schema_metadata(table.schema.metadata), path
        )


def test_a_bucket_says_what_the_same_folder_says(s3, tmp_path):
    """Ranks, parts, collections, a recording with its exit code, MLflow's and W&B's folders: by keys as by names."""
    folder = tmp_path / "logs"
    for rank in range(3):
        write(folder / "job" / f"rank{rank}" / "train.log", nanogpt_log(seed=rank))
    for job in range(3):
        write(folder / "jobs" / f"slurm-{job}.out", nanogpt_log(seed=job, steps=50))
    write(folder / "jobs" / "notes" / "other.log", nanogpt_log(seed=9, steps=50))
    write(folder / ".hidden" / "train.log", nanogpt_log(seed=1))
    write(folder / "jobs" / "config.yaml", "a: 1")
    write(folder / "empty" / "train.log", "")
    mlflow_run(folder / "mlruns" / "0" / ("ab" * 16))
    recorded_run(folder / "recorded")
    upload(s3, folder, "same")
    local, remote = Store(tmp_path / "local"), Store(tmp_path / "remote")
    scan([str(folder)], local, Inline())
    scan(["s3://logs/same"], remote, Inline())
    own = {row["uri"].removeprefix(str(folder)) for row in rows(local, "runs")}
    other = {row["uri"].removeprefix("s3://logs/same") for row in rows(remote, "runs")}
    assert own == other
    assert len(own) == 7
    assert content(remote, OF_A_PLACE) == content(local, OF_A_PLACE)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def mlflow_run(folder: Path) -> None:
    write(folder / "meta.yaml", "run_id: x\n")
    write(folder / "params" / "lr", "0.1")
    write(folder / "artifacts" / "model" / "notes.txt", "a model")
    values = "".join(f"{1_700_000_000_000 + 500 * step} {3 - step / 100} {step}\n" for step in range(60))
    write(folder / "metrics" / "loss", values)


def recorded_run(folder: Path) -> None:
    """A recording that a signal ended: that is in a file beside its log."""
    text, upto, stamps = nanogpt_log(seed=5, steps=200), 0, []
    for number, line in enumerate(text.splitlines(keepends=True)):
        upto += len(line)
        stamps.append(f"{upto}\t{1_700_000_000 + number}.000000\t{1000 + number}.000000\n")
    write(folder / "log.txt", text)
    write(folder / "stamps.tsv", "".join(stamps))
    write(folder / "exit.json", '{"code": 137, "signal": 9}')


def test_a_place_that_is_one_object_is_one_log(s3):
    put(s3, "one/train.log", nanogpt_log(seed=1))
    put(s3, "one/train.log.bak", nanogpt_log(seed=2))
    found = [
        one
        for listing in bucket_listing.bucket_listings("s3://logs/one/train.log", print)
        for one in candidates(listing)
    ]
    assert [[file.uri for file in one.files] for one in found] == [["s3://logs/one/train.log"]]


def test_no_more_than_what_was_listed_is_fetched(s3, tmp_path):
    put(s3, "grown.log", b"0123456789")
    listed = Listed("s3://logs/grown.log", 4, 1_700_000_000.0, "etag")
    buckets.fetch(listed, tmp_path / "a" / "grown.log")
    assert (tmp_path / "a" / "grown.log").read_bytes() == b"0123"
    assert (tmp_path / "a" / "grown.log").stat().st_mtime == 1_700_000_000.0
    assert buckets.fetch_range(listed, 2, 100) == b"23"
    assert buckets.fetch_range(listed, 4, 100) == b""


def test_an_object_that_is_gone_is_a_row_with_its_reason(s3, tmp_path):
    put(s3, "going/train.log", nanogpt_log(seed=1))

    def listed_then_deleted(place, note):
        found = list(bucket_listing.bucket_listings(place, note))
        s3.delete_object(Bucket="logs", Key="going/train.log")
        return iter(found)

    store = Store(tmp_path / "store")
    scanned = scan(["s3://logs/going"], store, Inline(), list_place=listed_then_deleted)
    assert scanned.num_failed == 1
    assert [row["error"] for row in rows(store, "runs")] == ["no-such-object"]


@pytest.mark.parametrize(
    ("place", "key"),
    [("s3://nowhere/runs", "no-bucket"), ("s3://logs/nothing", "no-such-object")],
)
@pytest.mark.usefixtures("s3")
def test_what_is_not_there_is_said(place, key):
    with pytest.raises(InputError) as caught:
        list(buckets.objects(place))
    assert caught.value.key == key


def test_a_place_without_a_bucket_is_refused():
    with pytest.raises(UsageError, match="o bucket"):
        buckets.address("s3:///runs")


def test_a_server_that_does_not_answer_is_said_with_its_reason(monkeypatch):
    monkeypatch.setattr(buckets, "_RETRIES", 0)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(InputError) as caught:
        list(buckets.objects("s3://logs"))
    assert caught.value.key == "bucket-unreachable"
    assert "127.0.0.1:9" in str(caught.value)


def test_an_azure_container_without_an_account_asks_for_credentials(monkeypatch):
    for name in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(name)
    with pytest.raises(InputError) as caught:
        list(buckets.objects("az://logs/runs"))
    assert caught.value.key == "bucket-no-credentials"


def test_folders_of_mlflow_and_wandb_are_one_run_in_a_bucket():
    """The keys that decide come last in the order of a bucket."""
    run = "s3://b/wandb/run-20260101_120000-ab12cd34"
    keys = [
        "s3://b/mlruns/0/" + "ab" * 16 + "/" + name
        for name in ("artifacts/model/log.txt", "meta.yaml", "metrics/loss", "metrics/val/loss", "params/lr")
    ]
    keys += [f"{run}/{name}" for name in ("files/output.log", "logs/debug.log", "run-ab12cd34.wandb")]
    keys += ["s3://b/wandb/run-20260101_130000-ab12cd34/files/output.log"]  # its own file was not uploaded
    found = bucket_listing.bucket_listings("s3://b", print, lambda _: (Listed(key, 9, 0.0, "e") for key in keys))
    assert [(one.folder.rpartition("/")[2], len(one.files), one.is_mlflow) for one in found] == [
        ("ab" * 16, 3, True),
        ("run-20260101_120000-ab12cd34", 1, False),
        ("files", 1, False),
    ]


def test_a_million_keys_are_listed_in_bounded_memory():
    import tracemalloc

    def keys(_):
        for number in range(1_000_000 if os.environ.get("STEPSCOPE_KEYS") else 20_000):
            yield Listed(f"s3://b/runs/{number:07}/train.log", 9, 0.0, "e")

    tracemalloc.start()
    num = sum(1 for _ in bucket_listing.bucket_listings("s3://b/runs", print, keys))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert num >= 20_000
    assert peak < 1 << 20


def test_keys_in_no_order_are_refused():
    listed = (Listed(f"s3://b/{name}", 9, 0.0, "e") for name in ("b/x.log", "a/x.log"))
    with pytest.raises(InputError) as caught:
        list(bucket_listing.bucket_listings("s3://b", print, lambda _: listed))
    assert caught.value.key == "bucket-unsorted"
