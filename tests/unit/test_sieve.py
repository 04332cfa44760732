"""Patterns that are searched in many lines at once: each stays on its own line, and still finds what it found."""

from __future__ import annotations

import re

import pytest

from stepscope.catalogue.detect import load, suspects
from stepscope.catalogue.order import ORDER
from stepscope.lines.format import match_line
from stepscope.lines.sieve import are_met, certain_chars, needs_of, on_one_line


@pytest.mark.parametrize("name", [name for name, _ in ORDER])
def test_patterns_on_one_line_match_what_they_match_and_no_further(name):
    fmt = load(name)
    texts = [sample.text for sample in fmt.samples]
    for line in fmt.lines:
        own, bound = re.compile(line.pattern), re.compile(on_one_line(line.pattern), re.MULTILINE)
        for text in texts:
            found, same = own.search(text), bound.search(text)
            assert (found is None) == (same is None), (line.pattern, text)
            assert found is None or same is None or found.span() == same.span()
            further = bound.match(f"{text}\n{text}\n\n")
            assert further is None or further.end() <= len(text)


def test_a_class_that_would_run_on_ends_with_its_line():
    pattern = re.compile(on_one_line(r"a[^:]*:|b[\s.]*c|d\W*e|[]\s]f"), re.MULTILINE)
    assert pattern.match("a x\ny:") is None
    assert pattern.match("b .\nc") is None
    assert pattern.match("d\ne") is None
    assert pattern.match("a x:") is not None
    assert pattern.match("b .c") is not None
    assert pattern.match("]f") is not None


def test_blanks_at_the_end_of_a_line_hide_no_match():
    pattern = re.compile(on_one_line(r"[A-Z]\w*:?$"), re.MULTILINE)
    assert [found[0] for found in pattern.finditer("Gone  \nstays here\nOver:\t\n")] == ["Gone  ", "Over:\t"]


@pytest.mark.parametrize("name", [name for name, _ in ORDER])
def test_every_match_has_one_of_the_certain_characters(name):
    fmt = load(name)
    for line in fmt.lines:
        chars = certain_chars(line.pattern)
        for sample in fmt.samples:
            found = re.search(line.pattern, sample.text)
            assert found is None or chars is None or chars.intersection(found[0]), (line.pattern, sample.text)


@pytest.mark.parametrize(
    ("pattern", "chars"),
    [
        (r"(?:[a-z_]\w*\.)*[A-C]\w*:", ":"),
        (r"(?:#.*|x{2,3}|[yz]+)", "#xyz"),
        (r"a?b*[^c]\d", None),
        (r"(?:a|b?)", None),
        (r"(?i)done", None),
    ],
)
def test_the_fewest_certain_characters_are_found(pattern, chars):
    assert certain_chars(pattern) == (None if chars is None else frozenset(chars))


@pytest.mark.parametrize("name", [name for name, _ in ORDER])
def test_every_match_has_what_its_pattern_needs(name):
    fmt = load(name)
    for sample in fmt.samples:
        for line in fmt.lines:
            found = re.search(line.pattern, sample.text)
            assert found is None or are_met(needs_of(line.pattern), sample.text), (line.pattern, sample.text)
        if fmt.document is None and match_line(fmt, sample.text) is not None and sample.kind in {"step", "evaluation"}:
            assert name in {own.name for own in suspects(sample.text)}, sample.text


def test_a_format_is_not_even_loaded_for_one_of_its_words():
    """`: ` is in each row of YOLO, and in most lines of all others; a row of YOLO has `/` and `%`, too."""
    names = {fmt.name for fmt in suspects("step 500: train loss 5.6502, val loss 5.6834")}
    assert "nanogpt" in names
    assert not names & {"yolo", "ultralytics", "litgpt", "sb3_table", "nnunet", "colbert"}
    assert needs_of(r"(?P<step>\d+)/(?P<total>\d+): (?:done|over) \d+%") == (("done", "over"), (": ",), ("%",), ("/",))
