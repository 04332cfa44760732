"""What to change, in full: every piece of advice with its evidence, or what a stated change would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepscope.advice._base import Advice, error_digits
from stepscope.advice._checkpoints import Disk, disk, safety, steps_between_checkpoints
from stepscope.advice._whatif import CLASSES, WhatIf
from stepscope.analysis.report import Report
from stepscope.core.message import Decimal, Seconds, Share
from stepscope.forecast.finish import WorkLeft
from stepscope.i18n import Language
from stepscope.report.gpu import verdict_lines
from stepscope.report.markdown import prose
from stepscope.report.wording.change import change_lines, change_scope, no_change_text, together_text
from stepscope.report.wording.headline import normal_lines
from stepscope.report.wording.summary import DEAD, summary_lines
from stepscope.report.wrapping import wrap

_EFFECTS = {
    "none": "advise-keeps",
    "rounding": "advise-rounding",
    "draws": "advise-draws",
    "learning": "advise-changes",
}


def render(report: Report, outcome: WhatIf | None, language: Language, *, width: int = 80) -> str:
    """The answer as text for a terminal."""
    title = language.text("section-change" if outcome is None else "section-whatif")
    said = summary_lines(report, language)
    # Of a run that died, what it died of and what to do about it come before any saving.
    lines = [line for text in (said if report.state.value in DEAD else said[:1]) for line in wrap(text, width)]
    for text in [*normal_lines(report, language)[:1], *verdict_lines(report, language)]:
        lines += wrap(text, width)
    lines += ["", title]
    for block in _blocks(report, outcome, language):
        first, *rest = block
        hanging = "     " if rest else "  "
        lines += wrap(first, width, first="  ", rest=hanging)
        for text in rest:
            lines += wrap(text, width, first="     ", rest="     ") or [""]
    return "\n".join(lines) + "\n"


def render_markdown(report: Report, outcome: WhatIf | None, language: Language) -> str:
    """The answer as Markdown."""
    title = language.text("section-change" if outcome is None else "section-whatif")
    lines = [f"## {title}", ""]
    for first, *rest in _blocks(report, outcome, language, code=_code):
        if rest:
            lines += [prose(first), *(f"   - {prose(text)}" for text in rest)]
        else:
            lines += [f"- {prose(first)}"] if outcome is not None else ["", prose(first)]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


def document(outcome: WhatIf) -> dict[str, Any]:
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
        "effect": outcome.effect,
        "unknown": list(outcome.unknown),
    }


def _left(left: WorkLeft) -> dict[str, Any]:
    return {"count": left.num, "seconds": left.seconds}


def _blocks(
    report: Report, outcome: WhatIf | None, language: Language, code: Callable[[str], str] = str
) -> list[list[str]]:
    """Paragraphs and the lines under them; `code` marks up what is to be typed."""
    if outcome is not None:
        return _outcome(report, outcome, language)
    if not report.advice:
        return [[no_change_text(report, language)], *_about_saves(report, language)]
    found = [
        [f"{number}. {line[0]}", *_details(advice, language, code)]
        for number, (advice, line) in enumerate(
            zip(report.advice, change_lines(report, language, code=code, most=len(report.advice)), strict=True), 1
        )
    ]
    closing = [change_scope(report, language), together_text(report, language)]
    return [*found, *_about_saves(report, language), [" ".join(filter(None, closing))]]


def _details(advice: Advice, language: Language, code: Callable[[str], str]) -> list[str]:
    lines = [] if advice.paste is None else [language.text("advise-paste", paste=code(advice.paste))]
    lines += [f"{language.say(advice.evidence)} [{advice.code}]", language.say(advice.costs)]
    if advice.precision is not None:
        lines.append(language.say(advice.precision))
    if advice.assumed is not None:
        lines.append(language.text("advise-assumed", cases=language.say(advice.assumed)))
    lines.append(language.text(_EFFECTS[advice.effect]))
    return lines


def _about_saves(report: Report, language: Language) -> list[list[str]]:
    """What a crash may cost, if the user stated what may be lost, and the disk space of the checkpoints, if known."""
    blocks = []
    found = safety(report.situation)
    if found is not None:
        accepted = Seconds(report.ask.may_lose_s or 0.0)
        lines = [language.text("safety-now", interval=found.interval, stake=Seconds(found.at_stake_s))]
        if found.at_stake_s <= accepted.value:
            lines.append(language.text("safety-within", accepted=accepted))
        else:
            lines.append(language.text("safety-beyond", accepted=accepted, needed=found.needed))
        if found.best is not None and found.stall_s is not None:
            lines.append(language.text("safety-best", stall=Seconds(found.stall_s), best=found.best))
        blocks.append([" ".join(lines)])
    space = disk(report.situation)
    if space is not None and all(advice.code != "A118" for advice in report.advice):
        blocks.append([_disk_text(space, language)])
    return blocks


def _disk_text(space: Disk, language: Language) -> str:
    digits = 1 if space.each > 1e8 else 3
    each, low, high = (Decimal(size / 1e9, digits) for size in (space.each, space.each_low, space.each_high))
    lines = [language.text("disk-each", each=each)]
    if low != high:
        lines = [language.text("disk-each-span", each=each, low=low, high=high)]
    if space.total is not None and space.num > 1:
        total = Decimal(space.total / 1e9, 0 if space.total > 1e10 else 1)
        key = "disk-one" if space.num_kept == 1 else "disk-all" if space.keeps_all else "disk-some"
        lines.append(language.text(key, count=space.num_kept or 0, total=total))
    return " ".join(lines)


def saves_document(report: Report) -> dict[str, Any]:
    """What is known about the checkpoints, for the JSON document."""
    found, space = safety(report.situation), disk(report.situation)
    return {
        "interval": steps_between_checkpoints(report.run),
        "may_lose_s": report.ask.may_lose_s,
        "at_stake_s": found.at_stake_s if found else None,
        "needed_interval": found.needed if found else None,
        "best_interval": found.best if found else None,
        "bytes_each": space.each if space else None,
        "bytes_total": space.total if space else None,
        "count": space.num if space else None,
        "keeps_all": space.keeps_all if space else None,
    }


def _outcome(report: Report, outcome: WhatIf, language: Language) -> list[list[str]]:
    fmt = report.run.format
    blocks = [
        [
            language.text(
                "whatif-change",
                setting=fmt.controls.own_name(name) or name,
                now=str("?" if now is None else now),
                then=str(then),
            )
        ]
        for name, (now, then) in outcome.changes.items()
    ]
    if outcome.unknown:
        names = ", ".join(fmt.controls.own_name(name) or name for name in outcome.unknown)
        blocks.append([language.text("whatif-unknown", names=names)])
    if set(outcome.unknown) >= set(outcome.changes):
        return blocks
    last = int(report.run.steps.step[-1])
    total = outcome.changes.get("max_steps", (None, None))[1]
    if isinstance(total, int) and total < last:
        return [*blocks, [language.text("whatif-past", step=last, total=total)]]
    blocks.append([_saving(outcome, language)])
    if outcome.before == outcome.after:
        return blocks if outcome.effect is None else [*blocks, [language.text(_EFFECTS[outcome.effect])]]
    blocks += [[line] for line in _time_lines(report, outcome, language)]
    if outcome.error_before is not None and outcome.error_after is not None:
        digits = error_digits(min(outcome.error_before, outcome.error_after))
        before, after = Decimal(outcome.error_before, digits), Decimal(outcome.error_after, digits)
        if outcome.error_before != outcome.error_after:
            blocks.append([language.text("whatif-precision", before=before, after=after)])
        elif outcome.before["evaluation"] != outcome.after["evaluation"]:
            blocks.append([language.text("precision-same", error=after)])
    if outcome.effect is not None:
        blocks.append([language.text(_EFFECTS[outcome.effect])])
    return blocks


def _time_lines(report: Report, outcome: WhatIf, language: Language) -> list[str]:
    """The time left, or the time of a run like this one, and each class of work that changes."""
    before_s = outcome.after_s + outcome.saves_s
    if outcome.is_future:
        assert outcome.after_high_s is not None  # a forecast has two ends
        line = language.text(
            "whatif-left",
            duration=Seconds(outcome.after_s),
            before=Seconds(before_s),
            span=language.span(outcome.after_low_s, outcome.after_high_s),
            confidence=Share(report.ask.confidence),
        )
        ends = [report.finish(seconds) for seconds in (outcome.after_s, outcome.after_low_s, outcome.after_high_s)]
        if all(ends):
            clock = [language.clock(end, report.moment) for end in ends if end is not None]
            line += " · " + language.text("finish-at", time=clock[0], low=clock[1], high=clock[2])
        lines = [line]
    else:
        lines = [language.text("whatif-run", duration=Seconds(outcome.after_s), before=Seconds(before_s))]
    for name in CLASSES:
        before, after = outcome.before[name], outcome.after[name]
        if before != after:
            phase = language.text(f"phase-{name}")
            text = f"{_amount(before, language)} → {_amount(after, language)}"
            lines.append(language.text("labelled", label=phase, text=text))
        elif before.seconds:
            phase = language.text(f"phase-{name}")
            lines.append(language.text("labelled", label=phase, text=_amount(before, language)))
    return lines


def _saving(outcome: WhatIf, language: Language) -> str:
    if abs(outcome.saves_s) < 1e-9:
        return language.text("whatif-same")
    key = "whatif-saves" if outcome.saves_s > 0 else "whatif-costs"
    ends = sorted((abs(outcome.saves_low_s), abs(outcome.saves_high_s)))
    return language.text(key, duration=Seconds(abs(outcome.saves_s)), span=language.span(ends[0], ends[1]))


def _amount(left: WorkLeft, language: Language) -> str:
    count = "?" if left.num is None else language.number(left.num)
    return f"{count} × · {language.duration(left.seconds)}" if left.seconds is not None else f"{count} ×"
