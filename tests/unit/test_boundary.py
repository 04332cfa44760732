"""Nothing outside the folder that may be read is opened, listed or followed: one place decides it."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from stepscope.core.boundary import confined_to, is_readable, open_file
from stepscope.source import walk
from stepscope.source.walk import files_below
from stepscope.web.run_folder import RunFolder
from tests.conftest import ROOT
from tests.unit.logs import training

LOG = "\n".join(training(300, every=10, evaluate=50)) + "\n"
PACKAGE = ROOT / "src" / "stepscope"
# The packages that open what a request names or what lies around it.
READERS = ("core", "source", "formats", "lines", "infer", "run", "reading", "ledger", "causes", "forecast", "analysis")
OPENING = {"open", "read_text", "read_bytes", "fdopen", "fromfile", "memmap"}
# How a permitted path is opened; `boundary.py` alone asks for it.
UNCHECKED = {"open_regular", "open_pipe", "read_named"}
# Not by a path: the unpackers are given an open file, an opener what `open_file` permits, and pip noted where this
# package came from.
OTHERS = {"gzip.open", "lzma.open", "zstd.open", "os.open", "metadata.distribution(_NAME).read_text"}


@pytest.mark.parametrize("package", READERS)
def test_files_are_opened_in_one_place(package):
    """A new way to open a file would be a new way around the check."""
    for path in sorted((PACKAGE / package).rglob("*.py")):
        if path.name in {"boundary.py", "opening.py"} and package == "core":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                assert name in OTHERS or name.rpartition(".")[2] not in OPENING | UNCHECKED, (
                    f"{path}:{node.lineno}: {name}"
                )


# Run by itself, because a hook of this kind can never be taken away again: it sees what C code opens, too.
WATCHED = """
import sys
from pathlib import Path
outside, seen = sys.argv[2], []
def hook(event, args):
    if event in {"open", "os.listdir", "os.scandir", "sqlite3.connect"} and isinstance(args[0], (str, bytes, Path)):
        path = Path(args[0].decode() if isinstance(args[0], bytes) else args[0])
        if str(path.resolve()).startswith(outside):
            seen.append((event, str(path)))
from stepscope.cli.mcp import _call
from stepscope.web.run_folder import RunFolder, key_of
import stepscope.analysis.explain, stepscope.cli
root = Path(sys.argv[1])
sys.addaudithook(hook)
folders = [path.name for path in sorted(root.iterdir())]
for name in (".", *folders):
    _call("explain", {"path": name}, root)
for name in ("samples", "trace", "suspends", "previous"):
    _call("eta", {"path": f"{name}/own.log", "max_steps": 1000}, root)
_call("advise", {"path": "recording"}, root)
_call("why", {"path": "mlflow", "step": 50}, root)
for config in ("../outside/config.py", "config/config.py"):
    _call("explain", {"path": "log/own.log", "config": config}, root)
_call("compare", {"path": "log/own.log", "other": "log/train.log"}, root)
found = RunFolder(root)
names = {found.name_of(run) for candidate in found.candidates() for run in found.runs_of(candidate)}
assert names == {f"{name}/own.log" for name in folders if name != "linked"}, names
for name in names:
    found.open(key_of(name))
assert not seen, seen
print("watched")
"""
LINKS = {
    "log": ["train.log"],
    "recording": ["log.txt", "stamps.tsv"],
    "stamps": ["stamps.tsv"],
    "samples": ["gpu.csv"],
    "trace": ["trace.tsv"],
    "spans": ["log.txt", "stamps.tsv", "spans"],
    "suspends": ["suspends.tsv"],
    "config": ["config.py"],
    "previous": ["earlier.log", "older.log"],
    "mlflow": ["meta.yaml", "metrics"],
}


def test_no_link_leads_any_reader_out(tmp_path):
    """Every file that is looked for next to a log, as a link; opened, listed or given to C code."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    (outside / "metrics").mkdir(parents=True)
    (outside / "spans").mkdir()
    (outside / "spans" / "00000-host-1.tsv").write_text(LOG)
    (outside / "metrics" / "loss").write_text("".join(f"{1700000000000 + step} 1.0 {step}\n" for step in range(20)))
    for name in {name for names in LINKS.values() for name in names} - {"metrics", "spans"}:
        (outside / name).write_text(LOG)
    for folder, names in LINKS.items():
        (root / folder).mkdir()
        (root / folder / "own.log").write_text(LOG)
        for name in names:
            (root / folder / name).symlink_to(outside / name)
    (root / "linked").symlink_to(outside)
    command = [sys.executable, "-c", WATCHED, str(root), str(outside)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "watched\n", done.stderr[-2000:]


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000, "a\0b", "\ud800", "loop", "../outside", "/etc/passwd"])
def test_what_no_file_can_be_called_is_not_readable(tmp_path, name):
    (tmp_path / "loop").symlink_to("loop")
    with confined_to(tmp_path):
        path = tmp_path / name
        if is_readable(path):
            assert not name.startswith(("..", "/"))
            with pytest.raises(OSError, match=r"\[Errno"):
                open_file(path)


def names(folder):
    return [str(found.path.relative_to(folder)) for found in files_below(folder)]


def served(folder):
    """The names of the runs that the app lists."""
    return [folder.name_of(run) for candidate in folder.candidates() for run in folder.runs_of(candidate)]


def test_a_file_is_found_once(tmp_path):
    """Under its own name, though links to it come first and a folder leads to itself."""
    deep = tmp_path / "sub" / "deep"
    deep.mkdir(parents=True)
    (deep / "z.log").write_text(LOG)
    (tmp_path / "a.log").symlink_to(deep / "z.log")
    (tmp_path / "b.log").hardlink_to(deep / "z.log")
    (tmp_path / "folder").symlink_to(deep)
    (deep / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.log").symlink_to(tmp_path / "nothing")
    (tmp_path / "round").symlink_to("round")
    assert names(tmp_path) == ["b.log"]  # one of two names for one file
    (tmp_path / "b.log").unlink()
    assert names(tmp_path) == ["sub/deep/z.log"]
    assert served(RunFolder(tmp_path)) == ["sub/deep/z.log"]


def test_links_to_other_folders_are_followed(tmp_path):
    """On the command line, where nothing is out of bounds."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "runs"
    elsewhere.mkdir()
    folder.mkdir()
    (elsewhere / "train.log").write_text(LOG)
    (folder / "latest").symlink_to(elsewhere)
    assert names(folder) == ["latest/train.log"]
    with confined_to(folder):
        assert names(folder) == []


def test_a_link_to_everything_is_not_followed(tmp_path, monkeypatch):
    """Neither to the folder above nor to the root: only the folder itself is listed."""
    (tmp_path / "own.log").write_text(LOG)
    (tmp_path / "all").symlink_to("/")
    (tmp_path / "above").symlink_to("..")
    listed = []
    scandir = walk.os.scandir
    monkeypatch.setattr(walk.os, "scandir", lambda path: listed.append(path) or scandir(path))
    assert names(tmp_path) == ["own.log"]
    assert listed == [tmp_path]


def test_a_large_folder_is_not_searched_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(walk, "_MOST_NAMES", 10)
    for number in range(8):
        (tmp_path / f"{number}").mkdir()
        for other in range(8):
            (tmp_path / f"{number}" / f"{other}.log").write_text("x")
    assert len(names(tmp_path)) == 2


def test_of_one_served_log_nothing_else_is_given(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("train.log", "other.log", "sub/train.log"):
        (tmp_path / name).write_text(LOG)
    folder = RunFolder(tmp_path / "train.log")
    assert served(folder) == ["train.log"]
    assert folder.open("train.log").has_steps
    for name in ("other.log", "sub/train.log", "../train.log"):
        with pytest.raises(Exception, match="No such file"):
            folder.open(name)
