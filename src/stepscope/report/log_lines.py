"""The lines of the log that figures came from, as far as reading kept them: bounded, secrets masked."""

from __future__ import annotations

from typing import Any

from stepscope.analysis.report import Report
from stepscope.core.redact import redact

_MOST_LINES = 400
_MOST_CHARS = 300


def log_lines(report: Report) -> list[dict[str, Any]]:
    """Lines in the order of the log, each with why it is here: `step` (a slow one), `event`, `end` or `unread`.

    Of very many, those about the end and about the costliest steps stay, then the last events.
    """
    run = report.run
    kinds: dict[int, tuple[str, str]] = {line: ("step", text) for line, text in report.slow_lines.items()}
    kinds |= {line: ("event", text) for line, text in run.excerpts.items()}
    kinds |= {line: ("unread", text) for line, text in run.first_unread}
    kinds |= {notice.line: ("end", notice.text) for notice in run.notices}
    wanted = [notice.line for notice in run.notices[-_MOST_LINES // 4 :]]
    wanted += [line for slow in report.ledger.slow[: _MOST_LINES // 4] for line in (slow.line, *slow.evidence_lines)]
    wanted += [line for line, _ in run.first_unread] + sorted(kinds, reverse=True)
    kept = list(dict.fromkeys(line for line in wanted if line in kinds))[:_MOST_LINES]
    return [
        {"line": line, "kind": kinds[line][0], "text": redact(kinds[line][1], _MOST_CHARS)} for line in sorted(kept)
    ]
