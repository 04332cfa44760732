"""Evaluations and checkpoints on a step's own line: what they found, or how long they took, among its figures."""

from __future__ import annotations

from typing import NamedTuple

from stepscope.core.units import NS
from stepscope.lines.figures import MAX_NS, OWN_EVENTS
from stepscope.reading.events import EventStore
from stepscope.reading.step_line import EVALUATED, Groups, number
from stepscope.run.model import NO_TIME


class RowPlace(NamedTuple):
    """A row by its number, and where and when its line was written."""

    row: int
    step: int
    line: int
    segment: int
    stamp: int | None
    trained: int | None = None  # when the line came that says that its training is done


class OwnEvent(NamedTuple):
    """An evaluation or a checkpoint on a step's line, and the groups that time it.

    `after_s`: how long it took, where the step's own figure ended before it began.
    """

    kind: str
    groups: Groups
    after_s: float = 0.0


def find_own_events(groups: Groups) -> list[OwnEvent]:
    """The events on a step's line; those of no length did not happen."""
    found = []
    if any(groups.get(name) for name in EVALUATED):
        found.append(OwnEvent("evaluation", groups))
    for name, kind in OWN_EVENTS.items():
        seconds = number(groups.get(name))
        if seconds is not None and 0 < seconds < MAX_NS / NS:
            after_s = seconds if name.endswith("_after_s") else 0.0
            found.append(OwnEvent(kind, {"took_s": groups[name]}, after_s))
    return found


def with_those_after(figure: int | None, events: list[OwnEvent]) -> int:
    """A step's figure with the events after it: for all rows alike, they are inside."""
    return NO_TIME if figure is None else figure + sum(round(event.after_s * NS) for event in events)


def add_own_events(store: EventStore, events: list[OwnEvent], row: RowPlace, text: str) -> None:
    """The events on the line of a row."""
    for event in events:
        store.add(
            event.kind,
            event.groups,
            step=row.step,
            row=row.row,
            line=row.line,
            stamp=row.stamp,
            before=row.trained if event.kind == "evaluation" else None,  # the line's timestamp is the step's, too
            segment=row.segment,
            loss=number(event.groups.get("val_loss")),
            rank=None,
            text=text,
            is_on_row=True,
        )
