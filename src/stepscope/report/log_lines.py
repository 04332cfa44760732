"""The lines of the log that figures came from, as far as they are kept or can be looked up: bounded, secrets masked."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from stepscope.analysis.quotes import MOST_LINES
from stepscope.analysis.report import Report
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.report.templating import LineLinks

_MOST_CHARS = 300
_MOST_IN_ALL = 90_000
# Several parts of a page ask for the lines of the same report.
_made: WeakKeyDictionary[Report, list[dict[str, Any]]] = WeakKeyDictionary()


def log_lines(report: Report) -> list[dict[str, Any]]:
    """Lines in the order of the log, each with why it is here: `step`, `event`, `end`, `unread` or `other`.

    Of very many, those about the end and about the costliest steps stay, then the last events, then other steps.
    """
    if report not in _made:
        _made[report] = _choose(report)
    return _made[report]


def line_links(report: Report, language: Language) -> LineLinks:
    """Makes links of the lines that a sentence names."""
    return LineLinks({one["line"] for one in log_lines(report)}, language)


def _choose(report: Report) -> list[dict[str, Any]]:
    run = report.run
    steps = _steps(report)
    kinds = {line: ("step" if line in steps else "other", text) for line, text in report.quoted.items()}
    kinds |= {line: ("event", text) for line, text in run.excerpts.items()}
    kinds |= {line: ("unread", text) for line, text in run.first_unread}
    kinds |= {notice.line: ("end", notice.text) for notice in run.notices}
    wanted = [notice.line for notice in run.notices[-MOST_LINES // 4 :]]
    wanted += [line for slow in report.ledger.slow[: MOST_LINES // 4] for line in (slow.line, *slow.evidence_lines)]
    wanted += [line for line, _ in run.first_unread]
    wanted += sorted((line for line, (kind, _) in kinds.items() if kind == "event"), reverse=True)[: MOST_LINES // 2]
    wanted += [*report.quoted, *sorted(kinds, reverse=True)]
    found: dict[int, dict[str, Any]] = {}
    chars = 0
    for line in dict.fromkeys(line for line in wanted if line in kinds):
        kind, text = kinds[line]
        shown = redact(text, _MOST_CHARS)
        chars += len(shown)
        if len(found) == MOST_LINES or chars > _MOST_IN_ALL:
            break
        found[line] = {"line": line, "kind": kind, "step": steps.get(line), "text": shown}
    return [found[line] for line in sorted(found)]


def _steps(report: Report) -> dict[int, int]:
    """The steps of the lines that are quoted."""
    lines = report.run.steps.line
    rows = np.flatnonzero(np.isin(lines, list(report.quoted)))
    return dict(zip(lines[rows].tolist(), report.run.steps.step[rows].tolist(), strict=True))
