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

_MAX_BYTES = 140_000  # of each log, from its start: more than is held back until it is recognised
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


def is_same(before, after):
    return abs(after[0] - before[0]) <= max(1, 0.03 * before[0]) and after[1] == pytest.approx(before[1], rel=_NEAR)


def is_held_to(before):
    """Whether a log is read as it is, and surely: else nothing can be said of what is done to it."""
    return before is not None and before[2] > _SURE


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_mutated_log_is_read_as_before_or_with_doubt(path):
    text = text_of(path)
    before = figures(text) if text else None
    if not is_held_to(before) or name_of(path) in KNOWN:
        return
    wrong = {}
    for mutation in MUTATIONS:
        after = figures(mutation(text))
        if after is not None and not is_same(before, after) and after[2] > _SURE:
            wrong[mutation.__name__] = after
    assert not wrong, before


def test_logs_are_held_to_it():
    texts = [text for path in FILES[:8] if (text := text_of(path))]
    assert any(is_held_to(figures(text)) for text in texts)


def test_every_mutation_changes_some_log():
    texts = [text for path in itertools.islice(FILES, 40) if (text := text_of(path))]
    assert all(any(mutation(text) != text for text in texts) for mutation in MUTATIONS)
