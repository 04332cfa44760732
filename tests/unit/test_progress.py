"""Reading that takes more than a second says on a terminal how far it got."""

from __future__ import annotations

import sys

import pytest

from stepscope.cli._common import Progress


@pytest.fixture
def terminal(monkeypatch, capsys):  # noqa: ARG001 the stream that is watched
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


def progress_of(paths, moments):
    return Progress(paths, now=iter(moments).__next__)


@pytest.mark.usefixtures("terminal")
def test_bytes_and_share_are_shown_after_a_second_and_taken_away(tmp_path, capsys):
    log = tmp_path / "train.log"
    log.write_bytes(b"x" * 4_000_000)
    progress = progress_of([str(log)], [0.0, 0.5, 1.5, 1.6])
    progress(1_000_000)
    assert capsys.readouterr().err == ""
    progress(2_000_000)
    assert "2 MB / 4 MB (50 %)" in capsys.readouterr().err
    progress(3_000_000)
    assert capsys.readouterr().err == ""
    progress.clear()
    assert capsys.readouterr().err == "\r\x1b[K"


@pytest.mark.usefixtures("terminal")
def test_what_has_no_known_size_is_shown_without_a_share(capsys):
    progress = progress_of(["-"], [0.0, 2.0])
    progress(5_000_000)
    assert capsys.readouterr().err == "\r-: 5 MB\x1b[K"


def test_nothing_is_written_where_nobody_looks(tmp_path, capsys):
    log = tmp_path / "train.log"
    log.write_bytes(b"x")
    progress = progress_of([str(log)], [0.0, 2.0])
    progress(1)
    progress.clear()
    assert capsys.readouterr().err == ""
