"""Run: what a log says, as columns. Frozen; every later stage takes one and returns something new.

Times are whole nanoseconds. A missing number is NaN in a float column and `NO_TIME` in a time column.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.columns.decimals import Printed, take, unpack
from stepscope.columns.run_length import Pieces
from stepscope.core.settings import Settings
from stepscope.core.units import NS
from stepscope.lines.format import Clock, Format
from stepscope.lines.notices import NoticeKind
from stepscope.source.recording import Exit

if TYPE_CHECKING:
    from stepscope.run.stops import Stop

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NO_TIME = np.iinfo(np.int64).min
# A process that dies of an exception prints no more than this after it: the launcher's summary.
_LAST_WORDS_LINES = 60


@dataclass(frozen=True, kw_only=True)
class StepTable:
    """One row per printed step, in the order of the file. Whole numbers are as narrow as they may be.

    A log may have tens of millions of rows: what follows from the other columns is worked out when it is asked for.
    """

    kept_step: Pieces | Ints
    kept_dur: Printed | Ints
    spans: Ints | None  # None: every row covers the steps since the one before it
    kept_loss: Printed | Floats
    kept_mfu_pct: Printed | Floats
    data_s: Floats  # waiting for the batch of one step, where the line says so; a mean where `dur_ns` is one
    work: Floats  # tokens, or another measure of the step's work, where the line states one
    kept_line: Pieces | Ints
    t_ns: Ints  # arrival or printed timestamp; empty when the log has none
    first_rows: Ints  # the first row of each segment
    merged: Ints | None = None  # how many printed rows each one is, where those of a very long run are merged

    def __len__(self) -> int:
        return len(self.kept_loss.numbers if isinstance(self.kept_loss, Printed) else self.kept_loss)

    @cached_property
    def dur_ns(self) -> Ints:
        """Of one step: the printed time, or the mean of those the row covers."""
        return unpack(self.kept_dur)

    @cached_property
    def loss(self) -> Floats:
        """The loss that each row prints."""
        return unpack(self.kept_loss)

    @cached_property
    def mfu(self) -> Floats:
        """The utilisation that each row prints, as a share."""
        percent = unpack(self.kept_mfu_pct)
        return np.where((percent > 0) & (percent < np.inf), percent / 100, np.nan)

    @cached_property
    def step(self) -> Ints:
        """The number of each row's step."""
        return unpack(self.kept_step)

    @cached_property
    def line(self) -> Ints:
        """The line of the log that each row was printed on."""
        return unpack(self.kept_line)

    def cut(self, rows: slice, first_segment: int) -> StepTable:
        """Some rows as a table of their own, from the first of a segment on."""
        own = self.first_rows[first_segment:].tolist()
        return StepTable(
            kept_step=self.step[rows],
            kept_dur=self.dur_ns[rows],
            spans=None if self.spans is None else self.spans[rows],
            kept_loss=self.loss[rows],
            kept_mfu_pct=take(self.kept_mfu_pct, rows),
            data_s=self.data_s[rows],
            work=self.work[rows],
            kept_line=self.line[rows],
            t_ns=self.t_ns[rows],
            first_rows=np.array([row - rows.start for row in own if row < rows.stop], dtype=np.int64),
            merged=None if self.merged is None else self.merged[rows],
        )

    @property
    def num_printed(self) -> int:
        """How many rows the log prints."""
        return len(self) if self.merged is None else int(self.merged.sum())

    def num_printed_of(self, rows: npt.NDArray[np.bool_]) -> int:
        """How many of the rows that the log prints are in some of these."""
        return int(rows.sum() if self.merged is None else self.merged[rows].sum())

    @property
    def seconds(self) -> Floats:
        """Seconds each row covers: its mean times its number of steps."""
        return self.dur_ns * self.span / NS

    @cached_property
    def span(self) -> Ints:
        """How many steps `dur_ns` is the mean of; 0 where the row has no time."""
        return steps_since(self.step, self.first_rows) if self.spans is None else self.spans

    @cached_property
    def segment(self) -> Ints:
        """Which segment each row belongs to."""
        if len(self.first_rows) == 1:
            return np.broadcast_to(np.int64(0), len(self))
        counts = np.diff(self.first_rows, append=len(self))
        return np.repeat(np.arange(len(self.first_rows), dtype=np.int64), counts)


def steps_since(step: Ints, first_rows: Ints) -> Ints:
    """How many steps each row is after the one before it; 1 for the first of a segment."""
    since: Ints = np.diff(step, prepend=0)
    since[first_rows] = 1
    return since


@dataclass(frozen=True, kw_only=True)
class EventTable:
    """Evaluations and checkpoints. `row` is the step row that follows the event, or len(steps) when none does yet."""

    kind: tuple[str, ...]
    step: Ints  # -1 where the line does not say
    row: Ints
    line: Ints
    t_ns: Ints
    before_ns: Ints  # timestamp of the line before the event's line: where its work began
    val_loss: Floats
    took_ns: Ints  # how long it took, where its line says so
    segment: Ints

    def __len__(self) -> int:
        return len(self.kind)

    @cached_property
    def _by_row(self) -> tuple[Ints, Ints]:
        """The events in the order of their rows, and these rows."""
        order = np.argsort(self.row, kind="stable")
        return order, self.row[order]

    def before(self, row: int) -> list[int]:
        """The events of one row, by their indices. Asked for row by row, it searches and looks through nothing."""
        if not self.kind:
            return []
        order, rows = self._by_row
        first, last = np.searchsorted(rows, (row, row + 1)).tolist()
        found: list[int] = order[first:last].tolist()
        return found

    def cut(self, first_row: int, first_segment: int, last_segment: int) -> EventTable:
        """The events of some segments, whose rows and segments count from 0."""
        own = np.flatnonzero((self.segment >= first_segment) & (self.segment <= last_segment))
        return EventTable(
            kind=tuple(self.kind[index] for index in own.tolist()),
            step=self.step[own],
            row=np.maximum(self.row[own] - first_row, 0),
            line=self.line[own],
            t_ns=self.t_ns[own],
            before_ns=self.before_ns[own],
            val_loss=self.val_loss[own],
            took_ns=self.took_ns[own],
            segment=self.segment[own] - first_segment,
        )

    def until(self, line: int, num_segments: int) -> EventTable:
        """The events up to a line of the log."""
        own = np.flatnonzero((self.line <= line) & (self.segment < num_segments))
        return EventTable(
            kind=tuple(self.kind[index] for index in own.tolist()),
            step=self.step[own],
            row=self.row[own],
            line=self.line[own],
            t_ns=self.t_ns[own],
            before_ns=self.before_ns[own],
            val_loss=self.val_loss[own],
            took_ns=self.took_ns[own],
            segment=self.segment[own],
        )


class Segment(NamedTuple):
    """One process's life in the log. `fresh` when its first iteration is in the log, compile and all.

    `training` counts trainings: a restart goes on with the same one, another phase or another run is the next.
    """

    first_row: int
    num_rows: int
    fresh: bool
    training: int = 0


class Rank(NamedTuple):
    """One rank's own lines: its timed steps, how many it printed, and the host it ran on, where that is known."""

    number: int
    step: Ints
    dur_ns: Ints
    num_steps: int
    host: str = ""


class Notice(NamedTuple):
    """A line about the run's end or failure: its place in the log, and its text (already fit to quote)."""

    kind: NoticeKind
    line: int
    row: int
    text: str
    type_name: str | None = None
    t_ns: int = NO_TIME  # the last timestamp there was


class RemarkKind(NamedTuple):
    """Lines of one wording that say nothing we read. `row` is the step row that follows, as for events."""

    name: str
    line: Ints
    row: Ints
    t_ns: Ints

    def cut(self, first_row: int, end_row: int) -> RemarkKind:
        """The lines before some rows, with rows counted from the first of these."""
        own = (self.row >= first_row) & (self.row < end_row)
        return RemarkKind(self.name, self.line[own], self.row[own] - first_row, self.t_ns[own])


class Runtime(NamedTuple):
    """How long the whole run took, by a line of the log: what the line calls it, and its place."""

    name: str
    seconds: float
    line: int
    row: int


class UnreadFamily(NamedTuple):
    """Lines that the format does not claim, or passes over, and that differ in their numbers only. Not redacted."""

    key: str  # the text with every number as 0
    num: int
    first_line: int
    last_line: int
    first: str
    second: str  # of its second line, to see how its numbers go on
    last: str


class Candidate(NamedTuple):
    """A format that may have written the log: its share of the evidence and its rows.

    Their seconds and the lines left over are known where the format was tried; where another was clearly ahead, it was
    not.
    """

    format: str
    share: float
    num_rows: int = 0
    seconds: float | None = None
    num_unread: int | None = None


class Asides(NamedTuple):
    """What step lines of a short log say besides their step and their time.

    left_s
        Seconds that the last one says are left: of the run, or of a progress bar
    bar_left
        How much the last one's progress bar has still to count
    is_past_total
        Whether the last one says that it is past 100 %
    rate, rate_unit
        By row, how much a second it prints, and of what; both None where no row does
    mean_s, mean_wait_s
        The means that it prints of all steps, those between its lines included: of a step, and of its wait for data
    parts
        By row, the seconds of the parts of its step that it times by name; empty where no row does
    """

    left_s: float | None = None
    is_left_of_bar: bool = False
    bar_left: int | None = None
    is_past_total: bool = False
    rate: Floats | None = None
    rate_unit: str | None = None
    mean_s: float | None = None
    mean_wait_s: float | None = None
    parts: tuple[Mapping[str, float], ...] = ()


class Skips(NamedTuple):
    """Optimizer steps that were skipped: how many, at which step and line the first, since when all of them are."""

    num: int
    step: int
    line: int
    since: int | None


class Stamps(NamedTuple):
    """The timestamps at the beginning of lines. Only their differences are certain unless `dated`."""

    first_ns: int
    last_ns: int
    dated: bool
    zoned: bool
    daily: bool  # times of day without a date
    resolution_ns: int
    shift_ns: int = 0  # nanoseconds added to the last printed timestamp: days, years, a clock that was set
    last_line: int = 0  # the line of the last one


class ClockStep(NamedTuple):
    """A line from which on the timestamps are wrong by `added_ns`, which has been added to them.

    `assumed_ns` is what is taken to have passed at that place. Where the training goes on, that is what usually
    passes; where a process begins, nobody knows.
    """

    line: int
    added_ns: int
    assumed_ns: int
    goes_on: bool = True
    is_hour: bool = False  # daylight saving: nothing is in doubt


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
    is_interval: bool = False  # the figure that should be one step's covers all steps since the last line
    runtimes: tuple[Runtime, ...] = ()
    ranks: tuple[Rank, ...] = ()  # the ranks, where several print their steps
    unread: tuple[UnreadFamily, ...] = ()  # what was not understood, as far as it was kept
    passed: tuple[UnreadFamily, ...] = ()  # what the format knows and passes over, as far as it was kept
    num_other_rows: int = 0  # steps of another writer without a tag, which are not in `steps`
    candidates: tuple[Candidate, ...] = ()  # the formats that were tried on the log, the one that reads it first
    asides: Asides = field(default_factory=Asides)
    is_recorded: bool = False  # the timestamps are arrivals that we saw ourselves
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
        is_each = self.clock.covers in {"step", "window"} and not (self.clock.is_sum or self.is_interval)
        spans = self.steps.span if is_each else np.minimum(self.steps.span, 1)
        return spans * self.tick_ns

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
        if self.by_arrival:
            return self.format.clock._replace(
                covers="stamp",
                note="The recorded arrival of each line; the clock that the lines print is coarser.",
            )
        return self.format.clock

    def __len__(self) -> int:
        return len(self.steps)
