"""The timeline as a table: one row per slice of time."""

from __future__ import annotations

import csv
from io import StringIO

from stepscope.analysis.report import Report
from stepscope.i18n import Language
from stepscope.ledger.timeline import timeline

COLUMNS = ("start_s", "seconds", "phase", "first_step", "last_step")


def render(report: Report, language: Language) -> str:
    """The table as CSV; `language` is not used."""
    del language
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for piece in timeline(report.run, report.ledger):
        row = (f"{piece.start_s:.6f}", f"{piece.seconds:.6f}", piece.phase, piece.first_step, piece.last_step)
        writer.writerow(row)
    return out.getvalue()
