"""The catalogue of formats proves itself by its samples."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from stepscope import formats
from stepscope.catalogue.detect import catalogue
from stepscope.lines.format import Clock, Controls, Document, EvaluationHabits, Habits, Layout, convert, match_line
from stepscope.lines.match import claim

RECORDS = {
    "clock": Clock,
    "layout": Layout,
    "habits": Habits,
    "habits.evaluation": EvaluationHabits,
    "controls": Controls,
    "document": Document,
}
# What only a format worked out from a log has.
_INFERRED = {"bars_are_epochs", "bars_show_ends", "counts_lines", "is_mean"}
FIELDS = [(place, name) for place, record in RECORDS.items() for name in record._fields if name not in _INFERRED]
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


@pytest.mark.parametrize(("place", "name"), FIELDS)
def test_every_field_is_declared_by_some_format(place, name):
    """A switch that no format sets is dead, and what is said by it is said of every trainer."""
    default = RECORDS[place]._field_defaults.get(name, ...)
    assert any(value != default for fmt in catalogue() for value in _values(fmt, place, name))


def _values(fmt, place, name):
    """What a format has in that field, as a list of one; empty where it does not have the record at all."""
    record = fmt
    for part in place.split("."):
        record = getattr(record, part)
    return [] if record is None else [getattr(record, name)]


def test_a_habit_that_a_format_does_not_declare_is_unknown():
    assert set(Habits()._replace(evaluation=None)) == set(EvaluationHabits()) == {None}


@pytest.mark.parametrize("path", sorted(Path(formats.__path__[0]).rglob("*.py")), ids=lambda path: path.stem)
def test_records_are_written_with_keywords(path):
    """They are named tuples, which cannot ask for it themselves."""
    names = {record.__name__ for record in RECORDS.values()}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "stepscope.lines.format"
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names & imported:
            assert not node.args, f"line {node.lineno}"
