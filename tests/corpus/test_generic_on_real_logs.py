"""The generic reader alone, on every real log whose truth the catalogue knows: it agrees, refuses, or differs.

A wrong answer is worse than none, so two floors are kept: how many logs it must agree on, and how many it may at most
get wrong. Steps without times count as refused: the user is told what is in doubt.
"""

from __future__ import annotations

from functools import cache

import pytest

from stepscope.analysis.explain import explain
from stepscope.core.errors import InputError
from stepscope.infer.infer import infer
from stepscope.reading.log_reader import LogReader
from stepscope.reading.reader import read
from stepscope.source.lines import LineSplitter
from tests.corpus.conftest import SHARED
from tests.corpus.test_catalogue_on_real_logs import FILES, name_of

_SAMPLE = 20_000
AGREEING, DIFFERING = 60, 6


def figures(run):
    report = explain(run)
    return {
        "rows": len(run),
        "last": int(run.steps.step[-1]) if len(run) else None,
        "typical": report.ledger.step.typical_s if report.ledger.step else None,
        "wall": report.ledger.wall_s if report.has_steps else None,
    }


def generic(path):
    splitter = LineSplitter()
    lines = [*splitter.feed(path.read_bytes()), *splitter.close()]
    fmt = None if splitter.looks_binary else infer(lines[:_SAMPLE])
    if fmt is None:
        return None
    reader = LogReader(paths=[path.name], format=fmt)
    reader.begin_file()
    reader.feed(path.read_bytes())
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
        truth, mine = figures(run), generic(path)
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
