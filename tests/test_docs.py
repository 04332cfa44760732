"""The docs hold together: every link and anchor exists, every page has a way in, every command in them parses."""

from __future__ import annotations

import importlib
import re
import shlex

import pytest
import yaml

from stepscope.cli import COMMANDS
from stepscope.cli._help import make_parser
from stepscope.core.errors import StepscopeError
from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *DOCS.rglob("*.md")])
LINK = re.compile(r"(?<!\\)\]\((?P<to>[^)\s]+)\)")
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
# What a page says in place of a value of the reader's own; a line with it is a form, not a command.
FORM = re.compile(r"…|\.\.\.|\[[A-Z-]|\||\b(LOG|STEP|NAME|COMMAND|CODE|DIR|PATH)\b")
_SHORT = {"missing-argument", "missing-value"}


def prose(path):
    """A page without its blocks of code, of which nothing is a link or a heading."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path):
    """The anchors of a page's headings, as GitHub and the site make them."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE):
        text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "").strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    for match in LINK.finditer(CODE.sub("", prose(path))):
        target, _, anchor = match["to"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        place = (path.parent / target).resolve() if target else path
        assert place.exists(), f"{match['to']}: no such file"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), f"{match['to']}: no such heading"


def test_every_page_has_a_place_in_the_site():
    class Loader(yaml.SafeLoader):
        """Reads the one tag that names a function, as text."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda _loader, suffix, _node: suffix)
    site = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)
    named = set(re.findall(r"[\w./-]+\.md", str(site["nav"])))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.parent.name != "formats"}
    assert named == pages | {"formats/README.md"}
    assert site["theme"]["font"] is False  # nothing is loaded from the network


def commands(path):
    """The stepscope commands of a page: lines of its blocks of code, and pieces of code that are whole commands."""
    text = path.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        if block["language"] in {"", "sh", "bash", "console"}:
            for line in block["text"].replace("\\\n", " ").splitlines():
                yield from _pieces(line)
    for piece in CODE.findall(FENCE.sub("", text)):
        if piece.startswith("stepscope "):
            yield from _pieces(piece)


def _pieces(line):
    line = re.split(r"\s{2,}#|\s#\s", line.removeprefix("$ "))[0].strip()
    for piece in re.split(r"\s\|\s|&&|;\s", line):
        found = re.match(r"(?:[A-Z_]+=\S+ |srun |\.venv/bin/|python -m )*(stepscope\s.*)", piece.strip())
        if found:
            yield re.split(r" [<>] | 2>", found[1])[0]


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in PAGES
        if path.parent.name != "formats" and path.name not in {"cli.md", "rules.md", "constants.md"}
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_command_parses(path):
    wrong, sentences = [], set(CODE.findall(prose(path)))
    for command in commands(path):
        if FORM.search(command):
            continue
        words = shlex.split(command)[1:]
        if not words or words[0] in {"-h", "--help", "-V", "--version"}:
            continue
        name = words.pop(0) if words[0] in COMMANDS else "explain"
        if "--" in words:
            words = words[: words.index("--")]
            continue_with = getattr(importlib.import_module(f"stepscope.cli.{name}"), "RUNS_A_COMMAND", False)
            assert continue_with, command
        try:
            make_parser(name).parse(words)
        except SystemExit:
            assert "--help" in words, command
        except StepscopeError as problem:
            # A command named in a sentence may lack its arguments, and no file of an example need exist.
            if problem.exit_code == 2 and not (problem.key in _SHORT and command in sentences):
                wrong.append(f"{command}: {problem}")
    assert not wrong, "\n".join(wrong)
