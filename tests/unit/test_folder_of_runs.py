"""A folder with several runs is answered by a table of them, never by one of them."""

from __future__ import annotations

import gzip
import json
import os
import shutil

import pytest
from rich.cells import cell_len

from stepscope.i18n import languages
from stepscope.reading import heads
from stepscope.reading.folder_runs import runs_below
from tests.conftest import DEMO
from tests.fleet.logs import nanogpt_log
from tests.schemas import check


@pytest.fixture
def folder(tmp_path):
    """Three runs: one that stands still, one of two ranks, one that died before its first iteration."""
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "train.log").write_text(nanogpt_log(seed=3))
    for rank in range(2):
        (tmp_path / f"rank{rank}.log").write_text(nanogpt_log(seed=5 + rank, step_ms=80, steps=200))
    (tmp_path / "died.log").write_text(
        "tokens per iteration will be: 32,768\nnumber of parameters: 10.65M\nTraceback (most recent call last):\n"
        '  File "train.py", line 3, in <module>\nRuntimeError: no such device\n'
    )
    (tmp_path / "notes.txt").write_text("remember the milk\n")
    for age, name in enumerate(("died.log", "rank0.log", "rank1.log", "old/train.log")):
        os.utime(tmp_path / name, (1_700_000_000 - 1000 * age,) * 2)
    return tmp_path


def test_each_run_has_a_row_newest_first(cli, folder):
    status, out, err = cli(folder)
    assert (status, err) == (0, "")
    head, table = out.splitlines()[0], out.splitlines()[3:-2]
    assert head.startswith("3 runs in ")
    assert [line.split()[0] for line in table] == ["died.log", "rank0.log", "old/train.log"]
    assert ["crashed" in line for line in table] == [True, False, False]
    assert "evaluation" in table[1]
    assert f"Open one: stepscope {folder}/died.log" in out
    assert "notes" not in out


@pytest.mark.parametrize("code", languages())
def test_the_table_fits_a_terminal(cli, folder, code):
    (folder / ("a-very-long-name-of-a-run" * 4 + ".log")).write_text(nanogpt_log(seed=9))
    out = cli(folder, "--lang", code)[1]
    rows = out.split("\n\n")[1].splitlines()
    assert len(rows) == 5
    assert max(map(cell_len, rows)) <= 80
    assert any("…" in row for row in rows)


def test_the_document_has_every_run(cli, folder):
    status, out, _ = cli(folder, "--format", "json")
    found = json.loads(out)
    check(found, strict=True)
    assert (status, found["files_unseen"], len(found["runs"])) == (0, 0, 3)
    died, ranks, old = found["runs"]
    assert (died["state"], died["wall_s"], died["loss"]) == ("crashed", None, None)
    assert [os.path.basename(path) for path in ranks["paths"]] == ["rank0.log", "rank1.log"]  # noqa: PTH119
    assert old["loss"]["code"] == "evaluation"
    assert old["loss"]["seconds"] == pytest.approx(8, rel=0.25)  # five of 2 s, the saves among them


def test_a_large_folder_is_cut_and_says_so(cli, tmp_path):
    for number in range(30):
        path = tmp_path / f"run-{number}" / "train.log"
        path.parent.mkdir()
        path.write_text(nanogpt_log(seed=number, steps=100))
        os.utime(path, (1_700_000_000 + number,) * 2)
    out = cli(tmp_path)[1]
    assert len(out.splitlines()) <= 24
    assert out.startswith("18 runs in ")
    assert "run-29/train.log" in out
    assert "12 more files, older, were not looked at" in out
    assert cli(tmp_path, "--full")[1].startswith("30 runs in ")


def test_what_a_checkpoint_repeats_is_no_run_of_its_own(tmp_path):
    """Logs that a trainer copies into each checkpoint's folder, and the same run's figures as a table."""
    text = nanogpt_log(seed=3).splitlines(keepends=True)
    (tmp_path / "train.log").write_text("".join(text))
    for cut in (20, 40):
        (tmp_path / f"checkpoint-{cut}").mkdir()
        (tmp_path / f"checkpoint-{cut}" / "train.log").write_text("".join(text[:cut]))
    rows = "".join(f"{step},{100 + step % 7},{3 - step / 1000}\n" for step in range(0, 401, 10))
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "metrics.csv").write_text("step,step_time_ms,loss\n" + rows)
    found = runs_below(str(tmp_path), most=10)
    assert [run.sources[0].name for run in found.runs] == [str(tmp_path / "train.log")]


def test_a_folder_with_one_run_gives_its_report(cli, tmp_path):
    shutil.copy(DEMO / "train.log", tmp_path)
    (tmp_path / "config.py").write_text("max_iters = 20000\n")
    assert cli(tmp_path, "--now", "02:30")[1].splitlines()[0].startswith("Running: iteration 1,300")


def test_the_beginnings_of_a_runs_ranks_are_read_once(cli, tmp_path, monkeypatch):
    looked_at = []

    def score(source, *rest):
        looked_at.append(source.name)
        return original(source, *rest)

    original = heads._score
    monkeypatch.setattr(heads, "_score", score)
    for rank in range(3):
        (tmp_path / f"rank{rank}.log").write_text(nanogpt_log(seed=rank, step_ms=80, steps=50))
    assert cli(tmp_path)[0] == 0
    assert len(looked_at) == 3


def test_an_export_of_several_runs_names_one(cli, folder):
    status, out, err = cli(folder, "--format", "html")
    assert (status, out) == (2, "")
    assert f"try: name one of them: stepscope {folder}/died.log" in err


@pytest.mark.parametrize("question", [["eta", "--max-steps", "9000"], ["advise"], ["why", "100"]])
def test_a_question_about_one_run_says_which_it_took(cli, folder, question):
    command, *rest = question
    err = cli(command, folder, *rest)[2]
    taken = next(line for line in err.splitlines() if line.startswith(f"{folder} holds 3 runs; this is {folder}/"))
    named = taken.partition("this is ")[2].partition(". All")[0]
    assert cli(command, named, *rest)[1] == cli(command, folder, *rest)[1]
    assert "holds" not in cli(command, named, *rest)[2]


def test_names_from_a_folder_are_not_trusted(cli, tmp_path):
    for name in ("a\x1b[31m.log", "b`<b>|.log"):
        (tmp_path / name).write_text(nanogpt_log(seed=len(name)))
    assert "\x1b" not in cli(tmp_path)[1]
    assert "<b>" not in cli(tmp_path, "--format", "markdown")[1]


def test_an_archive_that_goes_on_and_on_is_a_row(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("stepscope.cli._runs._MOST_BYTES", 4000)
    (tmp_path / "one.log").write_text(nanogpt_log(seed=1, steps=100))
    with gzip.open(tmp_path / "two.log.gz", "wt") as file:
        file.write(nanogpt_log(seed=2, steps=40_000))
    status, out, _ = cli(tmp_path)
    assert status == 0
    assert "two.log.gz" in out
    assert "too large" in out or "more than" in out
