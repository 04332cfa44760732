"""What a log, a file or an argument says leaves the program as text: no hidden sign, no live link, valid UTF-8."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import random
import re
import subprocess
import sys
import threading
import unicodedata
from xml.etree import ElementTree

import pytest
import yaml
from markdown_it import MarkdownIt

from stepscope.cli import _live
from stepscope.cli._progress import Progress
from stepscope.core.redact import redact
from stepscope.core.unseen import to_json, visible
from stepscope.i18n import Language, languages
from stepscope.report.markdown import escape
from tests.unit.logs import report_of, training

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
LIVE = re.compile(r"@\w|#\d|://|www\.|GH-\d|(?<!\w)!\d")
NASTY = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egol.exe\u2066\U000e0041\u2028"
CALL = "@admin #123 !45 GH-7 https://evil.example/?a=1&b=2 www.evil.example a@evil.example <b>x</b> [x](http://y) `z` |"
FORMATS = ("terminal", "json", "markdown", "note", "html", "trace", "csv", "mllog", "svg")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("train.log", "train.log"),
        ("añb — 訓練.log", "añb — 訓練.log"),
        ("turned \u202egol", "turned ⟨U+202E⟩gol"),
        ("caf\udce9", "caf⟨E9⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("a\U000e0041b", "a⟨U+E0041⟩b"),
        ("\x1b[31mred\x07\x9b", "[31mred"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # needed to write Persian, and harmless
    ],
)
def test_hidden_characters_are_shown(text, shown):
    assert visible(text) == shown
    assert visible(shown) == shown
    assert not HIDDEN.search(redact(text))


def test_every_character_that_turns_text_around_is_shown():
    """By Unicode's own classes, so that one that is added later is not forgotten."""
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.bidirectional(char) in turning or unicodedata.category(char) in {"Zl", "Zp", "Cs"}:
            assert char not in visible(char)


def test_json_keeps_every_name_and_shows_it():
    for name in (NASTY, "caf\udce9.log", "\ud800", "é訓", "a\U000e0041"):
        text = to_json({"paths": [name]})
        assert not HIDDEN.search(text)
        assert json.loads(text) == {"paths": [name]}
    assert to_json("é訓") == '"é訓"'
    with pytest.raises(ValueError, match="Out of range"):
        to_json(float("nan"))


@pytest.mark.parametrize("code", languages())
def test_no_message_passes_a_hidden_character_on(code):
    """Whatever its value: they are all written in one place."""
    text = Language.load(code).text("warning-unknown-card", name=NASTY, known="")
    assert "owned" in text
    assert not HIDDEN.search(text)


def live_text(markdown):
    """What a reader of this Markdown gets as plain text or markup, code left out, that would do something."""
    found = []
    for block in MarkdownIt("commonmark").enable("table").parse(markdown):
        found += [block.content] if block.type == "html_block" else []
        for part in block.children or []:
            if part.type in {"html_inline", "link_open", "image"} or (
                part.type == "text" and LIVE.search(part.content)
            ):
                found.append(part.content or part.type)
    return found


def shown_text(markdown):
    """What a reader of this Markdown sees."""
    (_, inline, _) = MarkdownIt("commonmark").parse(markdown)
    return "".join(part.content for part in inline.children)


def test_words_that_would_call_somebody_are_code():
    assert escape("by @admin, see #12 and x@y.example") == "by `@admin,` see `#12` and `x@y.example`"
    assert escape("a #note, 5 % of 12!") == "a \\#note, 5 % of 12!"
    assert escape("plain *text* <b>") == "plain \\*text\\* &lt;b&gt;"


def test_any_text_is_inert_and_still_says_the_same():
    """Random pieces of what Markdown and its readers look for; the seed is fixed."""
    marks = ["`", "``", "|", "*", "_", "~", "\\", "&lt;", "<b>", "[x]", "(y)", " "]
    pieces = [*marks, "@a", "#1", "!2", "http://z", "www.z", "w"]
    dice = random.Random(7)
    for _ in range(2000):
        text = "w" + "".join(dice.choices(pieces, k=dice.randint(1, 12))) + "w"
        assert live_text(escape(text)) == [], text
        assert re.sub(r"\s+", " ", shown_text(escape(text))) == re.sub(r"\s+", " ", text), text


@pytest.fixture
def hostile(tmp_path):
    """A log whose lines, settings, GPU and name are an attacker's; its arguments."""
    folder = tmp_path / "@admin1 #123 www.evil.example"
    folder.mkdir()
    lines = training(300, every=10, evaluate=50)
    said = f"{CALL}{NASTY}"
    log = folder / f"@me{NASTY}\udce9.log".replace("\u2028", "")
    text = [
        f"Overriding: out_dir = {said}",
        *lines[:10],
        f"saving checkpoint to {said}",
        said,
        *lines[10:],
        "Traceback (most recent call last):",
        f"RuntimeError: {said}",
        f"torch.cuda.OutOfMemoryError: CUDA out of memory {said}",
    ]
    log.write_text("\n".join(text) + "\n")
    config = folder / "config.py"
    config.write_text(
        "\n".join(f"{name} = {said!r}" for name in ("dataset", "device", "dtype")) + "\nmax_iters = 1000\n"
    )
    head = "timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W]"
    row = ", 0, NVIDIA " + said.replace("\n", "").replace(",", "") + ", 55 %, 100 MiB, 1000 MiB, 50 W"
    rows = [f"2026/03/01 10:00:{second:02}.000{row}" for second in range(30)]
    for name in ("gpu.csv", "smi.csv"):
        (folder / name).write_text("\n".join([head, *rows]) + "\n")
    return [log, "--config", config, "--nvidia-smi", folder / "smi.csv", "--gpu", said]


@pytest.mark.parametrize("form", FORMATS)
def test_no_hidden_character_leaves_by_any_format(cli, tmp_path, hostile, form):
    """To standard output and to a file, errors and remarks included; a document still says where its log is."""
    status, out, err = cli(*hostile, "--format", form)
    assert status == 0
    assert not HIDDEN.search(out)
    assert not HIDDEN.search(err)
    target = tmp_path / f"answer{NASTY}.txt".replace("\u2028", "")
    status, _, err = cli(*hostile, "--format", form, "-o", target)
    assert status == 0
    assert not HIDDEN.search(err)
    assert target.read_bytes().decode() == out
    if form == "json":
        assert json.loads(out)["source"]["paths"] == [str(hostile[0])]
    if form == "html":
        held = re.search(r'id="report">(.*?)</script>', out)[1]
        assert json.loads(held)["source"]["paths"] == [str(hostile[0])]
    if form == "svg":
        tags = {part.tag.rpartition("}")[2] for part in ElementTree.fromstring(out).iter()}
        assert not tags & {"script", "a", "image", "foreignObject"}
    if form == "note":
        assert yaml.safe_load(out.split("---\n")[1]).keys() >= {"title", "lang"}
        assert "admin" not in out.split("---\n")[1]
    if form == "csv":
        assert not [cell for row in csv.reader(out.splitlines()) for cell in row if cell.startswith(("=", "+", "@"))]


@pytest.mark.skipif(sys.platform == "win32", reason="no terminal to open")
@pytest.mark.parametrize("command", ["explain", "watch"])
def test_a_terminal_is_told_nothing_but_colours_and_places(hostile, command):
    """The report and the live screen on a real terminal: no title, no clipboard, no other sequence of a log's."""
    import pty

    ours, theirs = pty.openpty()
    arguments = [command, str(hostile[0])]
    variables = {"TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-m", "stepscope", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**{name: value for name, value in os.environ.items() if name != "NO_COLOR"}, **variables},
    ) as process:
        os.close(theirs)
        drawn = b""
        try:
            while more := os.read(ours, 1 << 16):
                drawn += more
        except OSError:
            pass  # the other side is closed
        finally:
            os.close(ours)
        assert process.wait(60) in {0, 4}
    text = re.sub(r"\x1b\[[0-9;?]*[A-HJKhlm]|\r", "", drawn.decode())
    assert "evil.example" in text
    assert not HIDDEN.search(text)


@pytest.mark.parametrize("form", ["markdown", "note"])
@pytest.mark.parametrize("command", ["explain", "eta", "why", "advise", "compare"])
def test_no_word_of_a_log_is_live_in_markdown(cli, hostile, command, form):
    arguments = [command, *hostile, "--format", form]
    if command == "compare":
        arguments = [command, hostile[0], hostile[0], "--format", "markdown"]
    elif command == "why":
        arguments.insert(2, "50")
    status, out, _ = cli(*arguments)
    assert status == 0
    assert live_text(re.sub(r"\A---\n.*?\n---\n", "", out, flags=re.DOTALL)) == []
    assert "admin" in out or command in {"eta", "why", "advise"} or form == "note"


@pytest.mark.parametrize(
    "ending",
    [
        "RuntimeError: {0}",
        "Early stopping: {0}",
        "slurmstepd: error: *** JOB 7 CANCELLED AT {0} ***",
        "Killed {0}",
        "{0}",
    ],
)
@pytest.mark.parametrize("command", ["explain", "eta", "advise", "why"])
@pytest.mark.parametrize("form", ["markdown", "note"])
def test_no_word_of_how_a_short_log_ends_is_live(cli, tmp_path, ending, command, form):
    """No total is known: what the log says of its end stands where the finish time would."""
    log = tmp_path / "train.log"
    log.write_text("\n".join([*training(3), ending.format(CALL)]) + "\n")
    _, out, _ = cli(command, log, *(["2"] if command == "why" else []), "--format", form)
    assert live_text(out.split("---\n")[-1]) == []


FLAGS = "--bad --format --lang --now --set --max-steps --config --nvidia-smi --confidence --like --change --gpu"


@pytest.mark.parametrize("flag", FLAGS.split())
def test_no_argument_is_repeated_as_it_came(cli, tmp_path, flag):
    log = tmp_path / "train.log"
    log.write_text("\n".join(training(100, every=10)))
    _, out, err = cli(log, f"{flag}={NASTY}")
    assert "owned" in err or flag in {"--now", "--confidence", "--change", "--like"}
    assert not HIDDEN.search(out + err)


def test_the_line_of_progress_shows_the_name_as_text(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    Progress([f"a{NASTY}"], now=iter([0.0, 2.0]).__next__)(5_000_000)
    assert "owned" in terminal.getvalue()
    assert not HIDDEN.search(terminal.getvalue().removeprefix("\r").removesuffix("\x1b[K"))


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000, "a\0b", "\ud800"])
def test_what_no_file_can_be_called_is_said_to_be_unreadable(cli, name):
    status, _, err = cli(name)
    assert status == 1
    assert "error[unreadable]" in err or "error[no-such-file]" in err


def test_documents_are_utf8_in_every_locale(tmp_path):
    """The page says so of itself; Markdown and JSON are never anything else."""
    log = tmp_path / "caf\udce9 訓.log"
    log.write_text("\n".join(training(100, every=10)))
    code = "import sys; from stepscope.cli import main; [main([sys.argv[1], '--format', f]) for f in sys.argv[2:]]"
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    done = subprocess.run(
        [sys.executable, "-c", code, os.fsencode(log), "html", "json", "markdown"],
        capture_output=True,
        check=True,
        env={**os.environ, **variables},
    )
    text = done.stdout.decode("utf-8")
    assert "⟨E9⟩" in text
    assert "�" not in text
    assert " · " in text
    assert "? iteration" not in text


def test_no_log_calls_anybody_in_a_chat(monkeypatch):
    sent, arrived = [], threading.Event()
    monkeypatch.setattr(_live, "_apprise", lambda _: lambda _title, body: sent.append(body) or arrived.set() or True)
    sender = _live.AlarmSender(argparse.Namespace(exec=None, notify=["x"]), Language.load("en"))
    report = report_of(
        [*training(100, every=10), "torch.cuda.OutOfMemoryError: @everyone <!channel> <@U1> a@b.example"]
    )
    (alarm,) = [alarm for alarm in report.alarms if alarm.code == "oom"]
    sender.send((alarm,))
    assert arrived.wait(20)
    assert "@ everyone <! channel> <@ U1> a@ b.example" in sent[0]
