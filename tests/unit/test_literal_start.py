"""The text that every match of a pattern begins with: nothing may be told apart by it that matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.catalogue.detect import catalogue
from stepscope.lines.sieve import literal_start


@pytest.mark.parametrize(
    ("pattern", "start"),
    [
        (r"iter (?P<step>\d+): loss", "iter "),
        (r"\[ITER (\d+)\] x", "[ITER "),
        (r"loss: ?\d", "loss:"),
        (r"abc*d", "ab"),
        (r"abc{0,2}d", "ab"),
        (r"abc+d", "abc"),
        (r"a|b", ""),
        (r"x(?:a|b)", "x"),
        (r"x[|]y", "x"),
        (r"x[]|]y", "x"),
        (r"(?i:abc)", ""),
        (r"\d+ it", ""),
        (r"^abc", ""),
    ],
)
def test_literal_starts(pattern, start):
    assert literal_start(pattern) == start


def test_every_sample_begins_with_the_start_of_its_pattern():
    for fmt in catalogue():
        for line in fmt.lines:
            for sample in fmt.samples:
                if line.regex.match(sample.text):
                    assert sample.text.startswith(literal_start(line.pattern)), (fmt.name, line.pattern)


# Texts for patterns that look around are found by trial, which may take too many.
PATTERNS = sorted(
    {
        line.pattern
        for fmt in catalogue()
        for line in fmt.lines
        if line.kind == "step" and not re.search(r"\(\?[=!<]", line.pattern.replace("(?P<", ""))
    }
)


@given(st.sampled_from(PATTERNS).flatmap(lambda pattern: st.tuples(st.just(pattern), st.from_regex(pattern))))
def test_every_match_begins_with_the_start_of_its_pattern(found):
    pattern, text = found
    match = re.search(pattern, text)
    assert match is not None
    assert text[match.start() :].startswith(literal_start(pattern))
