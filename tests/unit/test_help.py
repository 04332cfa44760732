"""The command line helps: its help fits the terminal, and what was mistyped is recognised."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from stepscope.cli import COMMANDS, _help
from stepscope.cli._ascii import to_ascii, wants_ascii
from stepscope.core import installing
from stepscope.core.nearest import nearest
from stepscope.i18n import Language, languages
from tests.conftest import DEMO, ROOT

LOG = DEMO / "train.log"

# -- help -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_help_fits_the_terminal_and_cuts_no_word(cli, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in ((), *((name,) for name in COMMANDS)):
        status, out, _ = cli(*command, "--help")
        assert status == 0
        assert max(map(len, out.splitlines())) <= min(columns, 100), command
        # The trainer's page has hundreds of options; the others' words are all there, none cut in two.
        described = _help.summary(command[0]) if command else _help._ABOUT
        assert set(described.split()) <= set(out.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_explained_in_a_sentence_and_each_option_in_another(cli, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    about = _help.summary(name)
    assert about.endswith((".", "?"))
    assert len(about) <= 68, "one line of the overview at 80 columns"
    _, out, _ = cli(name, "--help")
    assert out.startswith(f"usage: stepscope {name}")
    assert f"\n{about}\n" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_command_shows_what_its_flag_shows(cli, name):
    assert cli("help", name) == cli(name, "--help")


def test_help_without_a_command_is_the_overview(cli):
    assert cli("help") == cli("--help")
    assert cli("-V") == cli("--version")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_example_of_the_help_begins_a_line(cli, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli(name, "--help")[1].splitlines()
    description = "\n".join(lines[: next(i for i, line in enumerate(lines) if line.endswith(":"))])
    doc = importlib.import_module(f"stepscope.cli.{name}").__doc__ or ""
    examples = [line.split("   ")[0] for line in map(str.strip, doc.splitlines()) if line.startswith("stepscope ")]
    for example in examples:
        assert f"\n  {' '.join(example.split()[:3])}" in description


@pytest.mark.parametrize("columns", [40, 80])
def test_an_example_of_the_help_can_be_pasted(columns):
    examples = [("stepscope eta train.log --config config.py --now 02:30", "why it is there"), ("stepscope demo", "")]
    lines = _help.example_lines(examples, columns)
    commands = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    words = commands.replace("\\\n", "").partition("   why")[0].split()
    assert words[:7] == examples[0][0].split()


# -- what was probably meant ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "key", "hint"),
    [
        (["explian", "train.log"], "unknown-command", "stepscope explain train.log"),
        (["etaa", "x.log", "--lang", "en"], "unknown-command", "stepscope eta x.log --lang en"),
        (["help", "compre"], "no-such-command", "compare"),
        ([LOG, "--formt", "json"], "unknown-flag", "--format"),
        (["eta", LOG, "--max-step=5"], "unknown-flag", "--max-steps"),
        ([LOG, "--format", "jsn"], "bad-choice", "json"),
        (["formats", "tyr", "x"], "bad-choice", "try"),
        ([LOG, "--set", "eval_intervl=500"], "unknown-setting", "eval_interval"),
        ([LOG, "--lang", "deu"], "bad-language", "de"),
        (["formats", "show", "nanogtp"], "no-such-format", "nanogpt"),
        (["eta", LOG, "--lang"], "missing-value", "stepscope eta --help"),
        (["eta"], "missing-argument", "stepscope eta --help"),
        (["plan", "a.log"], "too-many-arguments", "stepscope plan --help"),
    ],
)
def test_a_slip_is_recognised_in_every_language(cli, monkeypatch, arguments, key, hint):
    for code in languages():
        monkeypatch.setenv("LC_ALL", f"{code}.UTF-8")
        status, out, err = cli(*arguments)
        assert (status, out) == (1 if key == "no-such-format" else 2, "")
        assert f"[{key}]: " in err
        assert hint in err.splitlines()[-1]
        assert "--lang" in arguments or err.startswith(Language.load(code).text("error-title"))


def test_what_is_like_nothing_is_not_guessed(cli):
    assert "did you mean" not in cli(LOG, "--format", "zzz")[2]
    assert "no-such-file" in cli("mylogfile")[2]


def test_a_file_named_like_a_slip_is_a_file(cli, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "explian").write_bytes(LOG.read_bytes())
    assert cli("explian")[0] == 0


def test_swapped_letters_and_likeness():
    assert nearest("tyr", ["show", "try"]) == "try"
    assert nearest("comparee", ["compare", "eta"]) == "compare"
    assert nearest("zzz", ["compare", "eta"]) is None


# -- extras -----------------------------------------------------------------------------------------------


class Origin:
    """An installed package that knows where it came from, or not."""

    def __init__(self, text):
        self.text = text

    def read_text(self, _name):
        return self.text


def test_an_extra_of_a_checkout_is_installed_from_it(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    assert installing.install_command("web").endswith(" install '.[web]'")
    monkeypatch.chdir(tmp_path)
    assert installing.install_command("web").endswith(f" install '{ROOT}[web]'")


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/a/.local/share/pipx/venvs/stepscope", "pipx install --force 'stepscope[web]'"),
        ("/home/a/.local/share/uv/tools/stepscope", "uv tool install 'stepscope[web]'"),
        ("/usr", "pip install 'stepscope[web]'"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths and quotes of a POSIX shell")
def test_an_extra_of_an_installed_package_comes_from_the_index(monkeypatch, tmp_path, prefix, command):
    elsewhere = tmp_path / "site-packages" / "stepscope" / "core" / "installing.py"
    monkeypatch.setattr(installing, "__file__", str(elsewhere))
    monkeypatch.setattr(metadata, "distribution", lambda _: Origin(None))
    monkeypatch.setattr(sys, "prefix", prefix)
    pip = Path(sys.executable).parent / "pip"
    monkeypatch.setattr("shutil.which", lambda _: str(pip))
    assert installing.install_command("web") == command


def test_a_package_installed_from_a_folder_names_that_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(installing, "__file__", str(tmp_path / "a" / "b" / "c" / "installing.py"))
    origin = {"url": ROOT.as_uri(), "dir_info": {}}
    monkeypatch.setattr(metadata, "distribution", lambda _: Origin(json.dumps(origin)))
    monkeypatch.chdir(tmp_path)
    assert installing.install_command("web").endswith(f"'{ROOT}[web]'")


# -- ASCII ------------------------------------------------------------------------------------------------


def test_the_c_locale_is_drawn_in_ascii():
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG"))} | {"LANG": "C"}
    command = [sys.executable, "-m", "stepscope", str(LOG), "--max-steps", "20000"]
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert "####" in done.stdout.decode("ascii")


@pytest.mark.parametrize("names", [{"LC_ALL": "C"}, {"LANG": "C"}, {"LANG": "POSIX", "LC_CTYPE": "C.UTF-8"}])
def test_the_c_locale_is_recognised(names):
    assert wants_ascii(names)


@pytest.mark.parametrize(
    "names", [{}, {"LANG": "en_US.UTF-8"}, {"LANG": "C.UTF-8"}, {"LANG": "C", "LC_ALL": "de_DE.UTF-8"}]
)
def test_other_locales_are_not(names):
    assert not wants_ascii(names)


def test_every_sign_of_a_report_has_a_drawing_in_ascii(cli):
    for code in languages():
        for form in ("terminal", "markdown"):
            out = cli(LOG, "--max-steps", "20000", "--lang", code, "--format", form)[1]
            signs = {sign for sign in out if not sign.isascii()}
            assert signs
            assert all(to_ascii(sign).isascii() and "?" not in to_ascii(sign) for sign in signs), signs
