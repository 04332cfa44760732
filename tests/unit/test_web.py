"""What the app refuses before it costs anything: slow and oversize uploads, archives that hold too much."""

from __future__ import annotations

import asyncio
import gzip
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from stepscope.core.errors import InputError, UsageError
from stepscope.i18n import Language
from stepscope.web import app as web_app
from stepscope.web import metrics
from stepscope.web import run_folder as web_folder
from stepscope.web.facts import Facts
from stepscope.web.hosts import Hosts
from stepscope.web.run_folder import RunFolder
from stepscope.web.run_list import RunList
from stepscope.web.summary_store import SummaryStore
from tests.unit.logs import training

HOST = "127.0.0.1:8000"
TEXT = ("\n".join(training(300, every=10, evaluate=50)) + "\n").encode()


def post(folder, body):
    """The app's answer to an upload, without a server between."""
    app = web_app.make_app(folder, token="t", hosts=Hosts(frozenset({HOST})), language=Language.load("en"))

    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(
            transport=transport, base_url=f"http://{HOST}", headers={"authorization": "Bearer t"}
        ) as client:
            return await client.post("/explain", content=body)

    # In a thread of its own: a browser's test before this one may have left a loop running in the main thread.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(ask())).result()


def test_an_upload_in_time_is_answered(tmp_path):
    answer = post(tmp_path, TEXT)
    assert answer.status_code == 200
    assert "nanoGPT" in answer.text


def test_an_upload_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(web_app, "UPLOAD_S", 0.05)

    async def drip():
        yield b"iter 1: "
        await asyncio.sleep(60)  # never waited for: the door shuts first
        yield b"loss"

    answer = post(tmp_path, drip())
    assert answer.status_code == 408
    assert "too long" in answer.text


@pytest.mark.parametrize("stated", [True, False])
def test_an_upload_that_is_too_large_is_refused(tmp_path, monkeypatch, stated):
    monkeypatch.setattr(web_app, "MOST_UPLOAD_BYTES", 1000)

    async def pieces():
        for _ in range(10):
            yield b"x" * 200

    answer = post(tmp_path, b"x" * 2000 if stated else pieces())
    assert answer.status_code == 413


def test_an_archive_is_read_only_so_far(tmp_path, monkeypatch):
    """Nobody waits for a bomb: the list says that it was not read, and so does opening it."""
    monkeypatch.setattr(web_folder, "MOST_EXPANDED_BYTES", 4 << 20)
    (tmp_path / "bomb.log.gz").write_bytes(gzip.compress(TEXT + b"x" * (64 << 20), 9))
    (tmp_path / "fine.log.gz").write_bytes(gzip.compress(TEXT.replace(b"100.00ms", b"100.50ms")))
    folder = RunFolder(tmp_path)
    listed = {run.name: run for run in listing(folder).runs}
    assert listed["bomb.log.gz"].summary is None
    assert "too large" in listed["bomb.log.gz"].problem
    assert listed["fine.log.gz"].summary is not None
    assert folder.open("fine.log.gz").has_steps
    with pytest.raises(InputError, match="unpacks to more than"):
        folder.open("bomb.log.gz")


def listing(folder):
    """The list of a folder's runs once all are read."""
    return RunList(folder, SummaryStore(None), Language.load("en")).complete(60)


def test_metrics_say_what_the_reports_say(tmp_path):
    """Parsed by Prometheus's own reader, so that an odd file name cannot break a line."""
    names = {"a.log", 'b"\\\n{x="1"}.log'}
    for number, name in enumerate(names):
        (tmp_path / name).write_bytes(TEXT.replace(b"time 100", b"time 10%d" % number))
    folder = RunFolder(tmp_path)
    families = {family.name: family for family in text_string_to_metric_families(metrics.render(listing(folder)))}
    assert list(families) == [
        "stepscope_step_seconds",
        "stepscope_steps",
        "stepscope_phase_seconds",
        "stepscope_eta_seconds",
        "stepscope_alarms",
        "stepscope_files_unread",
    ]
    assert {family.type for family in families.values()} == {"gauge"}
    steps = {sample.labels["run"]: sample.value for sample in families["stepscope_step_seconds"].samples}
    assert set(steps) == names
    report = folder.open("a.log")
    assert steps["a.log"] == report.ledger.step.typical_s
    assert [sample.value for sample in families["stepscope_steps"].samples] == [report.run.steps.step[-1]] * 2
    phases = [one for one in families["stepscope_phase_seconds"].samples if one.labels["run"] == "a.log"]
    assert [(sample.labels["phase"], sample.value) for sample in phases] == [
        (total.phase, total.seconds) for total in report.ledger.phases
    ]
    assert [sample.value for sample in families["stepscope_files_unread"].samples] == [0]
    by_report = {
        family.name: family.samples
        for family in text_string_to_metric_families(metrics.render_reports([("a.log", report)]))
    }
    assert [one.value for one in by_report["stepscope_phase_seconds"]] == [one.value for one in phases]


def test_metrics_of_no_runs_are_no_error(tmp_path):
    assert "# TYPE stepscope_steps gauge\n" in metrics.render(listing(RunFolder(tmp_path)))


@pytest.mark.parametrize("text", ["0", "-5", "many", "1e9", "9" * 40, "1.5", "\u202e12"])
def test_a_fact_that_is_no_number_is_said_to_be_none(text):
    with pytest.raises(UsageError):
        Facts.of({"max_steps": text})


@pytest.mark.parametrize(
    ("text", "count"), [("20000", 20000), (" 20,000 ", 20000), ("20 000", 20000), ("124M", 124_000_000)]
)
def test_a_fact_is_read_as_people_write_it(text, count):
    assert Facts.of({"parameters": text}).settings() == {"parameters": count}


def test_facts_of_the_address_are_facts_of_the_run(tmp_path):
    (tmp_path / "a.log").write_bytes(TEXT)
    folder = RunFolder(tmp_path)
    report = folder.open("a.log", Facts(max_steps="4000", gpu="RTX 4070"))
    assert report.run.settings["max_steps"] == (4000, "flag")
    assert report.hardware.gpu == "RTX 4070"
    assert folder.open("a.log").run.settings.get("max_steps") != (4000, "flag")


def test_ranks_are_opened_together(tmp_path):
    for rank in range(2):
        lines = training(300, every=10, step_ms=100.0 + rank)
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    folder = RunFolder(tmp_path)
    (run,) = listing(folder).runs
    assert (run.name, run.num_files) == ("rank_0.log", 2)
    assert len(folder.open(run.key).run.ranks) == 2


def test_files_next_to_a_log_are_not_opened_through_links_out_of_the_folder(tmp_path):
    outside = tmp_path / "outside.csv"
    outside.write_text("timestamp, index, name, utilization.gpu [%]\n2026/03/01 10:00:00.000, 0, H100, 55 %\n")
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "train.log").write_text("\n".join(training(300)))
    (folder / "gpu.csv").symlink_to(outside)
    assert RunFolder(folder).open("train.log").gpu_series is None
    (folder / "gpu.csv").unlink()
    (folder / "gpu.csv").write_text(outside.read_text())
    (folder / "train.log").write_text("\n".join(training(310)))
    assert RunFolder(folder).open("train.log").gpu_series is not None


def test_a_pasted_log_has_no_files_next_to_it(tmp_path, monkeypatch):
    (tmp_path / "gpu.csv").write_text(
        "timestamp, index, name, utilization.gpu [%]\n2026/03/01 10:00:00.000, 0, H100, 55 %\n"
    )
    monkeypatch.chdir(tmp_path)
    assert web_folder.explain_bytes("\n".join(training(300)).encode()).gpu_series is None
