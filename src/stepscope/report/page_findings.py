"""What cost most time as cards, each with the changes that answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepscope.analysis.findings import CostFinding
from stepscope.analysis.report import Report
from stepscope.core.message import Seconds, Share
from stepscope.i18n import Language
from stepscope.ledger.accounts import ORDER
from stepscope.ledger.phases import PhaseTotal
from stepscope.report import templating
from stepscope.report.log_lines import line_links
from stepscope.report.wording.change import change_lines, change_scope, change_texts, no_change_text
from stepscope.report.wording.money import with_money
from stepscope.report.wording.summary import DEAD, alarms_apart, outside_of_log, summary_lines

if TYPE_CHECKING:
    from stepscope.advice._base import Advice

_MOST_CARDS = 2
_MOST_PLACES = 4
_PHASE_OF = {"slower": "step", "after_best": "step", "lost_work": "gap"}


def findings(report: Report, language: Language, drawn: dict[str, Any]) -> str:
    """The cards, most seconds first, then the changes that answer none of them; `drawn` is what the timeline shows."""
    changes = _changes(report, language)
    open_ones = list(zip(report.advice, changes, strict=True))
    cards = []
    for found in report.findings:
        own = [one for one in open_ones if _answers(one[0], found)]
        open_ones = [one for one in open_ones if one not in own]
        cards.append(_card(report, found, [change for _, change in own], language, drawn["stops"]))
    outside = outside_of_log(report)
    if outside is not None:
        cards.insert(
            sum(found.seconds >= outside.seconds for found in report.findings), _outside_card(outside, language)
        )
    # Those that nothing answers, beyond the costliest few, are said in a line.
    rest = [card for place, card in enumerate(cards) if place >= _MOST_CARDS and not card["changes"]]
    others = [change for _, change in open_ones]
    nothing = ""
    if not cards and not others:
        if report.state.value in DEAD or alarms_apart(report):  # what is wrong is said above: then this is no calm run
            return ""
        nothing = summary_lines(report, language)[-1] if report.has_times else no_change_text(report, language)
    return templating.render(
        "run_findings.html",
        language,
        links=line_links(report, language),
        cards=[card for card in cards if card not in rest],
        rest=rest,
        others=others,
        nothing=nothing,
        no_change=no_change_text(report, language) if cards and not changes else "",
        scope=change_scope(report, language) if changes else "",
    )


def _answers(advice: Advice, found: CostFinding) -> bool:
    return found.code in advice.phases or (found.setting is not None and found.setting == advice.setting)


def _card(
    report: Report, found: CostFinding, changes: list[dict[str, Any]], language: Language, stops: list[list[Any]]
) -> dict[str, Any]:
    places = [last for _, last, _, parts in stops if any(name == found.code for name, _ in parts)]
    phase = found.code if found.code in ORDER else _PHASE_OF.get(found.code, "stall")
    return {
        "code": found.code,
        "phase": phase,
        "seconds": language.duration(found.seconds),
        "share": language.percent(found.share),
        "width": found.share,
        "text": language.say(with_money(report, found.message, found.seconds)),
        "changes": changes,
        "view": _view(report, found),
        "places": places[:_MOST_PLACES],
        "more_places": len(places) > _MOST_PLACES,
    }


def _outside_card(outside: PhaseTotal, language: Language) -> dict[str, Any]:
    """What the log does not account for: nothing answers it, and no place of the timeline shows it."""
    text = language.text("finding-unlogged", seconds=Seconds(outside.seconds), share=Share(outside.share))
    return {
        "code": "unlogged",
        "phase": "unlogged",
        "seconds": language.duration(outside.seconds),
        "share": language.percent(outside.share),
        "width": outside.share,
        "text": text,
        "changes": [],
        "view": None,
        "places": [],
        "more_places": False,
    }


def _view(report: Report, found: CostFinding) -> tuple[int, int] | None:
    """The stretch of the timeline that a finding is about; None where it is about all of it."""
    args, end = found.message.args, report.state.step
    first, last = (args.get("first"), args.get("last")) if found.code == "slower" else (args.get("step"), end)
    return (first, last) if isinstance(first, int) and isinstance(last, int) and first < last else None


def _changes(report: Report, language: Language) -> list[dict[str, Any]]:
    """Each piece of advice in short, with what there is to say for and against it."""
    most = len(report.advice)
    short, full = change_texts(report, language, most=most), change_lines(report, language, most=most)
    return [
        {"code": advice.code, "short": text, "line": line, "why": why, "costs": costs, "paste": advice.paste}
        for advice, text, (line, why, costs) in zip(report.advice, short, full, strict=True)
    ]
