"""Several writers in one log: ranks that tag their lines, ranks with a file each, or two processes that do not say.

One writer is the run; its rows go to the columns. The rows of the others are kept apart, so that no step counts
twice and the slowest rank can still be named.
"""

from __future__ import annotations

from array import array

import numpy as np

from stepscope.columns.decimals import unpack
from stepscope.lines.format import Format
from stepscope.lines.prefix import Prefix
from stepscope.reading.row_times import row_times
from stepscope.reading.rows import Row
from stepscope.run.model import NO_TIME, Rank, steps_since

# A second writer that goes on alone for this many rows is the run; the first has ended.
_ALONE_ROWS = 30
_MAX_RANKS = 4096
# So many rows whose numbers are all different and whose steps grow: line numbers, not ranks.
_ROWS_TO_JUDGE = 3


class OtherWriter:
    """The rows of one writer that is not the run's own."""

    def __init__(self) -> None:
        self.step = array("q")
        self._figure = array("q")
        self._t = array("q")
        self.spacing = 0

    def add(self, step: int, figure: int, stamp: int) -> None:
        """One more row of this writer."""
        if self.step and step > self.step[-1]:
            self.spacing = step - self.step[-1]
        self.step.append(step)
        self._figure.append(figure)
        self._t.append(stamp)

    def rank(self, number: int, fmt: Format) -> Rank:
        """What is known of the writer as a rank."""
        step, figure, t_ns = (np.array(column, dtype=np.int64) for column in (self.step, self._figure, self._t))
        return rank_of(number, fmt, step, figure, t_ns)


def rank_of(
    number: int,
    fmt: Format,
    step: np.ndarray,
    figure: np.ndarray,
    t_ns: np.ndarray,
) -> Rank:
    """One rank's steps, each with its seconds by the rank's own lines."""
    if not len(t_ns):
        t_ns = np.full(len(step), NO_TIME, dtype=np.int64)
    first_rows = np.flatnonzero(np.diff(step, prepend=-1 if not len(step) else step[0]) <= 0)
    dur_ns, spans = row_times(
        fmt.clock.covers,
        step=step,
        figure=figure,
        per=np.empty(0, dtype=np.int64),
        t_ns=t_ns,
        first_rows=first_rows,
        first_step=fmt.layout.first_step,
    )
    timed = (steps_since(step, first_rows) if spans is None else spans) > 0
    return Rank(number=number, step=step[timed], dur_ns=unpack(dur_ns)[timed], num_steps=len(step))


class Writers:
    """Tells for each row whether it is the run's own."""

    def __init__(self) -> None:
        self.own_rank: int | None = None
        self.of_file: int | None = None  # the rank whose file is being read
        self.ranks: dict[int, OtherWriter] = {}
        self.other: OtherWriter | None = None
        self.num_others = 0  # rows of writers without a tag
        self._alone = 0
        # Bare numbers before lines: ranks once one comes again, line numbers when they and the steps only grow.
        self._bare_seen: set[int] = set()
        self._bare_are_ranks: bool | None = None
        self._bare_rows = 0
        self._bare_step = -1
        self.held: list[Row] = []

    def see(self, rank: int) -> None:
        """Any line that begins with this bare number."""
        if self._bare_are_ranks is None:
            if rank in self._bare_seen:
                self._bare_are_ranks = True
                self.held = []
            elif len(self._bare_seen) < _MAX_RANKS:
                self._bare_seen.add(rank)

    def writer(self, rank: int | None, *, is_bare: bool) -> int | None:
        """The rank that wrote a line with this tag; None where the tag is none, or only numbers the lines."""
        if rank is None:
            return self.of_file
        return None if is_bare and self._bare_are_ranks is False else rank

    def is_own(self, prefix: Prefix | None) -> bool:
        """Whether lines behind this prefix are known to be the run's own."""
        rank = prefix.rank if prefix is not None else None
        is_bare = prefix is not None and prefix.is_bare
        if is_bare and rank is not None and self._bare_are_ranks is None:
            return False
        return self.writer(rank, is_bare=is_bare) in (None, self.own_rank)

    def are_line_numbers(self, step: int) -> bool:
        """Whether a step row with yet another bare number shows that such numbers are no ranks."""
        if self._bare_are_ranks is None:
            self._bare_rows += step > self._bare_step
            self._bare_step = max(step, self._bare_step)
            if self._bare_rows >= _ROWS_TO_JUDGE:
                self._bare_are_ranks = False
                return True
        return False

    @property
    def are_bare_ranks(self) -> bool:
        """Whether bare numbers before lines are known to be ranks."""
        return bool(self._bare_are_ranks)

    @property
    def is_undecided(self) -> bool:
        """Whether rows were held back and nothing shows yet whether their numbers are ranks."""
        return self._bare_are_ranks is None and bool(self.held)

    def dismiss_ranks(self) -> list[Row]:
        """The bare numbers were no ranks: the rows that were held back, in their order."""
        held, self.held = self.held, []
        self.ranks, self.own_rank, self._bare_are_ranks = {}, None, False
        return held

    def takes_rank(self, rank: int, step: int, figure: int, stamp: int) -> bool:
        """Whether a row belongs to another rank than the run's own; then it is kept here."""
        if self.own_rank is None:
            self.own_rank = rank
        if rank == self.own_rank:
            return False
        writer = self.ranks.get(rank)
        if writer is None:
            if len(self.ranks) >= _MAX_RANKS:
                return True
            writer = self.ranks[rank] = OtherWriter()
        writer.add(step, figure, stamp)
        return True

    def open_other(self, steps: list[int], figures: list[int], stamps: list[int]) -> None:
        """A second writer without a tag, with the rows it wrote so far."""
        self.other = OtherWriter()
        self._alone = 0
        for step, figure, stamp in zip(steps, figures, stamps, strict=True):
            self.add_other(step, figure, stamp)

    def add_other(self, step: int, figure: int, stamp: int) -> None:
        """A row of the second writer."""
        assert self.other is not None
        self.other.add(step, figure, stamp)
        self.num_others += 1
        self._alone += 1

    def is_others(self, step: int, last: int, spacing: int) -> bool:
        """Whether a row goes on where the second writer left off, and not where the first did (at `last`)."""
        if self.other is None:
            return False
        mine, theirs = step == last + spacing, step == self.other.step[-1] + (self.other.spacing or spacing)
        if mine or self._alone >= _ALONE_ROWS:
            self._alone = 0
            self.other = None if not mine else self.other
            return False
        return theirs or (step <= last and step > self.other.step[-1])
