"""A fleet's report as one table: a row per cause, host, regression, running run, group and reason not to read."""

from __future__ import annotations

import csv
from io import StringIO

from stepscope.fleet.answer import Amount, FleetReport

COLUMNS = ("kind", "name", "runs", "run_hours", "gpu_hours", "cost", "share", "saves_gpu_hours", "saves_cost", "note")


def render(report: FleetReport) -> str:
    """The table as CSV; hours, shares of 1, empty where unknown."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    good = None if report.goodput is None else report.goodput.by_time.value
    writer.writerow(_row("total", report.store, report.counts.timed, report.total, share=good, note="goodput"))
    writer.writerow(_row("lost", "", report.counts.timed, report.lost))
    if report.first is not None:
        row = _row("first", report.first.name, "", Amount(0.0), saves=report.first.saves, note=report.first.kind)
        writer.writerow((*row[:3], "", *row[4:]))
    for cause in report.causes:
        writer.writerow(_row("cause", cause.code, cause.num_runs, cause.amount, share=cause.share, saves=cause.saves))
    for change in report.regressions:
        note = f"since {change.since}, {change.phase}"
        longer = change.ratio.value - 1
        writer.writerow(_row("regression", change.config, change.num_after, change.extra, share=longer, note=note))
    for host in report.hosts:
        more = None if host.ratio is None else host.ratio - 1
        writer.writerow(_row("host", host.name, host.num_runs, host.extra, share=more, note="lemon" * host.is_lemon))
    for group in report.groups:
        writer.writerow(_row(report.by, group.name or "", group.num_runs, group.amount, share=group.goodput))
    for own in report.runs:
        writer.writerow(_row("run", own.uri, 1, own.amount, share=own.goodput, note=own.worst or ""))
    for run in report.running:
        writer.writerow(_row("running", run.uri, 1, Amount(run.remaining_s or 0.0), share=run.chance))
    for reason in report.unread:
        writer.writerow(("unread", _text(reason.example), reason.num, *[""] * 6, _text(reason.error)))
    return out.getvalue()


def _row(
    kind: str,
    name: str,
    runs: int | str,
    amount: Amount,
    *,
    share: float | None = None,
    saves: Amount | None = None,
    note: str = "",
) -> tuple[object, ...]:
    saved = saves or Amount(0.0)
    return (
        *(kind, _text(name), runs, _hours(amount.run_s), _hours(amount.device_s), _number(amount.money, 2)),
        *(_number(share, 6), _hours(saved.device_s), _number(saved.money, 2), _text(note)),
    )


def _hours(seconds: float | None) -> str:
    return _number(None if seconds is None else seconds / 3600, 6)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _text(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t")) else text
