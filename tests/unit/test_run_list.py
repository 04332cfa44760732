"""The list of runs: summaries that are kept, what damages them, what changes, and what a silent log is taken for."""

from __future__ import annotations

import json
import sqlite3
import threading
import time

import pytest

from stepscope.analysis.explain import explain
from stepscope.i18n import Language
from stepscope.web import rows, run_list
from stepscope.web.run_folder import RunFolder
from stepscope.web.run_list import RunList
from stepscope.web.summary import from_plain, summarize
from stepscope.web.summary_store import SummaryStore, cache_folder
from tests.unit.logs import report_of, run_of, training

ENGLISH = Language.load("en")


def text(step_ms=100.0, last=300):
    return "\n".join(training(last, every=10, evaluate=50, step_ms=step_ms)) + "\n"


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "runs"
    (found / "sub").mkdir(parents=True)
    (found / "a.log").write_text(text())
    (found / "sub" / "b.log").write_text(text(150.0))
    (found / "notes.txt").write_text("nothing of the kind\n" * 20)
    return found


def listed(folder, store=None, language=ENGLISH):
    return RunList(RunFolder(folder), SummaryStore(store), language).complete(60)


@pytest.fixture
def no_reading(monkeypatch):
    """Nothing may be read from here on."""

    def refuse(*_):
        raise AssertionError("a log was read")

    return lambda: monkeypatch.setattr(RunFolder, "read", refuse)


def test_a_second_visit_reads_no_log(folder, tmp_path, no_reading):
    first = listed(folder, tmp_path / "cache")
    assert {run.name for run in first.runs} == {"a.log", "sub/b.log"}
    assert first.progress.num_others == 1
    no_reading()
    second = listed(folder, tmp_path / "cache")
    assert {run._replace(version=0) for run in second.runs} == {run._replace(version=0) for run in first.runs}
    assert second.progress == first.progress


def test_what_counts_as_read_is_kept_already(folder, tmp_path, no_reading, monkeypatch):
    """However long it takes to write it down: a list that is complete can be opened again without its logs."""
    put = SummaryStore.put

    def slowly(store, texts):
        time.sleep(0.3)
        put(store, texts)

    monkeypatch.setattr(SummaryStore, "put", slowly)
    first = listed(folder, tmp_path / "cache")
    no_reading()
    second = listed(folder, tmp_path / "cache")
    assert {run._replace(version=0) for run in second.runs} == {run._replace(version=0) for run in first.runs}


def test_another_language_and_a_changed_log_are_read_again(folder, tmp_path):
    listed(folder, tmp_path / "cache")
    german = listed(folder, tmp_path / "cache", Language.load("de"))
    assert len(german.runs) == 2
    (folder / "a.log").write_text(text(last=400))
    steps = {run.name: run.summary.step for run in listed(folder, tmp_path / "cache").runs}
    assert steps == {"a.log": 400, "sub/b.log": 300}


@pytest.mark.parametrize("damage", ["no database", "cut", "other table", "bad text", "bad shape", "a folder"])
def test_a_damaged_store_costs_time_only(folder, tmp_path, damage):
    cache = tmp_path / "cache"
    first = listed(folder, cache)
    path = cache / "runs.sqlite"
    if damage == "no database":
        path.write_bytes(b"nothing of the kind" * 500)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "a folder":
        path.unlink()
        path.mkdir()
    else:
        with sqlite3.connect(path) as base:
            if damage == "other table":
                base.execute("DROP TABLE texts")
                base.execute("CREATE TABLE texts (other TEXT)")
            else:
                base.execute(
                    "UPDATE texts SET text = ?", ("[{" if damage == "bad text" else '[{"summary": {"a": 1}}]',)
                )
    assert {run.name for run in listed(folder, cache).runs} == {run.name for run in first.runs}


def test_a_disk_that_cannot_be_written_costs_time_only(folder, tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert len(listed(folder, tmp_path / "file" / "cache").runs) == 2


def test_several_servers_write_at_once(tmp_path):
    stores = [SummaryStore(tmp_path) for _ in range(4)]

    def write(own):
        for number in range(20):
            stores[own].put({own * 100 + number: "text"})

    threads = [threading.Thread(target=write, args=(own,)) for own in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(SummaryStore(tmp_path).get([own * 100 + number for own in range(4) for number in range(20)])) == 80


def test_the_store_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("stepscope.web.summary_store._MOST_ROWS", 10)
    first = SummaryStore(tmp_path)
    first.put(dict.fromkeys(range(50), "text"))
    first.close()
    assert len(SummaryStore(tmp_path).get(range(50))) == 10


def test_the_cache_is_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "stepscope"
    SummaryStore(cache_folder()).put({1: "text"})
    assert (tmp_path / "stepscope" / "runs.sqlite").stat().st_mode & 0o077 == 0


def test_only_changes_are_told(folder):
    found = RunList(RunFolder(folder), SummaryStore(None), ENGLISH)
    before = found.complete(60)
    assert found.changes(before.version).runs == []
    (folder / "a.log").unlink()
    ends = time.monotonic() + 30
    while not (after := found.changes(before.version)).gone and time.monotonic() < ends:
        time.sleep(0.05)
    assert after.gone == ["a.log"]
    assert {run.name for run in found.changes(0).runs} == {"sub/b.log"}


def test_many_rows_come_in_pieces_and_none_is_lost(folder, monkeypatch):
    monkeypatch.setattr(rows, "MOST_ROWS", 3)
    for number in range(8):
        (folder / f"more-{number}.log").write_text(text(101.0 + number))
    found = RunList(RunFolder(folder), SummaryStore(None), ENGLISH)
    found.complete(60)
    seen, version, more = set(), 0, True
    while more:
        answer = rows.answer(found.changes(version))
        assert 0 < len(answer["rows"]) <= 3
        seen |= {row["key"] for row in answer["rows"]}
        version, more = answer["version"], answer["more"]
    assert len(seen) == 10


def test_a_log_that_breaks_the_reader_does_not_take_the_others_away(folder, monkeypatch):
    read = RunFolder.read

    def breaks(self, run, facts):
        if run.files[0].uri.endswith("a.log"):
            raise ZeroDivisionError
        return read(self, run, facts)

    monkeypatch.setattr(RunFolder, "read", breaks)
    found = {run.name: run for run in listed(folder).runs}
    assert found["a.log"].summary is None
    assert "ZeroDivisionError" in found["a.log"].problem
    assert found["sub/b.log"].summary is not None


def test_a_summary_survives_json():
    summary = summarize(report_of(training(300, every=10, evaluate=50), max_steps=900), ENGLISH)
    assert from_plain(json.loads(json.dumps(summary._asdict()))) == summary


@pytest.mark.parametrize("data", [None, [], {}, {"title": "x"}])
def test_what_is_no_summary_is_refused(data):
    with pytest.raises(ValueError, match="not a summary"):
        from_plain(data)


def test_a_summary_of_numbers_that_are_none_is_refused():
    plain = summarize(report_of(training(300, every=10)), ENGLISH)._asdict()
    with pytest.raises(ValueError, match="not a summary"):
        from_plain(plain | {"remaining_s": "soon"})


def test_a_silent_log_is_what_its_report_would_say_by_then():
    """The table of a summary against the report's own word, at every age."""
    import dataclasses
    import datetime as dt

    run = dataclasses.replace(run_of(training(300, every=10, evaluate=50)), mtime=1_700_000_000.0)
    written = dt.datetime.fromtimestamp(run.mtime, dt.UTC)
    report = explain(run, flags={"max_steps": 900}, fallback_now=written)
    recent_s, long_s, between = summarize(report, ENGLISH).silence
    for quiet_s in (0, 60, 119, 121, 1000, 1799, 1801, 1e6):
        now = explain(run, flags={"max_steps": 900}, fallback_now=written + dt.timedelta(seconds=quiet_s))
        expected = "running" if quiet_s <= recent_s else between or ("stopped" if quiet_s > long_s else "unknown")
        assert now.state.value == expected


def test_the_picture_shows_no_more_than_was_lost():
    """The bars of a run's time add up to its overhead: a spike is not painted over a whole stretch."""
    report = report_of(training(3000, every=1, evaluate=250, evaluation_ms=20_000.0))
    summary = summarize(report, ENGLISH)
    shares = sum(share for _, _, share in summary.losses) / 100 / len(summary.levels)
    assert shares == pytest.approx(summary.lost, abs=0.02)
    assert all(level is None or 0 < level <= 100 for level in summary.levels)


def test_nobody_looking_costs_nothing(folder, monkeypatch):
    monkeypatch.setattr(run_list, "_IDLE_S", 0.0)
    found = RunList(RunFolder(folder), SummaryStore(None), ENGLISH)
    found.changes(0)
    ends = time.monotonic() + 10
    while found._wanted.is_set() and time.monotonic() < ends:
        time.sleep(0.02)
    assert not found._wanted.is_set()
