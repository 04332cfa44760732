"""The timeline in MLPerf's logging format: `:::MLLOG {json}` lines with intervals for blocks, evaluations, checkpoints.

Times are milliseconds since the epoch where the log's clock time is known, else since the run's first.
"""

from __future__ import annotations

import json

from stepscope.analysis.report import Report
from stepscope.i18n import Language
from stepscope.ledger.timeline import timeline

_KEYS = {"step": "block", "evaluation": "eval", "checkpoint": "checkpoint", "warmup": "init"}


def render(report: Report, language: Language) -> str:
    """The lines; `language` is not used."""
    del language
    pieces = timeline(report.run, report.ledger)
    length = pieces[-1].start_s + pieces[-1].seconds if pieces else 0.0
    zero = report.moment.timestamp() - length if report.moment is not None else 0.0
    lines = [_line("INTERVAL_START", "run_start", zero, {})]
    for piece in pieces:
        key = _KEYS.get(piece.phase, piece.phase)
        where = {"first_step_num": piece.first_step, "step_num": piece.last_step}
        lines.append(_line("INTERVAL_START", f"{key}_start", zero + piece.start_s, where))
        lines.append(_line("INTERVAL_END", f"{key}_stop", zero + piece.start_s + piece.seconds, where))
    lines.append(_line("INTERVAL_END", "run_stop", zero + length, {}))
    return "\n".join(lines) + "\n"


def _line(kind: str, key: str, seconds: float, where: dict[str, int]) -> str:
    event = {
        "namespace": "stepscope",
        "time_ms": round(seconds * 1000),
        "event_type": kind,
        "key": key,
        "value": None,
        "metadata": where,
    }
    return ":::MLLOG " + json.dumps(event)
