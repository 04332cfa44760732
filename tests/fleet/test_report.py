"""The report's outputs: valid, of one width, in four languages, and honest about what is not known."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import re
import time
from pathlib import Path

import pytest

pytest.importorskip("duckdb")

from rich.cells import cell_len

from stepscope.fleet.answer import Amount, Cause
from stepscope.i18n import Language, languages
from stepscope.report.fleet_words import remedy
from tests.fleet.logs import nanogpt_log
from tests.schemas import check


def write(folder, name, text) -> Path:
    """A log in a folder of its own: files of one folder that count the same steps would be ranks."""
    (folder / name).mkdir(parents=True)
    path = folder / name / f"{name}.out"
    path.write_text(text)
    return path


def bare_log(seed: int) -> str:
    """A log that does not say on how many GPUs: every rank of nanoGPT would print the first line."""
    return nanogpt_log(seed=seed).partition("\n")[2]


def ask(cli, fleet, *flags):
    status, out, err = cli("fleet", "report", "--store", fleet.store, *fleet.flags, *flags)
    assert (status, err) == (0, "")
    return out


def scanned(cli, folder, *flags):
    """The report of a folder's logs, which say neither devices nor anything else."""
    assert cli("fleet", "scan", folder, "--store", folder.parent / "store", "--workers", "1")[0] == 0
    return cli("fleet", "report", "--store", folder.parent / "store", *flags)


@pytest.mark.parametrize("by", ["cause", "host", "user", "project", "trainer", "gpu", "commit"])
def test_a_document_is_what_its_schema_says_by_whatever_it_is_broken_down(cli, scanned_fleet, by):
    found = json.loads(ask(cli, scanned_fleet, "--by", by, "--format", "json"))
    check(found, strict=True)
    assert bool(found["groups"]) == (by != "cause")
    if by != "cause":
        # Each run counts once, on several hosts in parts.
        assert sum(group["total"]["device_s"] for group in found["groups"]) == pytest.approx(found["total"]["device_s"])
        assert sum(group["lost"]["device_s"] for group in found["groups"]) == pytest.approx(found["lost"]["device_s"])


def test_what_is_not_known_is_said_and_what_rests_on_it_left_out(cli, tmp_path):
    for job in range(3):
        write(tmp_path / "logs", f"job-{job}", bare_log(job))
    write(tmp_path / "logs", "broken", "\0\1\2" * 100)
    status, out, _ = scanned(cli, tmp_path / "logs", "--price", "2/h", "--format", "json")
    found = json.loads(out)
    check(found, strict=True)
    assert (status, found["weighted_by"]) == (0, "run")
    assert (found["total"]["device_s"], found["total"]["cost"]) == (None, None)
    assert found["runs"]["without"]["devices"] == 3
    assert (found["hosts"], found["regressions"]) == ([], [])
    assert [one["count"] for one in found["unread"]] == [1]
    words = cli("fleet", "report", "--store", tmp_path / "store")[1]
    assert "3 runs do not say on how many GPUs they ran: they count in no GPU-hours." in words
    assert "One file was not read" in words
    assert "GPU-hours trained" not in words


def test_runs_without_devices_are_in_no_gpu_hours(cli, tmp_path):
    for job in range(2):
        write(tmp_path / "logs", f"job-{job}", bare_log(job))
    facts = tmp_path / "facts.csv"
    facts.write_text("path,devices,price\n*/job-1.out,8,3\n")
    found = json.loads(scanned(cli, tmp_path / "logs", "--facts", facts, "--format", "json")[1])
    whole = found["total"]
    assert whole["run_s"] == pytest.approx(100, rel=0.02)
    assert whole["device_s"] == pytest.approx(50 * 8, rel=0.02)
    assert whole["cost"] == pytest.approx(50 * 8 * 3 / 3600, rel=0.02)


def test_a_running_log_has_its_chance_to_end_before_its_job(cli, tmp_path):
    now = time.time()
    header = "Overriding: max_iters = 800\nSLURM_GPUS=4\n"
    for seed, (name, left_s) in enumerate((("tight", 20), ("wide", 4000))):
        text = f"{header}SLURM_JOB_END_TIME={int(now + left_s)}\n{nanogpt_log(seed=seed)}"
        path = write(tmp_path / "logs", name, text)
        os.utime(path, (now, now))
    found = json.loads(scanned(cli, tmp_path / "logs", "--format", "json")[1])
    chances = {run["uri"].rpartition("/")[2]: run["chance"] for run in found["running"]}
    assert chances["tight.out"] < 0.1
    assert chances["wide.out"] > 0.9
    assert [run["uri"].rpartition("/")[2] for run in found["running"]] == ["tight.out", "wide.out"]


@pytest.mark.parametrize("code", languages())
def test_no_line_is_wider_than_the_terminal(cli, scanned_fleet, code):
    out = ask(cli, scanned_fleet, "--by", "host", "--lang", code)
    assert max(cell_len(line) for line in out.splitlines()) <= 80
    assert "gpu07" in out


def test_the_answer_comes_first(cli, scanned_fleet):
    """Goodput and hours, what was lost to what, what to fix first; with a price, in its currency."""
    text = " ".join(ask(cli, scanned_fleet, "--price", "$2/h").splitlines())
    money = r"[\d,.]+ GPU-hours \(\$[\d,.]+\)"
    assert re.match(
        rf"Goodput \d+% of {money} in 240 runs\. Lost: {money}, most of it to evaluation: {money}\. "
        rf"Fix first: evaluate less often, or on fewer batches\. That would have saved {money}\. ",
        text,
    )


def test_the_table_has_a_row_for_everything(cli, scanned_fleet):
    rows = list(csv.DictReader(io.StringIO(ask(cli, scanned_fleet, "--by", "user", "--format", "csv"))))
    kinds = {row["kind"] for row in rows}
    assert kinds == {"total", "lost", "first", "cause", "regression", "host", "user", "run"}
    total = next(row for row in rows if row["kind"] == "total")
    users = [float(row["gpu_hours"]) for row in rows if row["kind"] == "user"]
    assert sum(users) == pytest.approx(float(total["gpu_hours"]), rel=1e-4)


def test_a_store_without_runs_is_an_error(cli, tmp_path):
    status, out, err = cli("fleet", "report", "--store", tmp_path / "none")
    assert (status, out) == (1, "")
    assert "error[fleet-no-store]" in err


def test_the_newest_reading_of_a_log_counts(cli, tmp_path):
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "job.out"
    for steps in (100, 400):
        log.write_text(nanogpt_log(seed=1, steps=steps))
        found = json.loads(scanned(cli, tmp_path / "logs", "--format", "json")[1])
    assert found["runs"]["found"] == 1
    assert found["total"]["run_s"] == pytest.approx(50, rel=0.02)


def test_a_page_is_whole_closed_to_strangers_and_escaped(cli, tmp_path):
    """One file: its policy names its own script and style by hash, and a path that is markup is shown as text."""
    job = tmp_path / "logs" / "<img src=x onerror=alert(1)>"
    job.mkdir(parents=True)
    (job / "job.out").write_text(nanogpt_log(seed=1))
    status, page, err = scanned(cli, tmp_path / "logs", "--format", "html")
    assert (status, err) == (0, "")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert "<img" not in page
    assert "&lt;img src=x" in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


def test_a_folder_gets_the_page_and_those_of_its_runs(cli, scanned_fleet, tmp_path, monkeypatch):
    monkeypatch.setattr("stepscope.cli._fleet_pages._MOST_PAGES", 3)
    ask(cli, scanned_fleet, "--format", "html", "-o", f"{tmp_path}/page/")
    index = (tmp_path / "page" / "index.html").read_text()
    links = set(re.findall(r'href="(runs/\d+\.html)"', index))
    assert len(links) == 3
    assert all("Megatron-LM" in (tmp_path / "page" / link).read_text() for link in links)


@pytest.mark.parametrize("code", languages())
def test_the_page_is_in_the_readers_language(cli, scanned_fleet, code):
    page = ask(cli, scanned_fleet, "--format", "html", "--lang", code, "--by", "project")
    assert f'<html lang="{code}">' in page


@pytest.mark.parametrize(("saved_s", "is_said"), [(2.0, False), (900.0, True)])
def test_a_saving_that_is_nothing_beside_its_cause_is_not_named(saved_s, is_said):
    cause = Cause("checkpoint", Amount(3600.0), 3600.0, 3600.0, 0.1, 0.1, 3, None, (), Amount(saved_s), ())
    assert ("would have saved" in remedy(cause, None, Language.load("en"))) is is_said
