"""The rules for rows: each does what its samples say, line by line and in bulk, and nothing else would."""

from __future__ import annotations

import pkgutil

import pytest

from stepscope.reading import assembler, rules
from stepscope.reading.bulk import target
from stepscope.reading.log_reader import LogReader
from tests.fuzz.test_laws import columns

RULES = {rule.__name__.rpartition(".")[2]: rule for rule in rules.RULES}
SAMPLES = [
    pytest.param(rule, sample, id=f"{name}-{index}")
    for name, rule in RULES.items()
    for index, sample in enumerate(rule.SAMPLES)
]


def read(lines, *, in_bulk):
    data = "\n".join(lines).encode() + b"\n"
    reader = LogReader(paths=["x"], settle_bytes=1 if in_bulk else len(data) + 1)
    reader.begin_file()
    reader.feed(data)
    reader.end_file()
    return reader.run()


def test_every_file_of_the_folder_is_a_rule_in_the_order():
    files = {module.name for module in pkgutil.iter_modules(rules.__path__) if not module.name.startswith("_")}
    assert files == set(RULES)


@pytest.mark.parametrize(("rule", "sample"), SAMPLES)
def test_what_is_left_of_a_sample(rule, sample):  # noqa: ARG001
    run = read(sample.lines, in_bulk=False)
    assert tuple(run.steps.step.tolist()) == sample.steps
    assert len(run.segments) == sample.num_segments
    assert columns(read(sample.lines, in_bulk=True)) == columns(run)


@pytest.mark.parametrize(("rule", "sample"), SAMPLES)
def test_a_sample_needs_its_rule(rule, sample, monkeypatch):
    """Without the rule the Run is another one: no rule is there in vain."""
    with_it = columns(read(sample.lines, in_bulk=False))
    rest = tuple(other for other in rules.RULES if other is not rule)
    monkeypatch.setattr(assembler, "RULES", rest)
    monkeypatch.setattr(target, "RULES", rest)
    try:
        without_it = columns(read(sample.lines, in_bulk=False))
    except IndexError:  # no segment ever begins
        without_it = None
    assert without_it != with_it
