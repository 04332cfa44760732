"""Completion: the scripts are what the shells themselves take, and know every command and option."""

from __future__ import annotations

import argparse
import shutil
import subprocess

import pytest

from stepscope.cli import COMMANDS, make_parser
from stepscope.cli._completion import SHELLS
from tests.live.terminal import Terminal

_ASK = """
source {script}
complete_line() {{
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stepscope; printf '%s\\n' "${{COMPREPLY[@]}}"
}}
cd {folder}
{asked}
"""


@pytest.fixture
def bash(cli, tmp_path):
    """What bash offers for each line."""
    script = tmp_path / "completion.bash"
    script.write_text(cli("completion", "bash")[1])
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "train.log").touch()

    def ask(*lines):
        asked = "\n".join(f"complete_line {line}; echo --" for line in lines)
        text = _ASK.format(script=script, folder=tmp_path / "files", asked=asked)
        done = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return [part.split() for part in done.stdout.split("--\n")[:-1]]

    return ask


def test_bash_completes_what_there_is(bash):
    found = bash(
        "stepscope pl",
        "stepscope tr",
        "stepscope eta train.log --dead",
        "stepscope train.log --pri",
        "stepscope compare a b --format gi",
        "stepscope compare a b --format = gi",
        "stepscope eta --max-steps ''",
        "stepscope eta --lang d",
        "stepscope schema ru",
        "stepscope help com",
        "stepscope -",
    )
    assert found[0] == ["plan"]
    assert found[1] == ["train", "train.log"]
    assert found[2:6] == [["--deadline"], ["--price"], ["github"], ["github"]]
    assert found[6:10] == [[], ["de"], ["runs"], ["compare", "completion"]]
    assert "--full" in found[10]


def test_bash_knows_every_option_of_every_command(bash):
    found = bash(*(f"stepscope {name} --" for name in COMMANDS))
    for name, offered in zip(COMMANDS, found, strict=True):
        shown = [action for action in make_parser(name)._actions if action.help != argparse.SUPPRESS]
        long = {flag for action in shown for flag in action.option_strings if flag.startswith("--")}
        assert set(offered) == long, name


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_that_is_here_takes_its_script(cli, tmp_path, shell):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(cli("completion", shell)[1])
    done = subprocess.run([program, "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_quotes_are_balanced_and_nothing_is_expanded(cli, shell):
    """Help texts stand between single quotes and must hold none; a $ or a backquote of theirs must not run."""
    out = cli("completion", shell)[1]
    for line in out.splitlines():
        if line.startswith(("complete -c", "        '", "    '")):
            assert line.count("'") % 2 == 0, line
            assert not {"$", "`"} & set(line), line
    assert all(name in out for name in COMMANDS)


def _program(shell):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    return program


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "train.log").touch()
    return folder


def test_fish_completes_what_there_is(cli, tmp_path, files):
    script = tmp_path / "completion.fish"
    script.write_text(cli("completion", "fish")[1])
    asked = {
        "stepscope wat": "watch\tWatch a running log: what it does now, when it ends, alarms",
        "stepscope eta --max": "--max-steps\tNumber of the run’s last step (nanoGPT: max_iters)",
        "stepscope schema ru": "runs",
        "stepscope eta tra": "train.log",
        "stepscope help et": "eta",
    }
    for line, offered in asked.items():
        command = [_program("fish"), "--no-config", "-c", f"source {script}; complete -C '{line}'"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=files)
        assert offered in done.stdout.splitlines()
    command = [_program("fish"), "--no-config", "-c", f"source {script}; complete -C 'stepscope eta --lang '"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=files)
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} >= {"en", "es", "de", "fr"}


@pytest.mark.flaky(reruns=1)
def test_zsh_completes_what_there_is(cli, tmp_path, files):
    """In a shell with a person at it: the menu of zsh needs a terminal."""
    (tmp_path / "completion.zsh").write_text(cli("completion", "zsh")[1])
    terminal = Terminal([_program("zsh"), "-f", "-i"], files)
    terminal.type(
        f"autoload -Uz compinit; compinit -u -D; source {tmp_path}/completion.zsh; PS1='ready'; echo is{{,}}\n"
    )
    terminal.see("is is")
    terminal.see("ready")
    for line, rest in {"stepscope wat": "ch", "stepscope eta --max": "-steps", "stepscope eta tra": "in.log"}.items():
        terminal.type(f"{line}\t")
        terminal.see(rest)  # after a bell
        terminal.type("\x15")  # the line is cleared
    terminal.type("stepscope eta --lang \t")
    terminal.see("de  en  es  fr")
    terminal.close()
