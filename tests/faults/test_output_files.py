"""`-o`: the whole file or the one that was there before, whatever happens to the disk."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from stepscope.cli import _write
from stepscope.core.errors import InputError
from tests.conftest import DEMO

LOG, CONFIG = str(DEMO / "train.log"), str(DEMO / "config.py")
# Every command that writes a file somebody named; the answers are larger than what is left of the disk.
WRITERS = {
    "explain": ["explain", LOG, "--format", "json", "-o"],
    "html": ["explain", LOG, "--format", "html", "-o"],
    "eta": ["eta", LOG, "--max-steps", "20000", "--format", "json", "-o"],
    "compare": ["compare", LOG, LOG, "--format", "html", "-o"],
    "plan": ["plan", "--gpu", "4070", "--config", CONFIG, "--params", "124M", "--format", "json", "-o"],
}


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_keeps_the_old_report_and_leaves_no_half_one(cli, small_disk, name):
    old = small_disk.path / "old.out"
    old.write_text("mine")
    small_disk.fill()
    for target in (old, small_disk.path / "new.out"):
        code, _, err = cli(*WRITERS[name], target)
        assert code == 1
        assert "cannot-write" in err
    assert old.read_text() == "mine"
    assert listed(small_disk.path) == ["ballast", "old.out"]


def test_a_folder_of_reports_and_of_configs_on_a_full_disk(cli, small_disk):
    folder = small_disk.path / "out"
    folder.mkdir()
    small_disk.fill()
    code, _, _ = cli("explain", LOG, "--lang", "en,de", "--format", "html", "-o", folder)
    assert code == 1
    code, _, _ = cli("plan", "--gpu", "4070", "--config", CONFIG, "--params", "124M", "--write", folder)
    assert code == 1
    assert listed(folder) == []


def test_a_failure_in_the_middle_of_writing(tmp_path, monkeypatch):
    """Without a disk to fill: the error comes when the bytes are flushed to the disk."""

    def no_room(_):
        raise OSError(28, "No space left on device")

    old = tmp_path / "old.json"
    old.write_text("mine")
    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(InputError, match="No space"):
        _write.write_file(old, "x" * 100_000)
    assert old.read_text() == "mine"
    assert listed(tmp_path) == ["old.json"]


def test_permissions_and_links_are_kept(cli, tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to("real.json")
    assert cli("explain", LOG, "--format", "json", "-o", link)[0] == 0
    assert link.is_symlink()
    assert real.read_text().startswith("{")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert listed(tmp_path) == ["link.json", "real.json"]


def test_a_new_file_has_the_usual_permissions(cli, tmp_path):
    before = os.umask(0o027)
    try:
        assert cli("explain", LOG, "--format", "json", "-o", tmp_path / "new.json")[0] == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640


def test_a_pipe_is_written_to_directly(cli, tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    assert cli("explain", LOG, "--format", "json", "-o", pipe)[0] == 0
    reader.join(10)
    assert got[0].startswith(b"{")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_and_standard_output_are_written_to_directly(tmp_path):
    """`-o /dev/stdout >> notes` adds to the notes."""
    import subprocess
    import sys

    notes = tmp_path / "notes"
    notes.write_text("before\n")
    command = [sys.executable, "-m", "stepscope", LOG, "--format", "json", "-o"]
    with notes.open("ab") as out:
        subprocess.run([*command, "/dev/stdout"], stdout=out, stderr=subprocess.PIPE, check=True)
    assert notes.read_text().startswith("before\n{")
    assert subprocess.run([*command, "/dev/null"], capture_output=True, check=True).stdout == b""
    if Path("/dev/full").exists():
        done = subprocess.run([*command, "/dev/full"], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "cannot-write" in done.stderr


def test_a_folder_in_place_of_a_file(cli, tmp_path):
    code, _, err = cli("compare", LOG, LOG, "-o", tmp_path)
    assert code == 1
    assert "cannot-write" in err
