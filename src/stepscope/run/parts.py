"""What a Run holds next to its columns: segments, ranks, notices, remarks, timestamps, lines that were not read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stepscope.lines.notices import NoticeKind
from stepscope.run.tables import NO_TIME, Floats, Ints


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
