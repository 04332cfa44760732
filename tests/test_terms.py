"""One word per idea, one form of address, and plain English: what the languages' files, the docs and the help say."""

from __future__ import annotations

import ast
import html
import re
import tomllib

import pytest

from stepscope.i18n import Language, languages
from tests.conftest import ROOT

TERMS = tomllib.loads((ROOT / "tests" / "terms.toml").read_text(encoding="utf-8"))
# Words of section "voice" of the house style, as regular expressions: what to write is plain technical English.
NEVER = {
    r"\bforetold\b|\bforetells?\b": "forecast",
    r"\banew\b": "again",
    r"\bbefell\b|\bbefallen\b": "happened to",
    r"\bbeside the clock\b": "outside the clock",
    r"\bwhoever\b": "who",
    r"\bnobody['’]s\b": "no one's",
    r"\bwhatever is\b": "what is",
    r"\btime stamps?\b": "timestamp",
}
HOLE = re.compile(r"\{ \$\w+( ->)?( \})?")
COMMAND = re.compile(r"stepscope [a-z]+( [a-z]+)?|--[a-z-]+")
NAMES = frozenset({"suggest-groups"})  # lists names of values, which no language translates
# What is code or said by somebody else.
QUOTED = re.compile(r"```.*?```|`[^`\n]*`|“[^”]*”|«[^»]*»|„[^“]*“", re.DOTALL)
PROSE = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md")]
)


def messages(code):
    """Every message of a language: its key, and its text as in the file without what is code."""
    language = Language.load(code)
    for key in sorted(language.keys - NAMES):
        yield key, COMMAND.sub("", QUOTED.sub("", language.source(key).partition(" = ")[2]))


def finds(pattern, text):
    """Where a pattern of the table matches; holes count only for patterns that name one."""
    return re.search(pattern, text if r"\{" in pattern else HOLE.sub("", text))


@pytest.mark.parametrize("code", languages())
def test_a_language_has_one_word_for_each_idea(code):
    found = [
        f"{key}: {match.group()!r}, rather: {instead}"
        for key, text in messages(code)
        for pattern, instead in TERMS[code]["never"].items()
        if (match := finds(pattern, text)) is not None
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("code", languages())
def test_the_terms_themselves_are_found(code):
    """A pattern that matches nothing written wrongly guards nothing: each finds the first example of its own words."""
    wrong = {
        "en": "time stamp, the card",
        "es": "el registro, la tarjeta",
        "de": "die Karte, der Rang",
        "fr": "le rang",
    }
    assert any(re.search(pattern, wrong[code]) for pattern in TERMS[code]["never"])


def docstrings(path):
    """The docstrings of a module: they are the help, the pages of causes and rules, or read by who changes it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node, clean=False)
            if text:
                yield getattr(node, "lineno", 1), text


def test_the_docs_and_the_readme_are_in_plain_words():
    found = []
    for path in PROSE:
        text = QUOTED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), path.read_text(encoding="utf-8"))
        found += _found(text, str(path.relative_to(ROOT)))
    assert not found, "\n".join(found)


def test_docstrings_are_in_plain_words():
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for line, text in docstrings(path):
            found += _found(text, f"{path.relative_to(ROOT)}:{line}")
    assert not found, "\n".join(found)


def _found(text, place):
    return [
        f"{place}: {match.group()!r}, rather: {instead}"
        for pattern, instead in NEVER.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]


ENGLISH = re.compile(r"\b(the|of|is|are|with|from|which|this|and|were|has|not|each|time)\b")


@pytest.mark.parametrize("code", [code for code in languages() if code != "en"])
@pytest.mark.parametrize("kind", ["html", "terminal", "markdown", "note"])
def test_no_english_is_left_on_a_translated_page(cli, case, code, kind):
    """Quoted lines, commands and settings stay as they are; every sentence of ours is in the language asked for."""
    more = ["--full"] if kind == "terminal" else []
    _, out, _ = cli(*case, *more, "--lang", code, "--format", kind)
    out = re.sub(r"<(script|style|code|pre)\b.*?</\1>|<[^>]+>", "\n", out, flags=re.DOTALL)
    out = re.sub(r"^---\n.*?^---\n", "", out, flags=re.DOTALL | re.MULTILINE)
    text = COMMAND.sub("", QUOTED.sub("", html.unescape(out)))
    assert not [line for line in text.splitlines() if ENGLISH.search(line) and "python -u" not in line]
