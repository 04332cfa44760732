"""Every language says everything, with the same holes, in files that are real Fluent."""

from __future__ import annotations

import re

import pytest
from fluent.runtime import FluentBundle, FluentResource
from fluent.syntax import FluentParser, ast

from stepscope.i18n import Language, languages
from tests.conftest import DEMO, ROOT

FOLDER = ROOT / "src" / "stepscope" / "i18n"


def entries(code):
    resource = FluentParser().parse((FOLDER / f"{code}.ftl").read_text(encoding="utf-8"))
    junk = [entry for entry in resource.body if isinstance(entry, ast.Junk)]
    assert not junk, junk[0].content
    return {entry.id.name: entry for entry in resource.body if isinstance(entry, ast.Message)}


def holes(entry):
    return set(re.findall(r"\$(\w+)", (FluentText.of(entry))))


class FluentText:
    @staticmethod
    def of(entry):
        from fluent.syntax import serialize

        return serialize(ast.Resource(body=[entry]))


def test_there_are_the_four_languages():
    assert set(languages()) >= {"en", "es", "de", "fr"}


@pytest.mark.parametrize("code", languages())
def test_a_language_has_the_masters_messages_holes_and_hints(code):
    master, own = entries("en"), entries(code)
    assert own.keys() == master.keys()
    for key, entry in own.items():
        assert holes(entry) == holes(master[key]), key
        assert bool(entry.attributes) == bool(master[key].attributes), key


@pytest.mark.parametrize("code", languages())
def test_our_reader_says_what_fluent_says(code):
    """The small reader in `i18n/_fluent.py` against the real library, for every message and several plurals."""
    language = Language.load(code)
    bundle = FluentBundle([code], use_isolating=False)
    bundle.add_resource(FluentResource((FOLDER / f"{code}.ftl").read_text(encoding="utf-8")))
    for key, entry in entries(code).items():
        for number in (0, 1, 2, 7):
            numeric = set(re.findall(r"\{\s*\$(\w+) ->", FluentText.of(entry)))
            args = {name: number if name in numeric else f"<{name}>" for name in holes(entry)}
            if "[none]" in FluentText.of(entry):
                args["nearby"] = "none" if number else "x.log"
            message = bundle.get_message(key)
            expected, problems = bundle.format_pattern(message.value, args)
            assert not problems
            assert language.text(key, **args) == expected
            if message.attributes:
                expected, problems = bundle.format_pattern(message.attributes["hint"], args)
                assert not problems
                assert language.hint(key, **args) == expected


def test_every_message_is_said_somewhere():
    """A message that no code says is dead."""
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.html")]
    code = "".join(path.read_text(encoding="utf-8") for path in files)
    code = re.sub(r'"([a-z-]+-)" ~', r'f"\1{', code)  # a key that a template composes
    for key in Language.load("en").keys:
        stem = re.sub(r"-[a-z0-9_]+$", "-", key)
        used = f'"{key}"' in code or f'f"{stem}{{' in code or f'"{key.removeprefix("error-")}"' in code
        assert used or _is_composed(key, code), key


def _is_composed(key, code):
    """Keys built from two parts, such as f"finish-from-{…}" or "number-least-grouped"."""
    return any(f'f"{key[:cut]}{{' in code for cut in range(3, len(key))) or f"'{key}'" in code


@pytest.mark.parametrize("code", languages())
@pytest.mark.parametrize("kind", ["terminal", "markdown", "note"])
def test_the_reference_case_reads_as_it_did(cli, golden, code, kind, monkeypatch):
    monkeypatch.chdir(DEMO)
    status, out, _ = cli(
        "train.log", "--config", "config.py", "--now", "2025-11-15 02:30", "--lang", code, "--format", kind
    )
    assert status == 0
    golden(f"demo-{code}.{kind}.txt", out)


@pytest.mark.parametrize("code", languages())
def test_the_short_note_reads_as_it_did(cli, golden, code, case):
    status, out, _ = cli("eta", *case, "--now", "2025-11-15 02:30", "--lang", code, "--format", "note")
    assert status == 0
    golden(f"demo-{code}.eta.txt", out)


@pytest.mark.parametrize(
    ("code", "texts"),
    {
        "en": ("18,700", "5.6", "3.2%", "03:27"),
        "es": ("18.700", "5,6", "3,2\xa0%", "3:27"),
        "de": ("18.700", "5,6", "3,2\xa0%", "03:27"),
        "fr": ("18\u202f700", "5,6", "3,2\xa0%", "03:27"),
    }.items(),
)
def test_numbers_and_times_are_the_languages_own(code, texts):
    import datetime as dt

    language = Language.load(code)
    moment = dt.datetime(2025, 11, 15, 3, 26, 40)
    said = (language.number(18700), language.number(5.6, 1), language.percent(0.0321), language.clock(moment, moment))
    assert said == texts


def test_a_line_of_the_report_is_never_wider_than_the_terminal(cli, case):
    for code in languages():
        _, out, _ = cli(*case, "--lang", code)
        assert max(len(line) for line in out.splitlines()) <= 80
