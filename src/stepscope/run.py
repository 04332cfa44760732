"""Run: what a log says, as columns. Frozen; every later stage takes one and returns something new.

Times are whole nanoseconds. A missing number is NaN in a float column and `NO_TIME` in a time column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepscope.formats._base import Clock, Format
from stepscope.formats._notices import NoticeKind
from stepscope.settings import Settings
from stepscope.units import NS

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, kw_only=True)
class StepTable:
    """One row per printed step, in the order of the file."""

    step: Ints
    dur_ns: Ints  # of one step: the printed one, or the mean of those the row covers
    span: Ints  # how many steps `dur_ns` is the mean of; 0 where the row has no time
    loss: Floats
    mfu: Floats
    data_s: Floats  # waiting for the batch of one step, where the line says so; a mean where `dur_ns` is one
    work: Floats  # tokens or whatever else the step had to do, where the line says so
    line: Ints
    t_ns: Ints  # arrival or printed stamp; empty when the log has none
    segment: Ints

    def __len__(self) -> int:
        return len(self.step)

    @property
    def seconds(self) -> Floats:
        """Seconds each row stands for: its mean times the steps it covers."""
        return self.dur_ns * self.span / NS


@dataclass(frozen=True, kw_only=True)
class EventTable:
    """Evaluations and checkpoints. `row` is the step row that follows the event, or len(steps) when none does yet."""

    kind: tuple[str, ...]
    step: Ints  # -1 where the line does not say
    row: Ints
    line: Ints
    t_ns: Ints
    before_ns: Ints  # stamp of the line before the event's line: where its work began
    val_loss: Floats
    took_ns: Ints  # how long it took, where its line says so
    segment: Ints

    def __len__(self) -> int:
        return len(self.kind)


class Segment(NamedTuple):
    """One process's life in the log. `fresh` when its first iteration is in the log, compile and all."""

    first_row: int
    num_rows: int
    fresh: bool


class Notice(NamedTuple):
    """A line that tells of the run's fate: where it stands, and what it says (already fit to quote)."""

    kind: NoticeKind
    line: int
    row: int
    text: str
    type_name: str | None = None


class RemarkKind(NamedTuple):
    """Lines of one wording that say nothing we read. `row` is the step row that follows, as for events."""

    name: str
    line: Ints
    row: Ints
    t_ns: Ints


class Stamps(NamedTuple):
    """The time stamps that stand before lines. Only their differences are certain unless `dated`."""

    first_ns: int
    last_ns: int
    dated: bool
    zoned: bool
    daily: bool  # times of day without a date
    resolution_ns: int


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
    stamps: Stamps | None = None
    mtime: float | None = None

    @property
    def clock(self) -> Clock:
        """What the log's time figure means."""
        return self.format.clock

    def __len__(self) -> int:
        return len(self.steps)
