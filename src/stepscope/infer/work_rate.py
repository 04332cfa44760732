"""Tokens or samples a second: the time of a step once the log also says how many of them a step takes."""

from __future__ import annotations

import re

import numpy as np

from stepscope.columns.statistics import median
from stepscope.infer.choice import Choice, StatedWork
from stepscope.infer.counter import whole
from stepscope.infer.figure_meaning import CONFIDENCE
from stepscope.infer.kinds import Kind, SeenLine, SortedKinds
from stepscope.infer.line_parts import Field
from stepscope.infer.patterns import write_pattern
from stepscope.infer.step_rows import StepLines
from stepscope.infer.time_figures import Floats, Meaning, TimeColumn, median_pace, number, paces_of
from stepscope.lines.format import Line

_UNITS = {
    "tokens_per_step": re.compile(r"tok(?:en)?s?/s"),
    "samples_per_step": re.compile(r"(?:samples?|examples?|seq(?:uence)?s?)/s"),
}
_STATED = {
    "tokens_per_step": re.compile(
        r"(?i)(?<![a-z])tok(?:en)?s?[ _]?(?:/|per)[ _]?(?:[a-z]+[ _]){0,2}(?:step|iter(?:ation)?|update)s?(?![a-z])"
        r"\D{0,20}"
        r"|(?<![a-z])batch[ _]size[ _](?:in |\()tok(?:en)?s\D{0,10}"
    ),
    "samples_per_step": re.compile(
        r"(?i)(?<![a-z])(?:global|effective|total)[ _](?:train(?:ing)?[ _])?batch[ _]size(?![a-z])\D{0,12}"
        r"|(?<![a-z])(?:samples?|sequences?)[ _]?(?:/|per)[ _]?(?:step|iter(?:ation)?|update)(?![a-z])\D{0,12}"
    ),
}
# A rate of one device says nothing of a step that all of them do together.
_ONE_DEVICE = re.compile(r"(?i)/s\w*\s?/|per[ _-]?(?:gpu|device|rank|chip|core)|(?:gpu|device|rank|chip|core)s?\b")


def work_clock(kind: Kind, texts: list[list[str]], rows: StepLines, found: SortedKinds) -> Choice | None:
    """The clock of lines that print such a rate, where another line states the work of a step."""
    for at, field in enumerate(kind.shape.fields):
        group = next((name for name, unit in _UNITS.items() if unit.match(field.unit)), None)
        if group is None or _ONE_DEVICE.search(f"{field.key} {kind.shape.texts[at + 1][:20]}"):
            continue
        work = _stated_work(group, kind, found)
        if work is not None:
            return _choice(at, field, np.array([number(row[at]) for row in texts]) / work.amount, rows, work)
    return None


def _choice(at: int, field: Field, rates: Floats, rows: StepLines, work: StatedWork) -> Choice | None:
    column = TimeColumn(at, field, ("rate",), 1.0, rates)
    pace = median_pace(paces_of(column, "rate", rows.since, rows.resets, rows.left))
    if pace is None:
        return None
    meaning = Meaning(column, "rate", 1.0, "unit", CONFIDENCE["unit"], pace)
    return Choice("window" if median(rows.since) > 1 else "step", meaning, "unit", CONFIDENCE["unit"], work=work)


def _stated_work(group: str, kind: Kind, found: SortedKinds) -> StatedWork | None:
    """What lines before the first step state; None where they state nothing, or two things."""
    stated = [
        work
        for other in found.kinds
        if other is not kind
        for entry in other.entries[:1]
        if entry.number < kind.numbers[0] and (work := _in_line(group, entry)) is not None
    ]
    return stated[0] if len({work.amount for work in stated}) == 1 else None


def _in_line(group: str, entry: SeenLine) -> StatedWork | None:
    said = _STATED[group].search(entry.text)
    if said is None:
        return None
    for at, field in enumerate(entry.shape.fields):
        amount = whole(field.text) if field.start == said.end() and field.kind == "number" else None
        if amount:
            pattern = write_pattern([entry.shape], {at: group}, anchor=at)
            return StatedWork(Line("fact", pattern), said[0].strip() + " " + field.text, amount)
    return None
