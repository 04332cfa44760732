"""Each real log with something done to it that leaves its times as they are: read as before, or said to be unsure."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

from stepscope.analysis.explain import explain
from stepscope.core.errors import InputError
from stepscope.reading.log_reader import LogReader
from tests.corpus.mutations import MUTATIONS
from tests.corpus.test_catalogue_on_real_logs import FILES, name_of

_MAX_BYTES = 200_000  # of each log, from its start: enough to recognise it
_SURE = 0.5
_NEAR = 0.1
# Read as a document only from its first byte on; behind another line its events have another clock.
KNOWN = {"mlperf-mllog/nemo-llama2-lora-h100.txt"}


@cache
def text_of(path):
    data = path.read_bytes()[:_MAX_BYTES]
    try:
        return data.decode("utf-8").replace("\r\n", "\n").rpartition("\n")[0] + "\n"
    except UnicodeDecodeError:
        return None  # not text, or another encoding: other suites


def figures(text):
    """Last step and typical step as read, and how sure the reading is; None where nothing was read."""
    reader = LogReader(paths=["mutated.log"])
    reader.begin_file()
    reader.feed(text.encode())
    try:
        reader.end_file()
        report = explain(reader.run())
    except InputError:
        return None
    if not report.has_steps or report.ledger.step is None:
        return None
    return int(report.run.steps.step[-1]), report.ledger.step.typical_s, report.reading.confidence


@cache
def figures_of(path):
    """The same of a log as it is, worked out once for all mutations."""
    text = text_of(path)
    return figures(text) if text else None


def is_same(before, after):
    return abs(after[0] - before[0]) <= max(1, 0.03 * before[0]) and after[1] == pytest.approx(before[1], rel=_NEAR)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_a_mutated_log_is_read_as_before_or_with_doubt(mutation):
    wrong, seen = [], 0
    for path in FILES:
        before = figures_of(path)
        if before is None or before[2] <= _SURE:
            continue
        seen += 1
        after = figures(mutation(text_of(path)))
        if after is not None and not is_same(before, after) and after[2] > _SURE:
            wrong.append((name_of(path), before, after))
    assert seen > 0
    assert {name for name, *_ in wrong} <= KNOWN, wrong


def test_every_mutation_changes_some_log():
    texts = [text for path in itertools.islice(FILES, 40) if (text := text_of(path))]
    assert all(any(mutation(text) != text for text in texts) for mutation in MUTATIONS)
