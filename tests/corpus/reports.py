"""The real logs as they are read and explained: once for the tests of a log, which come one after the other."""

from __future__ import annotations

from functools import lru_cache

from stepscope.analysis.explain import explain
from stepscope.core.errors import InputError
from stepscope.reading.reader import read

_KEPT = 3  # of the logs that come next in order, none is asked for again


@lru_cache(maxsize=_KEPT)
def _run_or_problem(path):
    try:
        return read(path)
    except InputError as problem:
        return problem


def run_of(path, **_):
    """The Run of one file, to be called like `read`; a file that is no training log raises its error each time."""
    found = _run_or_problem(str(path))
    if isinstance(found, InputError):
        raise found
    return found


@lru_cache(maxsize=_KEPT)
def _report_of(path):
    return explain(run_of(path))


def report_of(path):
    """What Stepscope says of one file, nothing but the log stated."""
    return _report_of(str(path))
