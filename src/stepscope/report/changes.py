"""What to change, in full: every piece of advice with its evidence, or what a stated change would do."""

from __future__ import annotations

import textwrap
from typing import Any

from stepscope.advice._base import Advice
from stepscope.advice._whatif import CLASSES, Outcome
from stepscope.forecast.finish import Left
from stepscope.i18n import Language
from stepscope.message import Decimal, Seconds, Share
from stepscope.report import card, words
from stepscope.report.build import Report


def render(report: Report, outcome: Outcome | None, language: Language, *, width: int = 80) -> str:
    """The answer as text for a terminal."""
    title = language.text("section-change" if outcome is None else "section-whatif")
    lines = [words.headline(report, language)]
    for text in [*words.normal_lines(report, language)[:1], *card.lines(report, language)]:
        lines += textwrap.wrap(text, width, break_on_hyphens=False)
    lines += ["", title]
    for block in _blocks(report, outcome, language):
        first, *rest = block
        lines += textwrap.wrap(first, width, initial_indent="  ", subsequent_indent="     ", break_on_hyphens=False)
        for text in rest:
            wrapped = textwrap.wrap(
                text, width, initial_indent="     ", subsequent_indent="     ", break_on_hyphens=False
            )
            lines += wrapped or [""]
    return "\n".join(lines) + "\n"


def render_markdown(report: Report, outcome: Outcome | None, language: Language) -> str:
    """The answer as Markdown."""
    title = language.text("section-change" if outcome is None else "section-whatif")
    lines = [f"## {title}", ""]
    for first, *rest in _blocks(report, outcome, language):
        lines += [f"- {first}", *(f"  {text}" for text in rest)]
    return "\n".join(lines) + "\n"


def document(outcome: Outcome) -> dict[str, Any]:
    """A stated change as plain data, for the JSON document."""
    return {
        "changes": {name: {"now": now, "proposed": then} for name, (now, then) in outcome.changes.items()},
        "before": {name: _left(outcome.before[name]) for name in CLASSES},
        "after": {name: _left(outcome.after[name]) for name in CLASSES},
        "saves_s": outcome.saves_s,
        "saves_low_s": outcome.saves_low_s,
        "saves_high_s": outcome.saves_high_s,
        "remaining_s" if outcome.is_future else "wall_s": outcome.after_s,
        "low_s": outcome.after_low_s,
        "high_s": outcome.after_high_s,
        "validation_error_before": outcome.error_before,
        "validation_error_after": outcome.error_after,
        "changes_result": outcome.changes_result,
        "unknown": list(outcome.unknown),
    }


def _left(left: Left) -> dict[str, Any]:
    return {"count": left.num, "seconds": left.seconds}


def _blocks(report: Report, outcome: Outcome | None, language: Language) -> list[list[str]]:
    if outcome is not None:
        return _outcome(report, outcome, language)
    if not report.advice:
        return [[words.no_change_text(report, language)]]
    found = [
        [f"{number}. {line[0]}", *_details(advice, language)]
        for number, (advice, line) in enumerate(
            zip(report.advice, words.change_lines(report, language, most=len(report.advice)), strict=True), 1
        )
    ]
    return [*found, [words.change_scope(report, language)]]


def _details(advice: Advice, language: Language) -> list[str]:
    lines = [f"{language.say(advice.evidence)} [{advice.code}]", language.say(advice.costs)]
    lines.append(language.text("advise-changes" if advice.changes_result else "advise-keeps"))
    if advice.paste is not None:
        lines.append(language.text("advise-paste", paste=advice.paste))
    return lines


def _outcome(report: Report, outcome: Outcome, language: Language) -> list[list[str]]:
    blocks = [
        [language.text("whatif-change", setting=name, now=str("?" if now is None else now), then=str(then))]
        for name, (now, then) in outcome.changes.items()
    ]
    blocks.append([_saving(outcome, language)])
    before_s = outcome.after_s + outcome.saves_s
    if outcome.is_future:
        line = language.text(
            "whatif-left",
            duration=Seconds(outcome.after_s),
            before=Seconds(before_s),
            span=language.span(outcome.after_low_s, outcome.after_high_s),
            confidence=Share(report.confidence),
        )
        ends = [report.finish(seconds) for seconds in (outcome.after_s, outcome.after_low_s, outcome.after_high_s)]
        if all(ends):
            clock = [language.clock(end, report.moment) for end in ends if end is not None]
            line += " · " + language.text("finish-at", time=clock[0], low=clock[1], high=clock[2])
        blocks.append([line])
    else:
        blocks.append([language.text("whatif-run", duration=Seconds(outcome.after_s), before=Seconds(before_s))])
    for name in CLASSES:
        before, after = outcome.before[name], outcome.after[name]
        if before.seconds or after.seconds:
            blocks.append(
                [f"{language.text(f'phase-{name}')}: {_amount(before, language)} → {_amount(after, language)}"]
            )
    if outcome.error_before is not None and outcome.error_after is not None:
        blocks.append(
            [
                language.text(
                    "whatif-precision",
                    before=Decimal(outcome.error_before, 5),
                    after=Decimal(outcome.error_after, 5),
                )
            ]
        )
    if outcome.unknown:
        blocks.append([language.text("whatif-unknown", names=", ".join(outcome.unknown))])
    if outcome.changes_result is not None:
        blocks.append([language.text("advise-changes" if outcome.changes_result else "advise-keeps")])
    return blocks


def _saving(outcome: Outcome, language: Language) -> str:
    if abs(outcome.saves_s) < 1e-9:
        return language.text("whatif-same")
    key = "whatif-saves" if outcome.saves_s > 0 else "whatif-costs"
    ends = sorted((abs(outcome.saves_low_s), abs(outcome.saves_high_s)))
    return language.text(key, duration=Seconds(abs(outcome.saves_s)), span=language.span(ends[0], ends[1]))


def _amount(left: Left, language: Language) -> str:
    count = "?" if left.num is None else language.number(left.num)
    return f"{count} × · {language.duration(left.seconds)}" if left.seconds is not None else f"{count} ×"
