"""What a release consists of: metadata, the wheel, the sdist, and the files that name the version."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string

import pytest
import yaml

from stepscope import __version__
from tests.conftest import ROOT

_KEPT_OUT = shutil.ignore_patterns("__pycache__", ".*", "build", "dist", "*.egg-info")
_BUILD = """
import sys
from setuptools import build_meta
target = sys.argv[1]  # which building changes
build_meta.build_sdist(target)
build_meta.build_wheel(target)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The names in the sdist and in the wheel, and the wheel's metadata."""
    source, target = tmp_path_factory.mktemp("source") / "stepscope", tmp_path_factory.mktemp("dist")
    shutil.copytree(ROOT, source, ignore=_KEPT_OUT)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _BUILD, target], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "deprecated" not in done.stderr.lower(), done.stderr
    wheel = zipfile.ZipFile(next(target.glob("*.whl")))
    metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    with tarfile.open(next(target.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    return names, set(wheel.namelist()), message_from_string(wheel.read(metadata).decode())


def _package_files() -> set[str]:
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file())
    kept = (path.relative_to(ROOT / "src").as_posix() for path in files if path.suffix != ".pyc")
    return {name for name in kept if ".egg-info/" not in name}


def test_the_wheel_holds_the_package_and_nothing_else(built):
    _, wheel, _ = built
    inside = {name for name in wheel if ".dist-info/" not in name}
    assert inside == _package_files()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel)


def test_the_sdist_can_be_built_and_tested_from(built):
    names, _, _ = built
    assert {f"src/{name}" for name in _package_files()} <= names
    for name in ("pyproject.toml", "setup.py", "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "Makefile"):
        assert name in names
    assert "tests/conftest.py" in names
    assert "tools/gen.py" in names
    assert not {name for name in names if name.endswith((".pyc", "~", ".orig"))}


def test_the_metadata_is_complete(built):
    _, _, metadata = built
    assert (metadata["Name"], metadata["Version"]) == ("stepscope", __version__)
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    classifiers = metadata.get_all("Classifier")
    assert not [one for one in classifiers if one.startswith("License ::")]  # the expression replaces them
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= set(classifiers)
    urls = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL"))
    assert {"Homepage", "Documentation", "Repository", "Issues", "Changelog"} == set(urls)
    assert metadata["Requires-Python"] == ">=3.11"


def test_the_readme_of_the_index_has_no_relative_link(built):
    _, _, metadata = built
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = re.sub(r"```.*?```|`[^`\n]*`", "", metadata.get_payload(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert not [link for link in links if not link.startswith(("https://", "#"))]
    assert f"/blob/v{__version__}/docs/" in text
    assert f"https://raw.githubusercontent.com/stepscope/stepscope/v{__version__}/docs/demo.svg" in text


def test_links_are_made_absolute():
    spec = importlib.util.spec_from_file_location("stepscope_setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.absolute("[a](b.md#c) [d](https://e) [f](#g) ![h](i.png)", "1") == (
        "[a](https://github.com/stepscope/stepscope/blob/v1/b.md#c) [d](https://e) [f](#g) "
        "![h](https://raw.githubusercontent.com/stepscope/stepscope/v1/i.png)"
    )


def test_every_file_that_names_the_version_names_this_one():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert str(citation["version"]) == __version__
    assert f"\n## [{__version__}] - {citation['date-released']}\n" in changes
    assert changes.index("## [Unreleased]") < changes.index(f"## [{__version__}]")
    assert f"stepscope@v{__version__}" in (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert f"{__version__.rpartition('.')[0]}.x" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["dynamic"]) == {"readme", "version"}


def test_the_dockerfile_copies_and_starts_what_there_is():
    """Parsed, never built: there is no Docker where this was written."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert {name for name, _ in steps} <= {"FROM", "COPY", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert [rest for name, rest in steps if name == "ENTRYPOINT"] == ['["stepscope"]']
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    asked = re.search(r"/src\[([\w,]+)\]", text)
    assert asked is not None
    assert set(asked[1].split(",")) <= set(extras)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert not {"src", "setup.py", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"} & set(ignored)
