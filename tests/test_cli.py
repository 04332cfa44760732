"""Bad input gets a message with what, where and what to do, and the right exit code; never a traceback."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import subprocess
import sys

import pytest

from tests.conftest import DEMO

LOG = (DEMO / "train.log").read_bytes()


def write(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "key"),
    [
        ("empty.log", b"", "empty"),
        ("blank.log", b"\n\n\n", "empty"),
        ("binary.log", bytes(range(256)) * 40, "binary"),
        ("noise.log", os.urandom(4096), "binary"),
        ("other.log", b"GET /index.html 200\nGET /a.css 404\n", "not-a-training-log"),
        ("broken.log.gz", gzip.compress(LOG, mtime=0)[:40] + b"garbage", "broken-archive"),
    ],
)
def test_what_cannot_be_read(cli, tmp_path, name, content, key):
    path = write(tmp_path / name, content)
    status, out, err = cli(path)
    assert (status, out) == (1, "")
    assert err.startswith(f"error[{key}]: ")
    assert str(path) in err
    assert "\n  try: " in err


def test_a_missing_file_offers_the_nearest(cli, tmp_path):
    write(tmp_path / "train.log", LOG)
    status, _, err = cli(tmp_path / "trian.log")
    assert status == 1
    assert f"did you mean {tmp_path / 'train.log'}?" in err


def test_a_folder_without_a_log(cli, tmp_path):
    (tmp_path / "notes.md").write_text("# iter 0: time 100ms\n")
    status, _, err = cli(tmp_path)
    assert status == 1
    assert "error[folder-without-log]: this folder holds no training log, only notes.md\n" in err


@pytest.mark.parametrize("lang", ["en", "de", "fr", "es"])
def test_a_folder_whose_only_text_is_no_log_says_what_it_holds(cli, tmp_path, lang):
    """The file was not asked about: its first line is no answer, nor is a file that is not there a thing to try."""
    (tmp_path / "notes.txt").write_text("buy milk\ncall home\n")
    status, _, err = cli(tmp_path, "--lang", lang)
    assert status == 1
    for said in ("[folder-without-log]", "notes.txt", "stepscope run --"):
        assert said in err
    for not_said in ("buy milk", "train.log"):
        assert not_said not in err
    for number in range(9):
        (tmp_path / f"part{number}.md").write_text("text\n")
    assert "10" in cli(tmp_path, "--lang", lang)[2]


def test_an_empty_folder_says_so(cli, tmp_path):
    status, _, err = cli(tmp_path)
    assert (status, "error[folder-empty]" in err) == (1, True)


def test_a_folder_with_a_log(cli, tmp_path):
    (tmp_path / "out").mkdir()
    write(tmp_path / "out" / "train.log", LOG)
    write(tmp_path / "other.txt", b"nothing to see\n")
    status, out, _ = cli(tmp_path, "--format", "json")
    assert status == 0
    assert json.loads(out)["source"]["paths"] == [str(tmp_path / "out" / "train.log")]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(cli, tmp_path):
    path = write(tmp_path / "train.log", LOG)
    path.chmod(0)
    status, _, err = cli(path)
    assert status == 1
    assert "unreadable" in err


def test_a_file_that_fails_while_it_is_read(cli, monkeypatch, tmp_path):
    """What root cannot see by permissions it can by a disk that gives up."""
    path = write(tmp_path / "train.log", LOG)

    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("stepscope.core.opening._open", refuse)
    status, _, err = cli(path)
    assert status == 1
    assert "cannot be read: Permission denied" in err


@pytest.mark.parametrize(
    ("name", "content", "key"),
    [
        ("c.py", "max_iters = (\n", "config-syntax"),
        ("c.json", "{", "config-syntax"),
        ("c.toml", "a = ", "config-syntax"),
        ("c.yaml", "a: 1\nno value here\n", "config-syntax"),
    ],
)
def test_a_config_that_does_not_parse(cli, tmp_path, name, content, key):
    path = tmp_path / name
    path.write_text(content)
    status, _, err = cli(DEMO / "train.log", "--config", path)
    assert status == 1
    assert f"error[{key}]" in err
    assert str(path) in err


def test_a_missing_config(cli):
    status, _, err = cli(DEMO / "train.log", "--config", "nowhere.py")
    assert status == 1
    assert "no-such-config" in err


def test_a_config_is_read_and_never_run(cli, tmp_path):
    trap = tmp_path / "ran"
    config = tmp_path / "config.py"
    config.write_text(
        f"import pathlib\npathlib.Path({str(trap)!r}).touch()\nmax_iters = 4 * 500\neval_interval = max_iters // 4\n"
    )
    _, out, _ = cli(DEMO / "train.log", "--config", config, "--format", "json")
    settings = json.loads(out)["settings"]
    assert settings["max_steps"] == {"value": 2000, "from": "config"}
    assert settings["eval_interval"] == {"value": 500, "from": "config"}
    assert not trap.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--lang", "xx"],
        ["--now", "tomorrow"],
        ["--set", "eval_interval"],
        ["--confidence", "7"],
        ["--max-steps", "0"],
        ["--lang", "en,de"],
        ["--format", "pdf"],
        ["--nonsense"],
    ],
)
def test_asked_wrongly(cli, arguments):
    status, out, err = cli(DEMO / "train.log", *arguments)
    assert (status, out) == (2, "")
    assert err


def test_no_arguments_show_the_commands(cli):
    status, out, _ = cli()
    assert status == 2
    assert "stepscope demo" in out
    assert cli("--help")[0] == 0
    assert cli("--version")[1].startswith("stepscope ")


@pytest.mark.parametrize("command", ["explain", "eta", "formats", "doc", "demo"])
def test_every_command_has_help(cli, command):
    status, out, _ = cli(command, "--help")
    assert status == 0
    assert len(out.splitlines()) > 3


def zstd(content):
    if sys.version_info >= (3, 14):
        from compression import zstd as library
    else:
        from backports import zstd as library
    return library.compress(content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.log.gz", gzip.compress(LOG, mtime=0)),
        ("a.log.xz", lzma.compress(LOG)),
        ("a.log.zst", zstd(LOG)),
        ("utf16.log", LOG.decode().encode("utf-16")),
        ("utf16be-no-mark.log", LOG.decode().encode("utf-16-be")),
        ("bom.log", b"\xef\xbb\xbf" + LOG),
        ("crlf.log", LOG.replace(b"\n", b"\r\n")),
        ("cr.log", LOG.replace(b"\n", b"\r")),
        ("ansi.log", b"".join(b"\x1b[32m" + line + b"\x1b[0m\x1b[K\n" for line in LOG.splitlines())),
        ("rank.log", b"".join(b"[rank0]: " + line + b"\n" for line in LOG.splitlines())),
        ("logger.log", b"".join(b"INFO:train:" + line + b"\n" for line in LOG.splitlines())),
        ("no-newline.log", LOG.rstrip(b"\n")),
        (
            "unknown-prefix.log",
            b"".join(b"<%d> pod-a/x !! " % n + line + b"\n" for n, line in enumerate(LOG.splitlines())),
        ),
    ],
)
def test_the_same_log_in_other_clothes(cli, tmp_path, name, content):
    path = write(tmp_path / name, content)
    status, out, _ = cli(path, "--format", "json")
    assert status == 0
    document = json.loads(out)
    assert [slow["step"] for slow in document["slow"]] == [0, 500, 1000]
    assert document["step"]["count"] == 11
    assert document["source"]["lines_unread"] == 0
    assert document["wall_s"] == pytest.approx(246.4975)


def test_standard_input(cli, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG)))
    status, out, _ = cli("-", "--format", "json")
    assert status == 0
    assert json.loads(out)["step"]["count"] == 11


def test_two_parts_of_one_run(cli, tmp_path):
    lines = LOG.splitlines(keepends=True)
    first, second = write(tmp_path / "1.log", b"".join(lines[:12])), write(tmp_path / "2.log", b"".join(lines[12:]))
    _, whole, _ = cli(DEMO / "train.log", "--format", "json")
    _, parts, _ = cli(first, second, "--format", "json")
    whole_document, parts_document = json.loads(whole), json.loads(parts)
    assert parts_document["wall_s"] == whole_document["wall_s"]
    assert parts_document["source"]["paths"] == [str(first), str(second)]


def test_a_cut_last_line_is_counted_and_shown(cli, tmp_path):
    path = write(tmp_path / "train.log", LOG[:-12])
    status, out, _ = cli(path, "--full")
    assert status == 0
    assert "One of 20 lines was not understood, at line 20: iter 1300: loss 4.9066, ti" in out


def test_strict_fails_on_a_line_not_understood(cli, tmp_path):
    path = write(tmp_path / "train.log", LOG[:-12])
    status, out, err = cli(path, "--strict")
    assert (status, out) == (1, "")
    assert f"{path}:20" in err


def test_a_log_without_steps_still_answers_in_json(cli, tmp_path):
    head = (
        b"tokens per iteration will be: 32,768\nInitializing a new model from scratch\nnumber of parameters: 10.65M\n"
    )
    path = write(tmp_path / "train.log", head)
    status, out, _ = cli(path, "--format", "json")
    assert status == 3
    document = json.loads(out)
    assert document["wall_s"] is None
    assert document["step"]["typical_s"] is None
    assert document["settings"]["parameters"] == {"value": 10_650_000, "from": "log"}
    status, _, err = cli("eta", path)
    assert status == 3
    assert err


def test_eta_without_a_total_says_what_to_pass(cli):
    status, out, err = cli("eta", DEMO / "train.log")
    assert (status, out) == (3, "")
    assert "--max-steps" in err
    status, out, _ = cli("eta", DEMO / "train.log", "--format", "json")
    assert status == 3
    assert "reason" in json.loads(out)["forecast"]
    status, out, _ = cli("eta", DEMO / "train.log", "--max-steps", "20000", "--now", "02:30")
    assert status == 0
    assert "57 min" in out


def test_eta_of_a_log_that_went_silent_says_so(cli, tmp_path):
    (tmp_path / "old.log").write_text((DEMO / "train.log").read_text())
    os.utime(tmp_path / "old.log", (1_600_000_000,) * 2)
    status, out, err = cli("eta", tmp_path / "old.log", "--max-steps", "20000")
    assert (status, out[:6]) == (0, "57 min")
    assert "would have been done at" in out
    assert "Last line: " in err
    assert cli("eta", DEMO / "train.log", "--max-steps", "20000", "--now", "02:30")[2] == ""


def test_a_finished_run_is_complete(cli):
    status, out, _ = cli("eta", DEMO / "train.log", "--max-steps", "1300")
    assert status == 0
    assert "complete" in out


def test_formats_lists_shows_and_tries(cli, tmp_path):
    assert "nanogpt" in cli("formats")[1]
    assert "iter 250: loss" in cli("formats", "show", "nanogpt")[1]
    assert cli("formats", "show", "nothing")[0] == 1
    status, out, _ = cli("formats", "try", DEMO / "train.log")
    assert status == 0
    assert "20 of 20 lines" in out
    status, out, err = cli("formats", "try", write(tmp_path / "x.log", b"hello\n"))
    assert status == 1
    assert "No known format" in err


def test_the_demo(cli):
    status, out, err = cli("demo")
    assert status == 0
    assert "57 min left" in out
    assert "nvidia-smi" in err


def test_an_answer_goes_to_a_file(cli, tmp_path):
    target = tmp_path / "report.json"
    status, out, err = cli(DEMO / "train.log", "--format", "json", "-o", target)
    assert (status, out) == (0, "")
    assert str(target) in err
    assert json.loads(target.read_text())["schema"] == "stepscope.report/1"
    assert cli(DEMO / "train.log", "-o", tmp_path / "no" / "such" / "x.txt")[0] == 1


def test_a_closed_pipe_is_no_error(tmp_path):
    """`stepscope train.log | head -1` must not print a traceback."""
    command = f"{sys.executable} -m stepscope {DEMO / 'train.log'} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_an_ascii_terminal_loses_signs_but_not_the_answer(tmp_path):
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "stepscope", str(DEMO / "train.log")],
        capture_output=True,
        check=False,
        env=env,
        cwd=tmp_path,
    )
    assert done.returncode == 0
    assert b"170 ms" in done.stdout
