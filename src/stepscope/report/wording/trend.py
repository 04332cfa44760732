"""Whether the run gets slower, and whether it waits for its data: what is asked most, in a sentence each."""

from __future__ import annotations

from stepscope.analysis.batch import batch_message
from stepscope.analysis.parts import parts_message
from stepscope.analysis.report import Report
from stepscope.analysis.waits import data_message
from stepscope.i18n import Language

_SAID_ELSEWHERE = frozenset(
    {"trend-one", "trend-one-time", "trend-scatter", "data-share", "data-share-step", "data-minor"}
)
_CHANGES = frozenset(
    f"trend-{name}" for name in ("steady", "steady-but", "between", "along", "along-times", "since", "since-times")
)


def trend_lines(report: Report, language: Language) -> list[str]:
    """What the speed does over the log; empty where no line tells any."""
    found = report.trend
    if found is None:
        return []
    text = language.say(found.message)
    if found.every is not None:
        pace = found.message.args["pace"]
        text += " " + language.text("trend-every", count=found.every, pace=pace)
    if found.unit != "s" and not report.has_times:
        text += " " + language.text("rate-needs-size")
    return [text]


def short_speed_lines(report: Report, language: Language) -> list[str]:
    """As `speed_lines`, without what the ledger, the findings and the normal iteration say already."""
    return _speed_lines(report, language, without=_SAID_ELSEWHERE | _said_by_costs(report))


def _said_by_costs(report: Report) -> frozenset[str]:
    """The trends that a slower stretch or the alarm of a slowdown says with its cost, or that it contradicts."""
    is_said = any(one.code == "slower" for one in report.findings) or any(
        alarm.code == "slowdown" for alarm in report.alarms
    )
    return _CHANGES if is_said else frozenset()


def speed_lines(report: Report, language: Language) -> list[str]:
    """Whether the run gets slower, and whether it waits for its data."""
    return _speed_lines(report, language, without=frozenset())


def _speed_lines(report: Report, language: Language, *, without: frozenset[str]) -> list[str]:
    waits = data_message(report.run, report.ledger)
    lines = []
    if report.trend is not None and report.trend.message.key not in without:
        lines += trend_lines(report, language)
    if waits is not None and waits.key not in without:
        lines.append(language.say(waits))
    if (part := parts_message(report.run)) is not None:
        lines.append(language.say(part))
    size = batch_message(report.run, report.ledger)
    lines += [language.say(size)] if size is not None else []
    skips = report.run.skips
    if skips is not None and skips.num and not any(alarm.code == "skipped_steps" for alarm in report.alarms):
        lines.append(language.text("skipped-few", count=skips.num))
    return lines + ([language.text("past-total")] if report.run.asides.is_past_total else [])


def no_slow_text(report: Report, language: Language) -> str:
    """That no step was slow; of a run whose speed changes, that no single one was."""
    is_even = report.trend is None or report.trend.trend.kind in {"one", "steady"}
    return language.text("slow-none" if is_even else "slow-none-alone")
