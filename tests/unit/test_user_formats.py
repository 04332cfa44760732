"""Formats that a user teaches, those that other packages bring, and the command that helps to write one."""

from __future__ import annotations

import dataclasses
import json
import random
import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from stepscope.analysis.explain import explain
from stepscope.catalogue import detect, taught, user_formats
from stepscope.catalogue.flat_keys import FLAT_KEYS, flat_value, with_flat_values
from stepscope.catalogue.partial_match import give_up_at
from stepscope.catalogue.suggest import quoted, to_toml
from stepscope.core.errors import InputError
from stepscope.infer.infer import infer
from stepscope.lines.format import Line
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read
from tests.unit.foreign import NON_LOGS
from tests.unit.invented import STYLES

GOOD = r"""
title = "Mine"

[clock]
covers = "step"

[[lines]]
kind = "step"
pattern = 'turn (?P<step>\d+) cost (?P<loss>[\d.]+) clock (?P<dur_ms>\d+)'
sample = "turn 12 cost 3.25 clock 170"

[[lines]]
kind = "evaluation"
pattern = 'judged: (?P<val_loss>[\d.]+)'
"""
LOG = "\n".join(
    f"turn {i} cost 3.{i:03d} clock {170 + i % 5}" + ("\njudged: 3.1" if i % 20 == 19 else "") for i in range(60)
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder of the user's own formats, and nothing left over from other tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(taught, "_named", {})
    own = tmp_path / "config" / "stepscope" / "formats"
    own.mkdir(parents=True)
    return own


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def ask(cli):
    return lambda *arguments: Answer(*cli(*arguments))


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_format_in_the_users_folder_is_read(folder, tmp_path):
    write(folder / "mine.toml", GOOD)
    run = read(write(tmp_path / "a.log", LOG))
    assert (run.format.name, run.format.title) == ("mine", "Mine")
    assert len(run) == 60
    assert run.events.kind.count("evaluation") == 3
    assert explain(run).ledger.step.typical_s == pytest.approx(0.172, rel=0.02)


def test_a_format_file_on_the_command_line(tmp_path, ask):
    log, taught = write(tmp_path / "a.log", LOG), write(tmp_path / "mine.toml", GOOD)
    out = ask(log, "--format-file", taught, "--format", "json")
    assert out.code == 0
    assert '"format": "mine"' in out.out
    assert '"inferred": null' in out.out


def test_taught_formats_are_asked_before_the_catalogue(folder, tmp_path):
    pattern = r"iter (?P<step>\d+): loss (?P<loss>[\d.]+), time (?P<dur_ms>[\d.]+)ms"
    write(
        folder / "fork.toml",
        GOOD.replace(r"turn (?P<step>\d+) cost (?P<loss>[\d.]+) clock (?P<dur_ms>\d+)", pattern).replace(
            'sample = "turn 12 cost 3.25 clock 170"', ""
        ),
    )
    log = "\n".join(f"iter {i}: loss 2.1, time 100.00ms, mfu 3.00%" for i in range(20))
    assert read(write(tmp_path / "a.log", log)).format.name == "fork"


def test_a_taught_format_may_be_json(folder, tmp_path):
    """Even where a format of the catalogue would take the file for a table."""
    text = GOOD.replace(
        r"turn (?P<step>\d+) cost (?P<loss>[\d.]+) clock (?P<dur_ms>\d+)",
        r'\{"step": (?P<step>\d+), "seconds": (?P<dur_s>[\d.]+)',
    )
    write(folder / "rows.toml", text.replace('sample = "turn 12 cost 3.25 clock 170"', ""))
    log = "\n".join(f'{{"step": {i}, "seconds": 0.5}}' for i in range(20))
    assert read(write(tmp_path / "a.jsonl", log)).format.name == "rows"


@pytest.mark.parametrize(
    ("change", "problem", "row"),
    [
        (("title = ", "titel = "), "format-key-unknown", 2),
        (('title = "Mine"', ""), "format-key-missing", 1),
        (('title = "Mine"', "title = 3"), "format-key-type", 2),
        (('covers = "step"', 'covers = "epoch"'), "format-bad-value", 5),
        (('kind = "evaluation"', 'kind = "evaluate"'), "format-bad-value", 13),
        (("<loss>", "<lost>"), "format-unknown-group", 9),
        ((r"turn (?P<step>\d+)", r"turn (?P<step>\d+"), "format-bad-pattern", 9),
        ((r"turn (?P<step>\d+)", r"(?:\w+\s*)+(?P<step>\d+)"), "format-slow-pattern", 9),
        (("turn 12 cost", "turn 12 costs"), "format-sample-missed", 10),
        (('covers = "step"', "covers = step"), "format-file-syntax", 5),
        (('kind = "step"', 'kind = "chatter"'), "format-no-step", 8),
        (("[clock]", "[clocks]"), "format-key-unknown", 4),
        (('pattern = \'judged', 'patern = \'judged'), "format-key-unknown", 14),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_file_line_and_what_to_do(tmp_path, ask, change, problem, row):
    assert change[0] in GOOD
    path = write(tmp_path / "mine.toml", GOOD.replace(*change, 1))
    with pytest.raises(InputError) as caught:
        user_formats.read_format(tmp_path / "mine.toml")
    assert (caught.value.key, caught.value.place) == (problem, f"{path}:{row}")
    for language in ("en", "es", "de", "fr"):
        out = ask(write(tmp_path / "a.log", LOG), "--format-file", path, "--lang", language)
        assert out.code == 1
        assert f"[{problem}]" in out.err
        assert len(out.err.splitlines()) >= 3


def test_a_missing_format_file(tmp_path, ask):
    out = ask(write(tmp_path / "a.log", LOG), "--format-file", str(tmp_path / "none.toml"))
    assert out.code == 1
    assert "no-such-format-file" in out.err


def test_the_sample_that_is_missed_says_the_column(tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD.replace("clock 170", "clack 170"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        user_formats.read_format(tmp_path / "mine.toml")
    assert caught.value.args_for_text["column"] == len("turn 12 cost 3.25 cl") + 1


@pytest.mark.parametrize(
    ("pattern", "bounded"),
    [
        (r"a.*b", r"a.{0,200}b"),
        (r"a.+?b", r"a.{1,200}?b"),
        (r"a\.*b[.*]", r"a\.*b[.*]"),
        (r"[^.]*.*", r"[^.]*.{0,200}"),
        (r"[]\].*].*", r"[]\].*].{0,200}"),
    ],
)
def test_a_dot_that_repeats_gets_an_end(pattern, bounded):
    assert user_formats.bound_repeats(pattern) == bounded


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:\w+\s?)*(?P<step>\d+)x",
        r"(?P<step>\d+)(?:a|a)*(?:a?){20}a{20}b",
        r"it (?P<step>\d+) [\w ]*\w* *[\w ]* *t=",
        r"(?P<step>\d+)\s*\s*x",
    ],
)
def test_a_pattern_that_could_take_forever_is_refused(tmp_path, pattern):
    text = GOOD.replace(r"turn (?P<step>\d+)", pattern, 1)
    with pytest.raises(InputError) as caught:
        user_formats.read_format(Path(write(tmp_path / "mine.toml", text)))
    assert caught.value.key == "format-slow-pattern"


@pytest.mark.parametrize(
    "pattern",
    [
        r"turn (?P<step>\d+)",
        r".*turn (?P<step>\d+)",
        r".*epoch (?P<epoch>\d+).*turn (?P<step>\d+).*",
        r"(?:\w{1,9} )*turn (?P<step>\d+)",
        r"(?:\[\w+\]\s*)?turn\s+(?P<step>\d+)\s*",
    ],
)
def test_patterns_as_people_write_them_are_not(tmp_path, pattern):
    text = GOOD.replace(r"turn (?P<step>\d+)", pattern, 1).replace('sample = "turn 12 cost 3.25 clock 170"', "")
    assert user_formats.read_format(Path(write(tmp_path / "mine.toml", text))).lines


def build(fmt, text):
    reader = LogReader(paths=["a.log"], format=fmt)
    reader.begin_file()
    reader.feed(text.encode())
    reader.end_file()
    return reader.run()


@pytest.mark.parametrize("name", STYLES)
def test_what_is_suggested_reads_the_log_alike(name, tmp_path):
    """Suggest, teach, read: the same rows, events and settings as by structure alone."""
    text = STYLES[name]().text
    inferred = infer(text.replace("\r", "\n").splitlines())
    (tmp_path / "mine.toml").write_text(to_toml(inferred, title="mine", say=str), encoding="utf-8")
    taught = user_formats.read_format(tmp_path / "mine.toml")
    mine, theirs = build(inferred, text), build(taught, text)
    for column in ("step", "dur_ns", "span", "loss", "line", "t_ns", "segment"):
        assert np.array_equal(getattr(mine.steps, column), getattr(theirs.steps, column), equal_nan=column == "loss")
    assert mine.events.kind == theirs.events.kind
    assert mine.settings == theirs.settings
    assert mine.num_unread == theirs.num_unread


def test_the_command_suggests_what_the_flag_reads(tmp_path, ask):
    log = write(tmp_path / "a.log", STYLES["evaluations_and_saves"]().text)
    suggested = ask("formats", "try", log, "--suggest")
    assert suggested.code == 0
    taught = write(tmp_path / "mine.toml", suggested.out)
    first, second = (json.loads(ask(log, *flags, "--format", "json").out) for flags in ((), ("--format-file", taught)))
    assert first["source"]["format"] == "generic"
    assert second["source"]["format"] == "mine"
    # What a user states is surer than what was inferred, and that is the only difference.
    assert second["reading"]["confidence"] >= first["reading"]["confidence"]
    of_the_log = [key for key in first if key not in {"source", "reading"}]
    assert {key: first[key] for key in of_the_log} == {key: second[key] for key in of_the_log}


def test_a_doubt_is_settled_by_whoever_knows(tmp_path, ask):
    log = write(
        tmp_path / "a.log",
        "\n".join(f"step {i * 100} loss {5 - i / 100:.3f} time {41 + i % 3 / 10:.2f}" for i in range(1, 50)),
    )
    assert ask(log).code == 3
    suggested = ask("formats", "try", log, "--suggest").out
    assert "figure_is_total = false" in suggested
    taught = write(tmp_path / "mine.toml", suggested.replace("figure_is_total = false", "figure_is_total = true"))
    out = ask(log, "--format-file", taught, "--format", "json")
    assert out.code == 0
    assert '"typical_s": 0.41' in out.out


@pytest.mark.parametrize("make", NON_LOGS[:6], ids=lambda make: make.__name__)
def test_what_is_no_log_gets_a_form_to_fill_in(tmp_path, ask, make):
    log = write(tmp_path / "a.log", make(random.Random(3)))
    out = ask("formats", "try", log, "--suggest")
    assert out.code == 0
    assert out.err
    assert user_formats.read_format(tmp_path / write(tmp_path / "mine.toml", out.out)).lines[0].kind == "step"


def test_trying_a_file_says_who_reads_it_and_where_others_give_up(tmp_path, ask):
    log = write(tmp_path / "a.log", "\n".join(f"iter {i}: loss {3.1:.4f} took {170 + i % 3}ms" for i in range(30)))
    out = ask("formats", "try", log)
    assert out.code == 0
    assert out.out.startswith("Read as generic: 30 iterations.")
    assert "nanogpt: 0 of 30 lines matched" in out.out
    assert "gave up at line 1, column" in out.out


def test_trying_what_is_no_log(tmp_path, ask):
    assert ask("formats", "try", write(tmp_path / "a.txt", "some prose\n" * 9)).code == 1


def test_suggest_needs_a_file(ask):
    assert ask("formats", "--suggest").code == 2


def test_where_a_pattern_gives_up():
    pattern = r"iter (?P<step>\d+): loss (?P<loss>[\d.]+)"
    assert give_up_at(pattern, "iter 12: loss 3.1") == 17
    assert give_up_at(pattern, "iter 12: lost 3.1") == len("iter 12: los")
    assert give_up_at(pattern, "step 12") == 0


def test_every_flat_key_sets_a_field_of_a_record(tmp_path):
    plain = user_formats.read_format(tmp_path / write(tmp_path / "plain.toml", GOOD))
    for key in FLAT_KEYS:
        before = flat_value(plain, key)
        if key in {"setting_names", "defaults"}:
            value, text = {"a": "b"}, '{ a = "b" }'
        elif isinstance(before, int) and not isinstance(before, bool):
            value, text = 1, "1"
        else:
            value, text = (False, "false") if before is True else (True, "true")
        taught = user_formats.read_format(tmp_path / write(tmp_path / "mine.toml", f"{key} = {text}\n{GOOD}"))
        assert flat_value(taught, key) == value
        assert with_flat_values(taught, {key: before}) == dataclasses.replace(plain, name="mine")


@pytest.mark.parametrize("text", ["plain", "it's", 'a "b"', "tab\t", "back\\slash", "é ü 漢", "\x1b[0m"])
def test_any_text_survives_toml(text):
    import tomllib

    assert tomllib.loads(f"x = {quoted(text)}")["x"] == text


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Another package that brings a format."""
    (tmp_path / "turns.py").write_text(
        "from stepscope.formats import Clock, Format, Line\n"
        "FORMAT = Format(title='Turns', url='', samples=(), clock=Clock('step', (), ''),\n"
        "    lines=(Line('step', r'turn (?P<step>\\d+) cost (?P<loss>[\\d.]+) clock (?P<dur_ms>\\d+)'),))\n"
    )
    info = tmp_path / "turns-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: turns\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[stepscope.formats]\nturns = turns:FORMAT\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    detect.plugins.cache_clear()
    yield tmp_path
    detect.plugins.cache_clear()
    sys.modules.pop("turns", None)


def test_a_format_of_another_package_is_read(package, ask):
    run = read(write(package / "a.log", LOG))
    assert run.format.name == "turns"
    assert len(run) == 60
    assert "turns" in ask("formats").out
    assert "Turns" in ask("formats", "show", "turns").out


def test_a_broken_package_is_named(package, ask):
    (package / "turns.py").write_text("raise RuntimeError('no')\n")
    out = ask(write(package / "a.log", "nobody knows\n" * 9))
    assert out.code == 1
    assert "broken-plugin" in out.err
    assert "turns" in out.err


def test_every_value_that_a_line_may_hold_can_be_taught():
    """The docstring of `Line` is the list; names in it that are no values are listed here."""
    named = set(re.findall(r"`(\w+)`", Line.__doc__))
    assert named - user_formats.GROUPS == {"sets", "start", "resume", "weak", "events_follow_step"}
