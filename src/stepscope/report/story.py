"""The long note as a post: the worry answered, the lines quoted, the first iteration, the time left, a summary."""

from __future__ import annotations

import dataclasses

import numpy as np

from stepscope.analysis.report import Report
from stepscope.analysis.settle import TIMESTAMP_COMMAND
from stepscope.analysis.slow_groups import SlowGroup, group_slow
from stepscope.analysis.slow_verdict import judge_slow
from stepscope.core.message import About, Seconds, Share
from stepscope.core.redact import redact
from stepscope.i18n import Language
from stepscope.ledger.phases import Part, SlowStep
from stepscope.reading.again import lines_again
from stepscope.report.markdown import escape, fence
from stepscope.report.wording.change import change_lines, change_scope, change_texts, no_change_text
from stepscope.report.wording.finish import finish_lines
from stepscope.report.wording.headline import normal_lines, unread_text
from stepscope.report.wording.sentence import capital, ended
from stepscope.report.wording.slow import slow_remarks
from stepscope.report.wording.summary import summary_lines
from stepscope.report.wording.trend import no_slow_text, speed_lines

_NAMED = 5  # iterations that are named one by one
_QUOTED_GROUPS, _QUOTED_STEPS = 2, 2
_NORMAL_LINES = 3
_NOTHING = 0.05  # a part that may be this little of what it may be is said as a limit
_UNSURE = 0.5  # a part that may be this much smaller is said as a range
_DEAD = frozenset({"crashed", "out_of_memory", "interrupted", "killed"})


def with_quotes(report: Report) -> Report:
    """The same report with the lines of the iterations that the note quotes, read from the log again."""
    run = report.run
    if not len(run):
        return report
    numbers = {int(run.steps.line[row]) for row in _normal_rows(report)}
    numbers |= {slow.line for group in _groups(report) for slow in group.steps[:_QUOTED_STEPS]}
    found = lines_again(run, numbers)
    return dataclasses.replace(report, run=dataclasses.replace(run, excerpts={**found, **run.excerpts}))


def opening(report: Report, language: Language) -> list[str]:
    """The answer to the worry; what else is wrong comes with it."""
    verdict = judge_slow(report)
    state, *rest = (escape(line) for line in summary_lines(report, language))
    said = f"**{state}.** {' '.join(map(ended, rest))}"
    blocks = [said] if report.state.value in _DEAD else []
    count = len(report.ledger.slow)
    if verdict.kind == "none":
        none = [language.text("note-intro-none", lines=report.run.num_lines)] if report.has_steps else []
        return blocks + none or [said]
    if verdict.kind == "normal":
        lead = language.text("note-calm", count=count)
    elif verdict.kind == "costly":
        lead = language.text("note-costly", share=Share(verdict.share))
    elif verdict.kind == "unexplained":
        lead = language.text("note-unexplained", count=len(verdict.unexplained), total=count)
    else:
        lead = language.text("note-intro", count=count, lines=report.run.num_lines)
    texts = [f"**{lead}**", _why(report, language)]
    if verdict.kind in {"explained", "unexplained"} and not blocks:
        texts.append(ended(rest[-1]))
    return [*blocks, " ".join(text for text in texts if text)]


def _why(report: Report, language: Language) -> str:
    """Which iterations they are, and that the trainer's clock runs on while it does something else."""
    stops = [slow for slow in report.ledger.slow if slow.cause in {"evaluation", "checkpoint"}]
    if not stops or "evaluation" not in report.run.clock.includes:
        return ""
    phases = {part.phase for slow in stops for part in slow.parts}
    kind = "both" if {"evaluation", "checkpoint"} <= phases else "evaluation" if "evaluation" in phases else "save"
    trainer = escape(redact(report.run.format.title, 100))
    steps = sorted(slow.step for slow in stops)
    if len(steps) > _NAMED and len(steps) == len(report.ledger.slow):
        return language.text("note-which-all", trainer=trainer, stops=kind)
    if len(steps) > _NAMED:
        return language.text("note-which-many", count=len(steps), trainer=trainer, stops=kind)
    return language.text("note-which", count=len(steps), steps=_listed(steps, language), trainer=trainer, stops=kind)


def normal(report: Report, language: Language) -> list[str]:
    """What a normal iteration takes, with some of them quoted."""
    rows = _normal_rows(report)
    quotes = [text for row in rows if (text := _line(report, int(report.run.steps.line[row]))) is not None]
    texts = [*normal_lines(report, language), *_micro_batches(report, language), *speed_lines(report, language)]
    return [*([fence(quotes)] if quotes else []), " ".join(texts)] if texts else []


def _micro_batches(report: Report, language: Language) -> list[str]:
    counts = [report.run.settings.count(name) for name in ("gradient_accumulation_steps", "batch_size")]
    if None in counts or (counts[0] or 0) < 2:
        return []
    return [language.text("note-micro", accumulation=counts[0] or 0, batch=counts[1] or 0)]


def slow_ones(report: Report, language: Language) -> list[str]:
    """The groups of slow iterations with their lines, what each is made of, and how sure that is."""
    blocks = []
    for group in [one for one in _groups(report) if not _is_first(one.steps[0])][:_QUOTED_GROUPS]:
        quotes = [line for slow in group.steps[:_QUOTED_STEPS] for line in _lines_of(report, slow)]
        blocks += [fence(quotes)] if quotes else []
        texts = [_made_of(slow, language) for slow in group.steps[:_QUOTED_STEPS]]
        rest = len(group.steps) - _QUOTED_STEPS
        if rest > 0:
            others = [slow.seconds for slow in group.steps[_QUOTED_STEPS:]]
            span = language.span(min(others), max(others))
            texts.append(language.text("note-alike", count=rest, span=span))
        if group.every is not None:
            texts.append(language.text("note-every", every=group.every))
        texts += _evaluation_size(report, group, language)
        blocks.append(" ".join(texts))
    remarks = [remark for remark in slow_remarks(report, language) if remark != language.text("slow-first-no-save")]
    if remarks:
        blocks.append(" ".join(remark.replace(TIMESTAMP_COMMAND, f"`{TIMESTAMP_COMMAND}`") for remark in remarks))
    return blocks


def first(report: Report, language: Language) -> tuple[str, list[str]] | None:
    """The section on the first iteration, where it was slow: its title and its blocks."""
    slow = next((one for one in report.ledger.slow if _is_first(one)), None)
    if slow is None:
        return None
    title = language.text(
        "note-section-first", step=slow.step, duration=About(slow.seconds, slow.seconds, slow.seconds)
    )
    texts = [_made_of(slow, language)]
    no_save = language.text("slow-first-no-save")
    texts.append(no_save if no_save in slow_remarks(report, language) else language.text("note-first"))
    quotes = _lines_of(report, slow)
    return title, [*([fence(quotes)] if quotes else []), " ".join(texts)]


def left(report: Report, language: Language) -> list[str]:
    """When it will be done, what is still to come, and what that rests on."""
    if report.state.value in _DEAD:
        return []  # what it died of begins the note
    lines = [ended(escape(capital(line).removesuffix("."))) for line in finish_lines(report, language)]
    return [f"**{lines[0]}**", *([" ".join(lines[1:])] if len(lines) > 1 else [])]


def changes(report: Report, language: Language) -> list[str]:
    """Each change with what it saves and what it costs."""
    found = change_lines(report, language, code=_code)
    if not found:
        # A run that died says above what to do about it.
        return [] if report.state.value in _DEAD else [no_change_text(report, language)]
    items = "\n".join(f"{number}. **{line}.** {why} {costs}" for number, (line, why, costs) in enumerate(found, 1))
    return [items, change_scope(report, language)]


def ending(report: Report, language: Language) -> list[str]:
    """The summary: what the slow ones were, what is normal, when it is done, what saves most."""
    verdict, step = judge_slow(report), report.ledger.step
    lines = []
    if verdict.kind == "none" and report.has_steps:
        lines.append(no_slow_text(report, language))
    elif verdict.kind == "unexplained":
        lines.append(language.text("note-unexplained", count=len(verdict.unexplained), total=len(report.ledger.slow)))
    elif verdict.kind in {"normal", "costly"}:
        lines.append(language.text("note-sum-planned", share=Share(verdict.share)))
    summed = [ended(escape(line)) for line in summary_lines(report, language)]
    if report.state.value not in _DEAD:
        summed = summed[1:] if verdict.kind in {"explained", "unexplained"} else summed[1:2]
    if step is not None and not any(language.duration(step.typical_s) in line for line in summed):
        lines.append(language.text("note-sum-normal", duration=Seconds(step.typical_s)))
    lines += summed
    lines += [f"{change}." for change in change_texts(report, language, most=1)]
    if report.run.num_unread:
        lines.append(escape(unread_text(report, language)))
    return [_bullets(lines)]


# -- pieces -----------------------------------------------------------------------------------------------


def _groups(report: Report) -> list[SlowGroup]:
    """The costliest groups, the first iteration's own among them."""
    groups = group_slow(report.run, report.ledger.slow)
    return sorted(groups, key=lambda group: not _is_first(group.steps[0]))[: _QUOTED_GROUPS + 1]


def _is_first(slow: SlowStep) -> bool:
    return slow.row == 0 and any(part.phase == "warmup" for part in slow.parts)


def _normal_rows(report: Report) -> list[int]:
    """A few rows at the level of normal ones: the first, the middle one and the last."""
    step = report.ledger.step
    if step is None:
        return []
    rows = step.rows[step.rows < len(report.run)]
    if not len(rows):
        return []
    places = np.unique(np.linspace(0, len(rows) - 1, _NORMAL_LINES).astype(int))
    return [int(row) for row in rows[places]]


def _line(report: Report, number: int) -> str | None:
    text = report.run.excerpts.get(number)
    return redact(text) if text else None


def _lines_of(report: Report, slow: SlowStep) -> list[str]:
    """The lines that say why, then the iteration's own; in the order of the log."""
    numbers = sorted({*slow.evidence_lines, slow.line})
    return [text for number in numbers if (text := _line(report, number)) is not None]


def _made_of(slow: SlowStep, language: Language) -> str:
    """What the seconds of one slow iteration are."""
    items = [_part(part, language) for part in sorted(slow.parts, key=lambda part: -part.seconds)]
    return language.text("note-took", step=slow.step, duration=Seconds(slow.seconds), parts=_joined(items, language))


def _part(part: Part, language: Language) -> str:
    """A part in as many digits as are sure, as a range where little is."""
    phase = language.text(f"phase-{part.phase}")
    if part.phase == "step":
        return language.text("part", phase=phase, duration=Seconds(part.seconds))
    if part.low_s < _NOTHING * part.high_s:
        return language.text("note-at-most", phase=phase, duration=About(part.high_s, 0.0, part.high_s))
    if part.low_s < _UNSURE * part.seconds:
        return f"{phase} {language.span(part.low_s, part.high_s)}"
    if part.high_s - part.low_s <= 0.1 * part.seconds:
        return language.text("part", phase=phase, duration=Seconds(part.seconds))
    return language.text("part-about", phase=phase, duration=About(part.seconds, part.low_s, part.high_s))


def _evaluation_size(report: Report, group: SlowGroup, language: Language) -> list[str]:
    """How many batches an evaluation runs, where that is known."""
    batches = report.run.settings.count("eval_iters")
    splits = report.run.format.habits.evaluation.num_splits
    if batches is None or splits is None or not any(part.phase == "evaluation" for part in group.parts):
        return []
    return [language.text("note-batches", count=batches, splits=splits)]


def _listed(steps: list[int], language: Language) -> str:
    return _joined([language.number(step) for step in steps], language)


def _joined(items: list[str], language: Language) -> str:
    if len(items) < 2:
        return "".join(items)
    return language.text("note-list-and", first=", ".join(items[:-1]), last=items[-1])


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
