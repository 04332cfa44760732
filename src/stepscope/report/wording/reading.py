"""How sure the reading is: in doubt it is said first and with what settles it, else in a short line."""

from __future__ import annotations

from stepscope.analysis.report import Report
from stepscope.audit._base import Check
from stepscope.core.message import Share
from stepscope.core.redact import redact
from stepscope.i18n import Language

_SHOWN = 4
_UNEXPLAINED = frozenset({"stall", "gap"})
_WORTH_SAYING = 0.1


def doubt_lines(report: Report, language: Language) -> list[str]:
    """That the reading is in doubt, why, and what settles it; empty where it is not, or where there are no times."""
    reading = report.reading
    if not reading.is_doubtful or not report.has_times:
        return []
    path = redact(report.run.paths[0] if report.run.paths else "-", 200)
    return [
        language.text("reading-doubt", confidence=Share(reading.confidence)),
        *(language.text("reading-item", text=language.say(one.message), code=one.code) for one in _shown(report)),
        language.text("reading-settle", path=path),
    ]


def _shown(report: Report) -> list[Check]:
    """The gravest doubts; where no check has one, that nothing confirms the clock."""
    doubts = [check for check in report.reading.doubts if check.doubt >= _WORTH_SAYING]
    clocks = [check for check in report.reading.checks if check.code == "R01" and check.verdict == "cannot tell"]
    return (doubts[:_SHOWN] + clocks)[:_SHOWN]


def eta_doubt(report: Report, language: Language, *, has_cost: bool = False) -> str | None:
    """The doubt in one line, for an answer of one line; where `has_cost`, the largest cost follows with its seconds."""
    lines = doubt_lines(report, language)
    if not lines:
        return None
    first = _shown(report)[0]
    is_below = has_cost and first.code == "R07" and _is_of_cost(report)
    text = language.text("reading-doubt-below") if is_below else language.say(first.message)
    return language.text("reading-eta-doubt", text=text)


def _is_of_cost(report: Report) -> bool:
    """Whether the largest cost is what no line explains."""
    # Imported where a cost follows: `stepscope eta` names none, and starts without all that this needs.
    from stepscope.report.wording.summary import leading_cost, outside_of_log

    cost = leading_cost(report)
    return outside_of_log(report) is not None if cost is None else cost.code in _UNEXPLAINED


def agreement_line(report: Report, language: Language) -> str | None:
    """That a second clock agrees; None where none was asked."""
    clocks = next((check for check in report.reading.checks if check.code == "R01"), None)
    if clocks is None or clocks.verdict != "agrees" or report.reading.is_doubtful:
        return None
    return language.text("reading-agrees", text=language.say(clocks.message))
