"""The trainer on a disk that is full: what it says at the end, what it returns, what it leaves."""

from __future__ import annotations

import json
import random

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[dev]'")

from stepscope.trainer.extras.append import Appender
from stepscope.trainer.extras.corpora import write_char_folder
from tests.trainer.conftest import TINY, losses_of

SHORT = {**TINY, "max_iters": 12, "eval_interval": 4, "eval_iters": 1}


def train_with(**settings: object) -> list[str]:
    return ["train", "--lang=en", *(f"--{name}={value}" for name, value in {**SHORT, **settings}.items())]


@pytest.fixture(scope="module")
def dna(tmp_path_factory):
    """A corpus without a line end."""
    folder = tmp_path_factory.mktemp("dna")
    draw = random.Random(1)
    write_char_folder("".join(draw.choice("ACGT") for _ in range(5000)), folder)
    return folder


def test_saves_that_failed_are_said_at_the_end(cli, small_disk, dna):
    """The training goes to its end; the exit code says that its result is not there."""
    out = small_disk.path / "out"
    out.mkdir()
    small_disk.leave(64 << 10)
    code, printed, said = cli(*train_with(dataset=dna, out_dir=out))
    assert "iter 12:" in printed
    assert code == 1, said
    assert said.count("ALARM") == 3
    assert "error[train-not-saved]" in said
    assert "(iteration 12) was not written: No space left on device" in said
    assert "there is no checkpoint" in said
    assert not list(out.glob("*.new"))


def test_a_corpus_without_line_ends_trains_and_samples(cli, tmp_path, dna):
    code, _, err = cli(*train_with(dataset=dna, out_dir=tmp_path / "out"))
    assert code == 0, err
    assert "What it writes after" in err
    assert "learns Python" not in err
    code, out, err = cli("sample", f"--out_dir={tmp_path / 'out'}", "--num_samples=1", "--max_new_tokens=20")
    assert code == 0, err
    assert set(out.partition("\n")[0]) <= set("ACGT")
    assert cli("sample", f"--out_dir={tmp_path / 'out'}", "--start=\n")[0] == 1


def test_a_full_disk_leaves_whole_records_only(cli, small_disk, dna):
    """Full from the middle of the run on; the next run appends to what is there, and every record can be read."""
    out = small_disk.path / "out"
    out.mkdir()
    small_disk.leave(16 << 10)
    cli(*train_with(dataset=dna, out_dir=out, eval_interval=100, max_iters=60))
    assert 0 < (out / "steps.jsonl").stat().st_size <= 16 << 10
    assert losses_of(out)  # reads every line as JSON
    assert (out / "train.log").read_bytes().endswith(b"\n")


def test_what_did_not_fit_is_written_when_there_is_room_again(small_disk):
    path = small_disk.path / "lines"
    file = Appender(path)
    small_disk.leave(4096)
    lines = [f"{number:099}\n".encode() for number in range(100)]
    for line in lines:
        file.append(line)
    assert file.problem == "No space left on device"
    assert path.read_bytes() == b"".join(lines[:40])
    small_disk.empty()
    file.close()
    assert path.read_bytes() == b"".join(lines)


def test_half_a_record_of_an_earlier_run_is_cut_off(tmp_path):
    lines = tmp_path / "steps.jsonl"
    lines.write_bytes(b'{"a":1}\n' + b'{"b":' + b"x" * 200_000)
    file = Appender(lines)
    file.append(b'{"c":2}\n')
    file.close()
    assert [json.loads(line) for line in lines.read_text().splitlines()] == [{"a": 1}, {"c": 2}]


def test_preparing_data_on_a_full_disk_keeps_the_old_folder(cli, small_disk, tmp_path):
    text, out = tmp_path / "text.txt", small_disk.path / "data"
    text.write_text("first\n" * 100)
    assert cli("data", "prepare", text, "--out", out)[0] == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    small_disk.leave(8 << 10)
    text.write_text("second\n" * 10_000)
    code, _, err = cli("data", "prepare", text, "--out", out)
    assert code == 1
    assert "train-out-dir" in err
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
