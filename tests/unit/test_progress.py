"""Reading that takes more than a second says on a terminal how far it got."""

from __future__ import annotations

import io
import sys

from stepscope.cli._progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def read_all(self):
        text = self.getvalue()
        self.truncate(0)
        self.seek(0)
        return text


def terminal_of(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def progress_of(paths, moments):
    return Progress(paths, now=iter(moments).__next__)


def test_bytes_and_share_are_shown_after_a_second_and_taken_away(tmp_path, monkeypatch):
    terminal = terminal_of(monkeypatch)
    log = tmp_path / "train.log"
    log.write_bytes(b"x" * 4_000_000)
    progress = progress_of([str(log)], [0.0, 0.5, 1.5, 1.6])
    progress(1_000_000)
    assert terminal.read_all() == ""
    progress(2_000_000)
    assert "2 MB / 4 MB (50 %)" in terminal.read_all()
    progress(3_000_000)
    assert terminal.read_all() == ""
    progress.clear()
    assert terminal.read_all() == "\r\x1b[K"


def test_what_has_no_known_size_is_shown_without_a_share(monkeypatch):
    terminal = terminal_of(monkeypatch)
    progress = progress_of(["-"], [0.0, 2.0])
    progress(5_000_000)
    assert terminal.read_all() == "\r-: 5 MB\x1b[K"


def test_nothing_is_written_where_nobody_looks(tmp_path, capsys):
    log = tmp_path / "train.log"
    log.write_bytes(b"x")
    progress = progress_of([str(log)], [0.0, 2.0])
    progress(1)
    progress.clear()
    assert capsys.readouterr().err == ""
