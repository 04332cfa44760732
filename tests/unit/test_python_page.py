"""The page about Python runs as it is written, and a notebook shows reports."""

from __future__ import annotations

import re
import shutil

import pytest

import stepscope
from tests.conftest import DEMO, ROOT

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


class Shell:
    """What IPython's shell does with an extension."""

    def __init__(self):
        self.magics = {}

    def register_magic_function(self, func, magic_kind, magic_name):
        assert magic_kind == "line"
        self.magics[magic_name] = func


@pytest.fixture
def magic(tmp_path, monkeypatch):
    shutil.copy(DEMO / "train.log", tmp_path)
    shutil.copy(DEMO / "config.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    shell = Shell()
    stepscope.load_ipython_extension(shell)
    return shell.magics["stepscope"]


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    shutil.copy(DEMO / "train.log", tmp_path)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.partition("## Functions")[0], re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    out = capsys.readouterr().out
    assert "running" in out or "unknown" in out or "stopped" in out
    assert "eval_interval" in out
    assert "step_s" in out


def test_every_public_name_is_on_the_page():
    for name in set(stepscope.__all__) - {"__version__"}:
        assert f"`stepscope.{name}`" in PAGE or f"| `{name}` |" in PAGE, name


def test_the_magic_gives_the_report(magic):
    report = magic("train.log --max-steps 20000")
    assert isinstance(report, stepscope.Report)
    assert report.run.settings.count("max_steps") == 20_000
    assert report._repr_html_().startswith("<iframe srcdoc=")
    assert isinstance(magic("explain 'train.log' --config config.py"), stepscope.Report)


def test_the_magic_prints_what_other_commands_print(magic, capsys):
    assert magic("eta train.log --max-steps 20000 --now 02:30") is None
    assert "57 min left" in capsys.readouterr().out
    assert magic("train.log --format json") is None
    assert '"stepscope.report/1"' in capsys.readouterr().out


@pytest.mark.parametrize("line", ["nothing.log", "train.log --max-stps 5", "", "--help", "eta --help", "'train.log"])
def test_the_magic_never_raises(magic, capsys, line):
    assert magic(line) is None
    assert "".join(capsys.readouterr())
