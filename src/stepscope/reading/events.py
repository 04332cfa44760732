"""The evaluations, saves and other events of a log while it is read, as columns."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping

import numpy as np

from stepscope.core.units import NS
from stepscope.lines.figures import MAX_NS, figure_ns, whole
from stepscope.reading.clock_steps import SteadyClock
from stepscope.reading.event_numbers import DURATION, SEGMENT, STEP, EventNumbers
from stepscope.reading.rows import RowStore
from stepscope.run.model import NO_TIME, EventTable

KINDS = frozenset({"evaluation", "checkpoint", "gc", "data"})
_MAX_EXCERPTS = 5_000
_MAX_EXCERPT_CHARS = 1_000
_FIGURE = re.compile(r"\d+\.\d+%?")
_BAR = re.compile(r"\d{1,3}%|\d+/\d+|\d+it \[|[━╸╺─]{3}")
_TOOK = {"took_ms": "dur_ms", "took_s": "dur_s", "took_clock": "dur_clock"}


class EventProgress:
    """An evaluation that prints the mean time of its batches on the way."""

    def __init__(self) -> None:
        self._batch = -1
        self._spacing = 0

    @property
    def is_open(self) -> bool:
        """Whether a line has shown how far it was."""
        return self._batch >= 0

    def advance(self, groups: Mapping[str, str | None]) -> int | None:
        """How long the event takes, in nanoseconds, as of this line; None where the line is another event's."""
        batch, batches = whole(groups.get("took_batch")), whole(groups.get("took_batches"))
        mean = figure_ns({"dur_s": groups.get("took_mean_s"), "dur_ms": groups.get("took_mean_ms")})
        if batch is None or mean is None or mean < 0 or batch <= self._batch:
            return None
        if self._batch >= 0:
            self._spacing = batch - self._batch
        self._batch = batch
        # The last line before the end is not always printed: the next one would be behind it.
        is_over = batches is not None and batch + self._spacing >= batches
        return _believed(mean * (max(batch, batches or 0) if is_over else batch + 1))


class EventStore:
    """Columns that grow with each event line."""

    def __init__(self) -> None:
        self._kind: list[str] = []
        self._numbers = EventNumbers()
        self._loss = array("d")
        self._last_rank: int | None = None
        self._last = "", -1  # kind and row of the last event
        self._label: str | None = None  # of the bar that the last event is
        self._before_bar = 0  # what other bars of it took
        self._progress = EventProgress()  # of the last event
        self.excerpts: dict[int, str] = {}

    def is_repeated(
        self, kind: str, row: int, groups: Mapping[str, str | None], *, rank: int | None, bar: str | None
    ) -> bool:
        """Whether the event is the last one again: another state of its bar, or another rank's word for it.

        Of several bars at one place, each is a part of it. `bar` is the label and the total of a line that draws one.
        """
        label, self._label = self._label, bar
        if self._last != (kind, row):
            self._before_bar = 0
            return False
        is_bar = bar is not None
        took = took_ns(groups) if is_bar else None
        if took is not None and took >= 0:
            printed = self._numbers.get(len(self) - 1, DURATION)
            if label is not None and bar != label and printed != NO_TIME:
                self._before_bar = printed
            self._numbers.put(len(self) - 1, DURATION, self._before_bar + took)  # the last state is the final one
        return is_bar or (rank is not None and rank != self._last_rank and self._last_rank is not None)

    def is_same_again(self, kind: str, groups: Mapping[str, str | None], row: int, loss: float | None) -> bool:
        """Whether result and time are those of the last event, to the digit: two loggers print it."""
        took = took_ns(groups)
        if self._last != (kind, row) or not took or loss is None:
            return False
        return (took, loss) == (self._numbers.get(len(self) - 1, DURATION), self._loss[-1])

    def add(
        self,
        kind: str,
        groups: Mapping[str, str | None],
        *,
        step: int | None,
        row: int,
        line: int,
        stamp: int | None,
        before: int | None,
        segment: int,
        loss: float | None,
        rank: int | None,
        text: str,
        is_on_row: bool = False,
    ) -> None:
        """One more event, before row `row`, or on its very line."""
        self._progress = EventProgress()
        took = self._progress.advance(groups) if groups.get("took_batch") else took_ns(groups)
        self._kind.append(kind)
        self._last_rank, self._last = rank, (kind, row)
        self._numbers.append(
            (
                -1 if step is None else step,
                line,
                NO_TIME if stamp is None else stamp,
                NO_TIME if before is None else before,
                segment,
                NO_TIME if took is None or took < 0 else took,
                int(is_on_row),
            )
        )
        self._loss.append(math.nan if loss is None else loss)
        if len(self.excerpts) < _MAX_EXCERPTS:
            self.excerpts[line] = text[:_MAX_EXCERPT_CHARS]

    def continue_last(self, kind: str, groups: Mapping[str, str | None], row: int, loss: float | None) -> bool:
        """Whether the line only goes on about the last event: further batches of it, its result, or its time alone."""
        if self._last != (kind, row):
            return False
        if not self._progress.is_open:
            return self._add_half(groups, loss)
        if not groups.get("took_batch"):
            return took_ns(groups) is None
        took = self._progress.advance(groups)
        if took is None:
            return False
        self._numbers.put(len(self) - 1, DURATION, took)
        return True

    def _add_half(self, groups: Mapping[str, str | None], loss: float | None) -> bool:
        """Whether of two lines about one event one says what came out and the other, alone, how long it took."""
        last = len(self) - 1
        took = took_ns(groups)
        if groups.get("step") or groups.get("took_batch"):
            return False
        if took is not None and took >= 0 and loss is None and self._numbers.get(last, DURATION) == NO_TIME:
            self._numbers.put(last, DURATION, took)
            return True
        if took is None and loss is not None and self._is_time_alone(last):
            self._loss[-1] = loss
            return True
        return False

    def _is_time_alone(self, last: int) -> bool:
        numbers = self._numbers
        return numbers.get(last, STEP) < 0 and numbers.get(last, DURATION) != NO_TIME and math.isnan(self._loss[-1])

    def __len__(self) -> int:
        return len(self._kind)

    def complete(self, event: int, took_ns: int, loss: float | None) -> None:
        """A later line says what an event found, and how long it took."""
        self._numbers.put(event, DURATION, took_ns)
        self._loss[event] = math.nan if loss is None else loss

    def drop_rows(self, first: int, segment: int) -> None:
        """Rows from `first` on turned out not to belong to the run, whose last segment is now `segment`."""
        self._last = self._last[0], min(self._last[1], first)
        if self._kind:
            self._numbers.limit(SEGMENT, segment)

    def table(self, rows: RowStore, clock: SteadyClock, *, follow_step: bool) -> EventTable:
        """A frozen copy of what has grown so far.

        An event belongs to the row printed after its line, or to the one before it where events follow their step.
        """
        step, line, stamp, before, segment, took, is_on_row = self._numbers.columns()
        row = np.maximum(rows.rows_before(line) - 1, 0) if follow_step else rows.rows_before(line - is_on_row)
        return EventTable(
            kind=tuple(self._kind),
            step=step,
            row=row,
            line=line,
            t_ns=clock.place(stamp, line),
            before_ns=clock.place(before, line - 1),
            val_loss=np.array(self._loss, dtype=np.float64),
            took_ns=took,
            segment=segment,
        )


def _believed(nanos: int) -> int | None:
    """A product of what a line says, unless nothing takes that long."""
    return nanos if nanos < MAX_NS else None


def took_ns(groups: Mapping[str, str | None]) -> int | None:
    """How long an event took by its own line."""
    stated = {own: groups.get(name) for name, own in _TOOK.items()}
    own = figure_ns(stated) if any(stated.values()) else None
    num = whole(groups.get("took_samples"))
    if not num:
        return own
    # A full bar's rate is that of the whole of it, and finer than its clock of whole seconds.
    each = figure_ns({"it_per_s": groups.get("took_per_s"), "s_per_it": groups.get("took_mean_s")})
    if each is None or each < 0:
        return own
    if own is None or own < 0:
        return _believed(num * each)
    return min(max(num * each, own), own + NS)


def label_of(text: str) -> str:
    """What a bar is called: the same in each of its states, whatever figures it shows."""
    found = _BAR.search(text, 0, _MAX_EXCERPT_CHARS)
    return _FIGURE.sub("#", text[: found.start() if found else _MAX_EXCERPT_CHARS])
