"""Run: what a log says, as columns. Frozen; every later stage takes one and returns something new.

What it is made of is in `tables.py` (columns) and `parts.py` (the rest), and is imported from here.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stepscope.core.settings import Settings
from stepscope.lines.format import Clock, Format
from stepscope.run.epoch_means import EpochMean, placed
from stepscope.run.folds import Folds
from stepscope.run.parts import (
    Asides,
    Candidate,
    ClockStep,
    Notice,
    Rank,
    RemarkKind,
    Runtime,
    Segment,
    Skips,
    Stamps,
    UnreadFamily,
)
from stepscope.run.tables import NO_TIME, EventTable, Floats, Ints, StepTable, steps_since
from stepscope.source.recording import Exit

if TYPE_CHECKING:
    from stepscope.run.stops import Stop

__all__ = [
    "NO_TIME",
    "Asides",
    "Candidate",
    "ClockStep",
    "EventTable",
    "Floats",
    "Ints",
    "Notice",
    "Rank",
    "RemarkKind",
    "Run",
    "Runtime",
    "Segment",
    "Skips",
    "Stamps",
    "StepTable",
    "UnreadFamily",
    "steps_since",
]

# A process that dies of an exception prints no more than this after it: the launcher's summary.
_LAST_WORDS_LINES = 60


@dataclass(frozen=True, kw_only=True)
class Run:
    """Everything read from a log, and nothing concluded from it."""

    paths: tuple[str, ...]
    format: Format
    encoding: str
    num_lines: int
    num_unread: int
    first_unread: tuple[tuple[int, str], ...]
    steps: StepTable
    events: EventTable
    segments: tuple[Segment, ...]
    settings: Settings
    notices: tuple[Notice, ...]
    excerpts: Mapping[int, str] = field(default_factory=dict)  # line number → the line as it is, events and remarks
    remarks: tuple[RemarkKind, ...] = ()
    num_nonfinite: int = 0
    first_nonfinite: tuple[int, int] | None = None  # (step, line) of the first NaN or infinite loss
    last_nonfinite: tuple[int, int] | None = None  # the same of the last
    skips: Skips | None = None
    stamps: Stamps | None = None
    clock_steps: tuple[ClockStep, ...] = ()  # where the timestamps do not run on
    mtime: float | None = None
    tick_ns: int = 0  # resolution of the clock that timed the rows; 0 where it is fine
    order: Literal["given", "stamps", "steps"] = "given"  # how several files were put in order
    repeated_paths: tuple[str, ...] = ()  # files left out because another one holds the same lines
    figure_doubt: float = 0.0  # how far the figures of all rows may be off together, as a share
    rate_tick: float = 0.0  # last digit of the mean rate since the start that the clock was worked out from
    times_rows: bool = False  # each figure is the time of all steps of its row, of which it is made the mean
    is_interval: bool = False  # the figure that should be one step's covers all steps since the last line
    means: tuple[EpochMean, ...] = ()  # of the epochs whose lines print them
    runtimes: tuple[Runtime, ...] = ()
    folds: Folds | None = None  # where the log says that it holds several trainings
    ranks: tuple[Rank, ...] = ()  # the ranks, where several print their steps
    unread: tuple[UnreadFamily, ...] = ()  # what was not understood, as far as it was kept
    passed: tuple[UnreadFamily, ...] = ()  # what the format knows and passes over, as far as it was kept
    num_other_rows: int = 0  # steps of another writer without a tag, which are not in `steps`
    candidates: tuple[Candidate, ...] = ()  # the formats that were tried on the log, the one that reads it first
    asides: Asides = field(default_factory=Asides)
    is_recorded: bool = False  # the timestamps are arrivals that we saw ourselves
    by_figures: bool = False  # what the lines print times the rows, as there are no timestamps
    by_arrival: bool = False  # they time the rows, instead of the coarser clock that the lines print
    exit: Exit | None = None  # how the recorded command ended

    def __repr__(self) -> str:
        """One line: which log, which trainer, which steps."""
        steps = self.steps.step
        extent = f"{len(steps)} step rows {steps[0]} to {steps[-1]}" if len(steps) else "no step rows"
        return f"<Run {', '.join(self.paths) or '-'}: {self.format.title}, {extent}, {self.num_lines} lines>"

    def to_pandas(self) -> Any:
        """The step rows as a pandas DataFrame: step, seconds of one step, steps covered, loss, line, timestamp."""
        from stepscope.run.frame import frame  # frame.py imports this module

        return frame(self)

    @cached_property
    def stops(self) -> tuple[Stop, ...]:
        """Where training paused for an evaluation, a checkpoint or both, in order. Worked out once."""
        from stepscope.run.stops import find_stops  # stops.py imports this module

        return find_stops(self)

    @cached_property
    def shown_stops(self) -> tuple[Stop, ...]:
        """The stops that do not depend on the settings: all but those in holes of the log."""
        from stepscope.run.stops import find_shown_stops  # stops.py imports this module

        return find_shown_stops(self)

    def with_settings(self, settings: Settings) -> Run:
        """The same run with other settings; what does not depend on them need not be worked out again."""
        copy = dataclasses.replace(self, settings=settings)
        if "shown_stops" in self.__dict__:
            copy.__dict__["shown_stops"] = self.shown_stops
        return copy

    def with_stops(self, stops: Sequence[Stop]) -> Run:
        """The same run with other stops than its lines show."""
        copy = dataclasses.replace(self)
        copy.__dict__["stops"] = tuple(stops)
        return copy

    @property
    def last_words(self) -> tuple[Notice, ...]:
        """The notices about the run's end after its last step, including a line that says it is done.

        An exception without a traceback may be one that was caught: it counts near the last line only.
        """
        return tuple(
            notice
            for notice in self.notices
            if notice.row == len(self.steps)
            and notice.kind not in {"early_stop", "closing"}
            and (notice.kind != "error" or self.num_lines - notice.line <= _LAST_WORDS_LINES)
        )

    @property
    def has_stopped_early(self) -> bool:
        """Whether the log says after its last step that training stops early by design."""
        return any(notice.kind == "early_stop" and notice.row == len(self.steps) for notice in self.notices)

    @property
    def doubt_ns(self) -> Ints:
        """Per row, how far its time may be off because its clock counts in ticks."""
        is_each = self.clock.covers in {"step", "window"} and not (
            self.clock.is_sum or self.is_interval or self.times_rows
        )
        spans = self.steps.span if is_each else np.minimum(self.steps.span, 1)
        return spans * self.tick_ns

    @property
    def num_trainings_left(self) -> int:
        """How many trainings come after the last one of the log, where it says so."""
        return 0 if self.folds is None else self.folds.num_left(self.num_trainings)

    @property
    def num_trainings(self) -> int:
        """How many trainings the log holds, one after the other."""
        return self.segments[-1].training + 1 if self.segments else 0

    def training(self, number: int) -> Run:
        """The part of the run that is one training, as a run of its own; -1 for the last."""
        number %= max(1, self.num_trainings)
        return self.trainings(number, number)

    def trainings(self, first_of: int, last_of: int) -> Run:
        """The part of the run from one training to another, as one training of its own."""
        count = self.num_trainings
        if count <= 1:
            return self
        own = self._segments_of(first_of, last_of)
        first, last = self.segments[own[0]], self.segments[own[-1]]
        rows = slice(first.first_row, last.first_row + last.num_rows)
        # An event of a segment whose first row is yet to come belongs to the last training.
        upto = own[-1] if last_of < count - 1 else len(self.segments)
        return dataclasses.replace(
            self,
            steps=self.steps.cut(rows, own[0]),
            events=self.events.cut(rows.start, own[0], upto),
            segments=tuple(
                Segment(first_row - rows.start, num_rows, fresh, 0)
                for first_row, num_rows, fresh, _ in self.segments[own.start : own.stop]
            ),
            stamps=self._stamps_of(rows, own[0], upto),
            means=placed(self.means, rows.start, rows.stop),
            remarks=tuple(remark.cut(rows.start, rows.stop) for remark in self.remarks),
            asides=self.asides._replace(rate=None, rate_unit=None) if last_of == count - 1 else Asides(),
            exit=self.exit if last_of == count - 1 else None,
            notices=tuple(
                notice._replace(row=notice.row - rows.start)
                for notice in self.notices
                if rows.start < notice.row <= rows.stop or notice.row == rows.start == 0
            ),
        )

    def _segments_of(self, first: int, last: int) -> range:
        """The segments of the trainings from one to another, by their indices."""
        numbers = attrgetter("training")
        return range(bisect_left(self.segments, first, key=numbers), bisect_right(self.segments, last, key=numbers))

    def until(self, row: int) -> Run:
        """The run as its log showed it when `row` had just been printed; settings stay those of the whole log."""
        line = int(self.steps.line[row])
        rows, num_segments = slice(0, row + 1), int(self.steps.segment[row]) + 1
        last = self.segments[num_segments - 1]
        events = self.events.until(line, num_segments)
        moments = np.concatenate([self.steps.t_ns[rows], events.t_ns])
        lines = np.concatenate([self.steps.line[rows][: len(self.steps.t_ns)], events.line])
        return dataclasses.replace(
            self,
            num_lines=line,
            steps=self.steps.cut(rows, 0),
            events=events,
            segments=(*self.segments[: num_segments - 1], last._replace(num_rows=row + 1 - last.first_row)),
            stamps=self._stamps_until(moments, lines),
            means=placed(self.means, 0, row + 1),
            clock_steps=tuple(step for step in self.clock_steps if step.line <= line),
            remarks=tuple(remark.cut(0, row + 1) for remark in self.remarks),
            notices=tuple(notice for notice in self.notices if notice.line <= line),
            runtimes=tuple(runtime for runtime in self.runtimes if runtime.line <= line),
            ranks=(),
            asides=Asides(),
        )

    def _stamps_until(self, moments: Ints, lines: Ints) -> Stamps | None:
        """The timestamps up to the last of these moments, each of a line."""
        known = moments != NO_TIME
        if self.stamps is None or not known.any():
            return None
        return self.stamps._replace(last_ns=int(moments[known].max()), last_line=int(lines[known].max()))

    def _stamps_of(self, rows: slice, first: int, last: int) -> Stamps | None:
        """The timestamps between a training's first and last line: of its rows, and of its events at either end."""
        if self.stamps is None:
            return None
        is_own = (self.events.segment >= first) & (self.events.segment <= last)
        moments = np.concatenate([self.steps.t_ns[rows], self.events.t_ns[is_own]])
        moments = moments[moments != NO_TIME]
        if not len(moments):
            return None
        begins = self.stamps.first_ns if rows.start == 0 else int(moments.min())
        ends = self.stamps.last_ns if rows.stop == len(self.steps) else int(moments.max())
        return self.stamps._replace(first_ns=begins, last_ns=ends)

    @property
    def clock(self) -> Clock:
        """What the log's time figure means."""
        if self.is_interval:
            return self.format.clock._replace(
                covers="window",
                note="The timestamps show that the printed time is that of all steps since the last line, not of one.",
            )
        if self.by_figures:
            includes = self.format.clock.figure_includes
            return self.format.clock._replace(
                covers="window", includes=self.format.clock.includes if includes is None else includes
            )
        if self.by_arrival:
            return self.format.clock._replace(
                covers="stamp",
                note="The recorded arrival of each line; the clock that the lines print is coarser.",
            )
        return self.format.clock

    def __len__(self) -> int:
        return len(self.steps)
