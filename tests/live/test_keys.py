"""Keys on the screen of `watch`: each does what the footer says, and the terminal is left as it was."""

from __future__ import annotations

import shutil
import sys
import termios

import pytest

from stepscope.i18n import Language, languages
from stepscope.report import live
from tests.conftest import DEMO
from tests.live.terminal import Terminal

WATCH = [sys.executable, "-m", "stepscope", "watch", "train.log", "--max-steps", "20000", "--interval", "0.2"]
QUIT = "q quit · ? help · p pause"


@pytest.fixture
def terminal(tmp_path):
    shutil.copy(DEMO / "train.log", tmp_path)
    found = Terminal([*WATCH, "--lang", "en"], tmp_path)
    found.see(QUIT)
    yield found
    found.close()


def test_each_key_does_what_the_footer_says(terminal):
    assert not terminal.mode()[3] & termios.ICANON
    terminal.type("?")
    terminal.see("q   quit; the run goes on")
    terminal.see("close this help")
    terminal.type("?")
    terminal.see(QUIT)
    terminal.type("p")
    terminal.see("Paused: the run goes on")
    terminal.type("xp")  # x is no key
    terminal.see(QUIT)
    terminal.type("l")
    terminal.see(QUIT)  # perhaps a picture of before
    assert "iter 1300" not in terminal.see(QUIT)
    terminal.type("l")
    terminal.see("iter 1300")
    terminal.type("a")
    terminal.see(QUIT)
    assert "eval_interval" not in terminal.see(QUIT)
    terminal.type("a")
    terminal.see("eval_interval 500")
    terminal.type("+-")
    terminal.see(QUIT)


def test_the_terminal_is_left_as_it_was(tmp_path):
    shutil.copy(DEMO / "train.log", tmp_path)
    found = Terminal(
        ["bash", "--norc", "--noprofile", "-c", f"{' '.join(WATCH)} --lang en; echo code $?; stty -a; sleep 60"],
        tmp_path,
    )
    found.see(QUIT)
    found.type("q")
    found.see("code 130")
    found.see(" icanon")
    found.see(" echo ")
    found.close()


@pytest.mark.parametrize("code", languages())
def test_footers_fit_a_narrow_screen(code):
    for has_help in (False, True):
        lines = live.keys_lines(Language.load(code), 60, is_held=True, has_help=has_help)
        assert all(line.cell_len <= 60 for line in lines)
        assert "q" in lines[1].plain


def test_at_the_end_the_three_lines_stay_behind(tmp_path):
    lines = (DEMO / "train.log").read_text().splitlines()
    (tmp_path / "train.log").write_text("\n".join([*lines, 'File "train.py", line 1', "KeyboardInterrupt"]) + "\n")
    command = [*WATCH, "--lang", "en"]
    found = Terminal(["bash", "--norc", "--noprofile", "-c", f"{' '.join(command)}; echo code $?; sleep 60"], tmp_path)
    text = found.see("code ")
    found.close()
    last = text[-400:]
    assert "Interrupted after " in last
    assert "KeyboardInterrupt" in last
    assert "\ue000" not in text
