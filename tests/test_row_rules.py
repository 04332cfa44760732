"""The rules for rows: each does what its samples say, line by line and in bulk, and nothing else would."""

from __future__ import annotations

import copy
import pkgutil

import numpy as np
import pytest

from stepscope.reading import growing_run, rules
from stepscope.reading.log_reader import LogReader
from stepscope.reading.rows import RowBatch
from stepscope.run.model import NO_TIME
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
    for name in ("RULES", "WITHOUT_CLOCK", "FOR_ROWS_THAT_GO_ON", "FOR_ROWS_THAT_GO_BACK"):
        monkeypatch.setattr(rules, name, tuple(other for other in getattr(rules, name) if other is not rule))
    try:
        without_it = columns(read(sample.lines, in_bulk=False))
    except IndexError:  # no segment ever begins
        without_it = None
    assert without_it != with_it


def as_batch(row):
    """A row as it would come from reading in bulk, without its timestamp: those are placed before rules are asked."""
    figure = None if row.figure == NO_TIME else np.array([row.figure])
    return RowBatch(np.array([row.step]), np.array([row.line]), figure, *[None] * 11)


@pytest.mark.parametrize(("rule", "sample"), SAMPLES)
def test_where_all_rules_are_quiet_all_would_keep_the_row(rule, sample, monkeypatch):
    """The law that lets a batch be taken at once: no verdict and no change of memory."""
    real, seen = growing_run.GrowingRun._append, []

    def spy(self, row):
        state = copy.deepcopy(self.so_far)
        is_quiet = all(other.is_quiet(as_batch(row), state) for other in rules.RULES)
        verdicts = [other.judge(row, state) for other in rules.RULES]
        after = len(state.rows), state.copied_row, state.doubtful, state.writers.num_others
        before = len(self.so_far.rows), self.so_far.copied_row, self.so_far.doubtful, self.so_far.writers.num_others
        assert not is_quiet or (set(verdicts) == {None} and after == before), row
        left_out = [other for other in rules.RULES if other not in rules.rules_for_row(row, self.so_far)]
        assert {verdicts[rules.RULES.index(other)] for other in left_out} <= {None}, row
        seen.append(is_quiet)
        real(self, row)

    monkeypatch.setattr(growing_run.GrowingRun, "_append", spy)
    read(sample.lines, in_bulk=False)
    assert True in seen or rule is RULES["second_writer"]  # once known, it is never quiet
    assert False in seen
