"""Bars inside the training's bar are evaluations: where they are drawn, and how long, even if a result comes late.

A bar counts only once the training's own bar has gone on behind it: one that is drawn before the training, or last in
the log, may be anything.
"""

from __future__ import annotations

from typing import NamedTuple

from stepscope.core.units import NS
from stepscope.reading.events import EventStore

# A result may be printed long after its bar, through a buffer: it is the bar's if both took about as long.
_SLACK_S = 5.0
_SLACK = 0.1


class NestedBar(NamedTuple):
    """A bar that is not the training's: its total, where it began, the rows before it, and its last elapsed time."""

    total: int | None
    line: int
    row: int
    segment: int
    elapsed_ns: int
    text: str


class NestedBars:
    """The bar drawn last that is not the training's, and those that were evaluations without a result so far."""

    def __init__(self) -> None:
        self._open: NestedBar | None = None
        self._done: tuple[int | None, int] | None = None  # the total and the rows before a bar whose result has come
        self._waiting: list[tuple[int, int]] = []  # the number of an event, and its nanoseconds

    def draw(self, bar: NestedBar, events: EventStore) -> None:
        """Another state of a bar, or the first of another one."""
        if (bar.total, bar.row) == self._done:
            return  # it is drawn once more below its result
        before = self._open
        is_same = before is not None and (bar.total, bar.row) == (before.total, before.row)
        if before is not None and is_same and bar.elapsed_ns >= before.elapsed_ns:
            self._open = before._replace(elapsed_ns=bar.elapsed_ns)
            return
        self.settle(events, bar.row)
        self._open = bar

    def settle(self, events: EventStore, num_rows: int) -> None:
        """Book the open bar as an evaluation, if the training's went on behind it."""
        bar = self._open
        if bar is None or bar.row >= num_rows:
            return
        self._open = None
        if not bar.row or bar.elapsed_ns <= 0:
            return
        events.add(
            "evaluation",
            {"took_s": repr(bar.elapsed_ns / NS)},
            step=None,
            row=bar.row,
            line=bar.line,
            stamp=None,
            before=None,
            segment=bar.segment,
            loss=None,
            rank=None,
            text=bar.text,
        )
        self._waiting.append((len(events) - 1, bar.elapsed_ns))

    def take_result(self, events: EventStore, took_ns: int | None, loss: float | None, num_rows: int) -> bool:
        """Whether an evaluation's line is the result of a bar that is booked already; an open bar is its own."""
        self.settle(events, num_rows)
        if self._open is not None:
            self._done = self._open.total, self._open.row
            self._open = None
            return False
        for place, (event, elapsed_ns) in enumerate(self._waiting):
            if took_ns is not None and abs(took_ns - elapsed_ns) <= max(_SLACK_S * NS, _SLACK * elapsed_ns):
                events.complete(event, took_ns, loss)
                del self._waiting[place]
                return True
        return False
