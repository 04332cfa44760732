"""The catalogue of formats proves itself by its samples."""

from __future__ import annotations

import pytest

from stepscope.catalogue.detect import catalogue
from stepscope.lines.format import convert, match_line
from stepscope.lines.match import claim

SAMPLES = [(fmt, sample) for fmt in catalogue() for sample in fmt.samples]


@pytest.mark.parametrize(("fmt", "sample"), SAMPLES, ids=lambda item: getattr(item, "text", getattr(item, "name", "")))
def test_a_sample_is_claimed_with_its_values(fmt, sample):
    claim = match_line(fmt, sample.text)
    if sample.kind is None:
        assert claim is None, f"claimed as {fmt.lines[claim[0]].kind}"
        return
    assert claim is not None, "not claimed"
    index, match = claim
    assert fmt.lines[index].kind == sample.kind
    groups = match.groupdict()
    for name, expected in sample.values.items():
        raw = groups[name]
        assert (None if raw is None else convert(name, raw)) == expected


@pytest.mark.parametrize("fmt", catalogue(), ids=lambda fmt: fmt.name)
def test_every_line_has_a_sample_and_there_is_a_near_miss(fmt):
    claimed = {match_line(fmt, sample.text)[0] for sample in fmt.samples if sample.kind is not None}
    assert claimed == set(range(len(fmt.lines)))
    assert any(sample.kind is None for sample in fmt.samples)


@pytest.mark.parametrize("fmt", catalogue(), ids=lambda fmt: fmt.name)
def test_a_format_says_where_it_comes_from_and_what_its_clock_means(fmt):
    assert fmt.url.startswith("https://")
    assert fmt.clock.note
    assert fmt.clock.covers in {"step", "window", "cumulative", "stamp"}


@pytest.mark.parametrize(("fmt", "sample"), SAMPLES, ids=lambda item: getattr(item, "text", getattr(item, "name", "")))
def test_a_sample_is_claimed_behind_a_prefix(fmt, sample):
    """A shell's or launcher's prefix changes nothing about a line."""
    if sample.kind is None:
        return
    for before in ("2025-11-15 02:30:07,123 ", "[rank0]: ", "1794768092.168481\t", "[2025-11-15T02:30:07Z] [rank3]: "):
        found = claim(fmt, before + sample.text)
        assert found.which is not None
        assert fmt.lines[found.which].kind == sample.kind


@pytest.mark.parametrize("fmt", catalogue(), ids=lambda fmt: fmt.name)
def test_which_line_was_last_does_not_matter(fmt):
    """Lines of one format exclude each other: whichever is tried first, a sample is the same kind of line."""
    for sample in fmt.samples:
        kinds = set()
        for first in range(len(fmt.lines)):
            found = match_line(fmt, sample.text, first)
            kinds.add(None if found is None else fmt.lines[found[0]].kind)
        assert kinds == {sample.kind}, sample.text
