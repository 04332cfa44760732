"""What the browser gets of the list: a row per run, plain and bounded, hidden characters shown as marks."""

from __future__ import annotations

from typing import Any

from stepscope.core.redact import redact
from stepscope.web.run_list import Changes, ListedRun
from stepscope.web.summary import Summary

_MOST_NAME = 200
# Rows of one answer: the newest are drawn while the others come.
FIRST_ROWS = 80
MOST_ROWS = 1000


def answer(found: Changes, *, is_first: bool = False) -> dict[str, Any]:
    """What has changed, oldest change first, at most so many rows; `more` where the browser is to ask again at once."""
    runs = sorted(found.runs, key=lambda run: run.version)
    most = FIRST_ROWS if is_first else MOST_ROWS
    version, more = found.version, len(runs) > most
    if more:
        runs = runs[:most]  # each row has a version of its own
        version = runs[-1].version
    return {
        "version": version,
        "more": more,
        "rows": [_row(run) for run in runs],
        "gone": found.gone,
        "progress": found.progress._asdict(),
    }


def _row(run: ListedRun) -> dict[str, Any]:
    row = {
        "key": run.key,
        "name": redact(run.name, _MOST_NAME),
        "size": run.size,
        "mtime": run.mtime,
        "files": run.num_files,
        "problem": run.problem,
    }
    return row if run.summary is None else row | about(run.summary)


def about(summary: Summary) -> dict[str, Any]:
    """A summary as the browser gets it: without what only programs ask for."""
    return {name: value for name, value in summary._asdict().items() if name not in {"phases", "tokens_per_s"}}
