"""The whole story of one step: what it took, of what, why, what else it might have been, what would settle it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stepscope import __version__
from stepscope.analysis.report import Report
from stepscope.analysis.settle import what_would_settle
from stepscope.core.message import Decimal, Message, Seconds, Share, say
from stepscope.core.unseen import to_json
from stepscope.i18n import Language
from stepscope.ledger.phases import Rhythm, SlowStep
from stepscope.report import reasons
from stepscope.report.markdown import escape, fence
from stepscope.report.wording.slow import evidence_text, part_text
from stepscope.report.wrapping import wrap

SCHEMA = "stepscope.why/1"
_NUM_NEIGHBOURS = 2
_PAUSE_STEPS = 50


class Story(NamedTuple):
    """One step of a report. `row` is the row that prints or covers the step; None where none does."""

    report: Report
    step: int
    row: int | None
    slow: SlowStep | None
    rhythm: Rhythm | None
    nearest: tuple[int, ...]


def tell(report: Report, step: int) -> Story:
    """The story of a step within the log's range."""
    steps = report.run.steps
    own = np.flatnonzero(steps.step == step)
    # For a step done twice, the question is about the slower time.
    row = int(own[np.argmax(steps.dur_ns[own])]) if len(own) else None
    if row is None:
        covering = np.flatnonzero((steps.step > step) & (steps.step - steps.span < step))
        row = int(covering[0]) if len(covering) else None
    slow = next((found for found in report.ledger.slow if found.row == row), None)
    rhythm = next((found for found in report.ledger.rhythms if row in found.period.rows), None)
    after = int(np.searchsorted(steps.step, step))
    nearest = tuple(near for near in (after - 1, after) if row is None and 0 <= near < len(steps))
    return Story(report, step, row, slow, rhythm, nearest)


def turned_down(story: Story) -> list[Message]:
    """Causes that were looked for and not found, each with what would have shown it."""
    slow, run = story.slow, story.report.run
    if slow is None or slow.cause != "unexplained" or story.row is None:
        return []
    found = [say("why-not-marker"), say("why-not-first")]
    if story.rhythm is None:
        found.append(say("why-not-period"))
    codes = {finding.code for finding in slow.candidates}
    if run.settings.count("steps_per_epoch") and not codes & {"C06", "C12"}:
        found.append(say("why-not-epoch"))
    if np.isfinite(run.steps.data_s[story.row]) and "C35" not in codes:
        found.append(say("why-not-data"))
    if np.isfinite(run.steps.work[story.row]) and "C27" not in codes:
        found.append(say("why-not-work"))
    if "checkpoint" in run.events.kind and "C03" not in codes:
        found.append(say("why-not-save"))
    if "C22" not in codes and slow.seconds < _PAUSE_STEPS * max(1.0, _level(story)):
        found.append(say("why-not-pause"))
    return found


def document(story: Story) -> dict[str, Any]:
    """The story as plain data, in English."""
    english = Language.load("en")
    steps = story.report.run.steps
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "paths": list(story.report.run.paths),
        "step": story.step,
        **_row_data(story),
        **_slow_data(story, english),
        "turned_down": [english.say(message) for message in turned_down(story)],
        "settle": [english.say(message) for message in _settle(story)],
        "period": reasons.rhythm_data(story.rhythm, english) if story.rhythm else None,
        "neighbours": [
            {"step": int(steps.step[near]), "seconds": float(steps.dur_ns[near] / 1e9)} for near in _neighbours(story)
        ],
    }


def _row_data(story: Story) -> dict[str, Any]:
    """The printed line that the step is on, and the time it took; null where no line covers the step."""
    row, steps = story.row, story.report.run.steps
    if row is None:
        names = ("line", "line_step", "covers", "seconds", "normal_s")
        return {"printed": False, **dict.fromkeys(names)}
    has_time = steps.span[row] > 0
    return {
        "printed": int(steps.step[row]) == story.step,
        "line": int(steps.line[row]),
        "line_step": int(steps.step[row]),
        "covers": int(steps.span[row]),
        "seconds": _seconds(story) if has_time else None,
        "normal_s": _level(story) if has_time else None,
    }


def _slow_data(story: Story, english: Language) -> dict[str, Any]:
    """What a slow step is made of and why; null and empty for a step that is not slow."""
    slow = story.slow
    if slow is None:
        nothing: dict[str, Any] = {"slow": False, **dict.fromkeys(("cause", "code", "confidence"))}
        return nothing | {"parts": [], "evidence": None, "evidence_lines": [], "candidates": []}
    return {
        "slow": True,
        "cause": slow.cause,
        "code": slow.code,
        "confidence": slow.confidence,
        "parts": [
            {"phase": part.phase, "seconds": part.seconds, "low_s": part.low_s, "high_s": part.high_s}
            for part in slow.parts
        ],
        "evidence": evidence_text(story.report, slow, english),
        "evidence_lines": [{"line": line, "text": text} for line, text in _quotes(story)],
        "candidates": [reasons.as_data(finding, english) for finding in slow.candidates],
    }


def _settle(story: Story) -> list[Message]:
    return what_would_settle(story.report, story.slow) if story.slow is not None else []


def render_json(story: Story) -> str:
    """The story as JSON text."""
    return to_json(document(story), indent=2) + "\n"


def render(story: Story, language: Language, *, width: int = 80) -> str:
    """The story for a terminal."""
    lines = [language.text("why-title", step=story.step)]
    for block in _blocks(story, language):
        if isinstance(block, str):
            lines += wrap(block, width, first="  ", rest="  ") or [""]
        else:
            title, items = block
            lines += wrap(title, width, first="  ", rest="  ")
            for item in items:
                lines += wrap(item, width, first="    - ", rest="      ")
    return "\n".join(lines) + "\n"


def render_markdown(story: Story, language: Language) -> str:
    """The story as Markdown."""
    blocks = [f"# {language.text('why-title', step=story.step)}"]
    quotes = language.text("why-lines")
    for block in _blocks(story, language):
        if isinstance(block, str):
            blocks.append(escape(block))
        elif block[0] == quotes:
            blocks += [escape(quotes), fence(block[1])]
        else:
            blocks += [escape(block[0]), "\n".join(f"- {escape(item)}" for item in block[1])]
    return "\n\n".join(blocks) + "\n"


def _blocks(story: Story, language: Language) -> list[str | tuple[str, list[str]]]:
    """The story as sentences and titled lists."""
    report, row, slow = story.report, story.row, story.slow
    steps = report.run.steps
    if row is None:
        near = [_neighbour(report, own, language) for own in story.nearest]
        step = report.ledger.step
        about = [] if step is None else [language.text("why-unprinted-normal", level=Seconds(step.typical_s))]
        return [(language.text("why-unprinted", step=story.step), near), *about]
    blocks: list[str | tuple[str, list[str]]] = []
    if int(steps.step[row]) != story.step:
        blocks.append(language.text("why-inside", step=story.step, line_step=int(steps.step[row])))
    if not steps.span[row]:
        return [*blocks, language.text("why-no-time", step=int(steps.step[row]))]
    blocks.append(_took(story, language))
    if slow is None:
        blocks.append(_normal(story, language))
    else:
        blocks += _why(story, slow, language)
    if story.rhythm is not None:
        period = story.rhythm.period
        every = Decimal(period.every, 0 if period.is_whole else 2)
        blocks.append(language.text("why-periodic", every=every, count=period.num_events))
    near = [_neighbour(report, own, language) for own in _neighbours(story)]
    if near:
        blocks.append(language.text("why-neighbours", items=", ".join(near)))
    if slow is not None:
        settle = [language.say(message) for message in _settle(story)]
        if settle:
            blocks.append((language.text("why-settle"), settle))
        if slow.code is not None:
            blocks.append(language.text("why-page", code=slow.code))
    return blocks


def _took(story: Story, language: Language) -> str:
    row, steps = story.row, story.report.run.steps
    assert row is not None
    level = Seconds(_level(story))
    if steps.span[row] > 1:
        mean = Seconds(float(steps.dur_ns[row] / 1e9))
        count = int(steps.span[row])
        return language.text("why-window", count=count, duration=Seconds(_seconds(story)), mean=mean, level=level)
    return language.text("why-took", duration=Seconds(_seconds(story)), level=level)


def _normal(story: Story, language: Language) -> str:
    step = story.report.ledger.step
    is_raised = story.row in story.report.ledger.periods.raised
    if is_raised or step is None or not step.num_rows:
        return language.text("why-raised")
    return language.text("why-normal", span=language.span(step.low_s, step.high_s, step.typical_s))


def _why(story: Story, slow: SlowStep, language: Language) -> list[str | tuple[str, list[str]]]:
    parts = " + ".join(part_text(part, language) for part in slow.parts)
    blocks: list[str | tuple[str, list[str]]] = [language.text("why-made-of", parts=parts)]
    considered = list(slow.candidates)
    if slow.cause == "unexplained":
        stall = sum(part.seconds for part in slow.parts if part.phase == "stall")
        blocks.append(language.text("why-unexplained", duration=Seconds(stall)))
    else:
        named = next((own for own in considered if own.code == slow.code), None)
        evidence = language.say(named.evidence) if named else evidence_text(story.report, slow, language)
        blocks.append(
            language.text(
                "why-cause",
                cause=language.text(f"cause-{slow.cause}"),
                code=slow.code or "-",
                confidence=Share(slow.confidence),
                evidence=evidence,
            )
        )
        considered = [own for own in considered if own is not named]
    quotes = [f"{line}: {text}" for line, text in _quotes(story)]
    if quotes:
        blocks.append((language.text("why-lines"), quotes))
    if considered:
        items = [
            language.text(
                "why-candidate",
                code=own.code,
                cause=language.text(f"cause-{own.cause}"),
                confidence=Share(own.confidence),
                evidence=language.say(own.evidence),
            )
            for own in considered
        ]
        blocks.append((language.text("why-considered"), items))
    down = [language.say(message) for message in turned_down(story)]
    if down:
        blocks.append((language.text("why-turned-down"), down))
    return blocks


def _quotes(story: Story) -> list[tuple[int, str]]:
    """The lines of the log that are evidence, also of the candidates, in the order of the log."""
    if story.slow is None:
        return []
    lines = {*story.slow.evidence_lines, *(line for own in story.slow.candidates for line in own.lines)}
    return reasons.quoted(story.report, tuple(sorted(lines)))


def _seconds(story: Story) -> float:
    if story.slow is not None:
        return story.slow.seconds
    assert story.row is not None
    return float(story.report.run.steps.seconds[story.row])


def _level(story: Story) -> float:
    """Seconds of a normal step near the row: the step's own part, or its regime's."""
    row, report = story.row, story.report
    assert row is not None
    span = max(1, int(report.run.steps.span[row]))
    part = next((own.seconds for own in (story.slow.parts if story.slow else ()) if own.phase == "step"), None)
    if part is not None:
        return part / span
    step = report.ledger.step
    regimes = step.regimes if step else ()
    level = next((own.typical_s for own in regimes if own.first_row <= row <= own.last_row), None)
    return level if level is not None else (step.typical_s if step else float(report.run.steps.dur_ns[row] / 1e9))


def _neighbours(story: Story) -> list[int]:
    if story.row is None:
        return list(story.nearest)
    steps = story.report.run.steps
    near = [story.row + side for side in (*range(-_NUM_NEIGHBOURS, 0), *range(1, _NUM_NEIGHBOURS + 1))]
    return [own for own in near if 0 <= own < len(steps) and steps.span[own] > 0]


def _neighbour(report: Report, row: int, language: Language) -> str:
    steps = report.run.steps
    duration = Seconds(float(steps.dur_ns[row] / 1e9))
    text = language.text("why-neighbour", step=int(steps.step[row]), duration=duration)
    cause = next((slow.cause for slow in report.ledger.slow if slow.row == row), None)
    return text if cause is None else f"{text} ({language.text(f'cause-{cause}')})"
