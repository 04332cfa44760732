"""The generic reader alone, on every real log whose truth the catalogue knows: it agrees, refuses, or differs.

A wrong answer is worse than none, so two floors are kept: how many logs it must agree on, and how many it may at most
get wrong. Steps without times count as refused: the user is told what is in doubt.
"""

from __future__ import annotations

import dataclasses
from functools import cache

import pytest

from stepscope.analysis.explain import explain
from stepscope.catalogue.detect import load
from stepscope.core.errors import InputError
from stepscope.formats._shared import tables
from stepscope.formats._shared.table_columns import find_columns
from stepscope.infer.infer import infer
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read
from stepscope.source.lines import LineSplitter
from tests.corpus.conftest import SHARED
from tests.corpus.test_catalogue_on_real_logs import FILES, name_of

_SAMPLE = 20_000
AGREEING, DIFFERING = 68, 6


def figures(run):
    report = explain(run)
    return {
        "rows": len(run),
        "last": int(run.steps.step[-1]) if len(run) else None,
        "typical": report.ledger.step.typical_s if report.ledger.step else None,
        "wall": report.ledger.wall_s if report.has_steps else None,
    }


def generic(path, known):
    """The figures of a log for which the catalogue has no format `known`: its lines are inferred, or its columns."""
    splitter = LineSplitter()
    lines = [*splitter.feed(path.read_bytes()), *splitter.close()]
    fmt = None if splitter.looks_binary else infer(lines[:_SAMPLE])
    if fmt is not None:
        return figures_of(path, fmt, path.read_bytes())
    return None if splitter.looks_binary else of_table(path, known)


def of_table(path, known):
    """A table by the names of its columns, as any table is read that no trainer is known for."""
    table = tables._table(path.read_bytes())
    columns = table and find_columns(table.names, table.rows)
    name = columns and f"{'jsonl' if table.is_json else 'csv'}_{columns.kind}"
    if name is None or name == known:
        return None
    rows = "\n".join(tables.writer(name)(path.read_bytes()))
    return figures_of(path, dataclasses.replace(load(name), document=None), rows.encode())


def figures_of(path, fmt, data):
    reader = LogReader(paths=[path.name], format=fmt)
    reader.begin_file()
    reader.feed(data)
    reader.end_file()
    return figures(reader.run())


def near(mine, theirs):
    return mine == theirs if mine is None or theirs is None else mine == pytest.approx(theirs, rel=0.05)


@cache
def verdicts():
    found = {}
    for path in FILES:
        try:
            run = read(str(path))
        except InputError:
            continue
        if run.format.inferred is not None:
            continue
        truth, mine = figures(run), generic(path, run.format.name)
        if mine is None and not truth["rows"]:
            found[name_of(path)] = "agrees"  # a run that died before its first step has nothing to infer from
        elif mine is None or (mine["wall"] is None and truth["wall"] is not None):
            found[name_of(path)] = "refused"
        else:
            found[name_of(path)] = "agrees" if all(near(mine[key], truth[key]) for key in truth) else f"{mine} {truth}"
    return found


def test_the_generic_reader_agrees_with_the_catalogue_or_refuses():
    differing = {name: verdict for name, verdict in verdicts().items() if verdict not in {"agrees", "refused"}}
    assert len(differing) <= DIFFERING, differing
    assert list(verdicts().values()).count("agrees") >= AGREEING


def test_a_home_made_log():
    """6 h 34 min, as the notes beside the logs say."""
    report = explain(read(str(SHARED / "logs" / "custom" / "pspnet-elapsed-from-start.txt")))
    assert report.run.format.name == "generic"
    assert len(report.run) == 10_105
    assert report.ledger.step.typical_s == pytest.approx(2.348, rel=0.02)
    assert report.ledger.wall_s == pytest.approx(23_646, rel=0.01)
