"""Slow steps: what each is made of, why, and what there is to say about all of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.cells import cell_len

from stepscope.analysis.report import Report
from stepscope.analysis.settle import about_split, what_would_settle
from stepscope.analysis.slow_groups import SlowGroup
from stepscope.core.message import About, Seconds
from stepscope.i18n import Language
from stepscope.ledger.phases import Part, Phase, SlowStep
from stepscope.report import reasons
from stepscope.report.wording.clocks import clock_remarks, inside_text

if TYPE_CHECKING:
    from stepscope.run.model import Run

_WORTH_NAMING = 0.3
_WORTH_A_PART = 0.03  # of what a slow iteration took
_NAMED = 3  # so many iterations of a group are named one by one


def part_text(part: Part, language: Language) -> str:
    """One part of a slow step; its range only where it is wide."""
    phase = language.text(f"phase-{part.phase}")
    narrow = part.high_s - part.low_s <= 0.1 * part.seconds or part.phase == "step"
    if narrow:
        return language.text("part", phase=phase, duration=Seconds(part.seconds))
    span = language.span(part.low_s, part.high_s, part.seconds)
    return language.text("part-span", phase=phase, duration=Seconds(part.seconds), span=span)


def group_cells(group: SlowGroup, run: Run, language: Language, *, room: int | None = None) -> tuple[str, str, str]:
    """Which iterations, how many of how many seconds each, and what one is made of: its largest parts in `room`."""
    shown = [part for part in group.parts if part.seconds >= _WORTH_A_PART * group.each_s]
    text = _parts_text(shown, language)
    while room is not None and len(shown) > 1 and cell_len(text) > room:
        shown.remove(min(shown, key=lambda part: part.seconds))
        text = _parts_text(shown, language)
    return group_place(group, run, language), language.duration(group.each_s), text


def group_place(group: SlowGroup, run: Run, language: Language) -> str:
    """Which iterations a group is, and how many."""
    first, last, count = group.steps[0], group.steps[-1], len(group.steps)
    span, steps = int(run.steps.span[first.row]), {slow.step for slow in group.steps}
    if count == 1 and span > 1:
        return language.text("slow-group-window", first=first.step - span + 1, last=first.step)
    if count > _NAMED and last.row - first.row == count - 1 and last.step > first.step:
        # One printed line after the other: a stretch, not an interval.
        where = language.text("slow-group-window", first=max(0, first.step - span + 1), last=last.step)
    elif group.every is not None:
        where = language.text("slow-group-every", every=group.every)
    elif len(steps) == 1:
        where = language.number(first.step)
    elif count <= _NAMED:
        return ", ".join(language.number(slow.step) for slow in group.steps)
    else:
        return language.text("slow-group-some", count=count)
    return language.text("slow-group-times", where=where, count=count) if count > 1 else where


def _parts_text(parts: list[Part], language: Language) -> str:
    return " + ".join(_about(part, language) for part in parts)


def slow_heading(groups: list[SlowGroup], run: Run, language: Language) -> str:
    """The heading of slow iterations; where each line of the log is of several, it says of how many."""
    spans = {int(run.steps.span[slow.row]) for group in groups for slow in group.steps}
    if len(spans) == 1 and min(spans) > 1:
        return language.text("section-slow-lines", count=spans.pop())
    return language.text("section-slow")


def _about(part: Part, language: Language) -> str:
    """One part of a slow step in as many digits as are sure."""
    phase = language.text(f"phase-{part.phase}")
    if part.high_s - part.low_s <= 0.1 * part.seconds or part.phase == "step":
        return language.text("part", phase=phase, duration=Seconds(part.seconds))
    return language.text("part-about", phase=phase, duration=About(part.seconds, part.low_s, part.high_s))


def drawn_phase(slow: SlowStep) -> Phase:
    """The phase in whose colour a slow step is drawn: its largest part other than training."""
    parts = [part for part in slow.parts if part.phase != "step"]
    return max(parts, key=lambda part: part.seconds).phase if parts else "stall"


def evidence_text(report: Report, slow: SlowStep, language: Language) -> str:
    """Why a slow step is taken to be what it is."""
    quotes = report.excerpts(slow)
    phases = {part.phase for part in slow.parts}
    found = []
    is_recorded = report.trace is not None and bool(report.trace.lanes)
    timed = [part for part in slow.parts if is_recorded and part.phase not in {"step", "stall"}]
    if timed:
        found.append(language.text("evidence-inside", parts=", ".join(part_text(part, language) for part in timed)))
    elif len(quotes) > 1:
        found.append(language.text("evidence-markers", line=quotes[0], save=quotes[1]))
    elif quotes:
        found.append(language.text("evidence-marker", line=quotes[0]))
    elif "evaluation" in phases:
        found.append(language.text("evidence-unprinted"))
    if "warmup" in phases:
        found.append(language.text("evidence-first"))
    stall = sum(part.seconds for part in slow.parts if part.phase == "stall")
    if stall:
        found.append(language.text("evidence-none", duration=Seconds(stall)))
    already_said = {"C01", "C02", "C04"}  # the quoted lines and the parts above say what these would
    if timed:
        already_said |= {"C08", "C35"}
    for finding in slow.candidates[:3]:
        if (finding.code not in already_said or finding.phase is not None) and finding.confidence >= _WORTH_NAMING:
            found.append(language.say(finding.evidence))
            found += [f"“{text}”" for _, text in reasons.quoted(report, finding.lines) if text not in quotes]
    return language.joined(list(dict.fromkeys(found)))


def slow_remarks(report: Report, language: Language) -> list[str]:
    """What there is to say about the slow steps as a whole."""
    inside = inside_text(report, language)
    remarks = [inside] if inside else []
    first = next((slow for slow in report.ledger.slow if slow.step == 0), None)
    if first is not None and _is_known_not_to_save(report.run, first):
        remarks.append(language.text("slow-first-no-save"))
    remarks += [language.say(message) for message in about_split(report)]
    if report.ledger.stamps_unusable:
        # Pipes that we read ourselves are not block-buffered, or nothing in them would have come in time.
        remarks.append(language.text("arrivals-unused" if report.run.is_recorded else "stamps-unusable"))
    remarks += clock_remarks(report, language)
    remarks += reasons.rhythm_lines(report, language)
    remarks += _stall_remarks(report, language)
    remarks += reasons.level_lines(report, language)
    remarks += reasons.finding_lines(report, language)
    remarks += [language.say(message) for message in what_would_settle(report)]
    return remarks


def _stall_remarks(report: Report, language: Language) -> list[str]:
    """How many slow steps hold seconds that nothing explains, and how many seconds those are."""
    stalls = [[part.seconds for part in slow.parts if part.phase == "stall"] for slow in report.ledger.slow]
    num_stalled = sum(bool(seconds) for seconds in stalls)
    if not num_stalled:
        return []
    total_s = sum(second for seconds in stalls for second in seconds)
    return [language.text("slow-unexplained", count=num_stalled, duration=Seconds(total_s))]


def _is_known_not_to_save(run: Run, first: SlowStep) -> bool:
    """Whether the warm-up of the first step could be mistaken for a checkpoint, but cannot be one."""
    phases = {part.phase for part in first.parts}
    if run.format.habits.saves_at_first_step is not False or not {"warmup", "evaluation"} <= phases:
        return False
    # A fork of the trainer may save there all the same, and then its log says so.
    events = zip(run.events.kind, run.events.row.tolist(), strict=True)
    return "checkpoint" not in phases and ("checkpoint", first.row) not in events


def more_slow(hidden: list[SlowStep], language: Language) -> str:
    """The slow steps that are not listed, by cause, and their seconds beyond training."""
    counts = Counter(slow.cause for slow in hidden)
    causes = []
    for cause, count in counts.most_common():
        parts = [part for slow in hidden if slow.cause == cause for part in slow.parts]
        seconds = sum(part.seconds for part in parts if part.phase != "step")
        causes.append(
            language.text(
                "slow-more-cause", count=count, cause=language.text(f"cause-{cause}"), duration=Seconds(seconds)
            )
        )
    return language.text("slow-more", count=len(hidden), causes=", ".join(causes))
