"""What reading in bulk asks of an assembler and gives to it: many rows at a time, and lines taken apart already."""

from __future__ import annotations

from typing import Literal

import numpy as np

from stepscope.lines.match import Claim
from stepscope.lines.prefix import Prefix
from stepscope.reading.assembler import RunAssembler
from stepscope.reading.other_lines import MAX_UNREAD
from stepscope.reading.rows import RowBatch
from stepscope.reading.rules import rules_for
from stepscope.reading.step_line import Groups
from stepscope.reading.unread import UnreadTrack


class BulkTarget:
    """An assembler, as the modules of this folder see it."""

    def __init__(self, assembler: RunAssembler) -> None:
        self._assembler = assembler

    @property
    def num_lines(self) -> int:
        """How many lines have been read."""
        return self._assembler.num_lines

    @num_lines.setter
    def num_lines(self, num: int) -> None:
        self._assembler.num_lines = num

    def add(self, line: str) -> None:
        """Take one clean line the ordinary way."""
        self._assembler.add(line)

    def add_alone(self, rows: RowBatch, first: int, last: int) -> int:
        """Add rows one by one without their lines: how many, up to one that changes what the next lines mean.

        None of them where there is more to their lines than their numbers.
        """
        assembler = self._assembler
        if rows.t_ns is not None or assembler.file.timestamps.is_new or assembler.step_lines.is_expecting:
            return 0
        # Where lines state totals or means, or an epoch's bars hold an evaluation, a row is more than its numbers.
        if rows.states_totals or rows.mean is not None or assembler.format.layout.bars_hold_evaluation:
            return 0
        return assembler.add_rows(rows.spelled_out(first, last))

    def claim(self, text: str) -> Claim:
        """Which line of the format a stripped line is."""
        return self._assembler.claim(text)

    def set_loss(self, loss: float) -> None:
        """The loss of the last row, where its own line has none."""
        self._assembler.set_loss(loss)

    @property
    def outlook(self) -> tuple[object, ...]:
        """What the next line is seen against; while it stays the same, rows can be read ahead of their turn."""
        assembler = self._assembler
        totals, writers, others = assembler.totals, assembler.so_far.writers, assembler.others
        return (
            *(totals.known, totals.is_uneven, assembler.bars.total),
            *(writers.own_rank, writers.are_bare_ranks, assembler.file.notices.is_ignored),
            # From then on, most lines that nobody reads need not be looked at one by one.
            others.unread.is_closed,
            others.remarks.is_closed,
        )

    def judge(
        self, *, total: int | None, epochs: int | None, batches: int | None, prefix: Prefix | None
    ) -> Literal["row", "bar", "news", "line"]:
        """What lines that state these totals are: rows of the run, another bar, news in the first, or neither."""
        if self._assembler.format.layout.bars_nest and total != self._assembler.bars.total:
            if self._assembler.bars.total is None:
                return "news"
            # Between the rows it is an evaluation, which is read line by line.
            return "line" if len(self._assembler.so_far.rows) else "bar"
        if self._assembler.totals.is_uneven or not self._assembler.so_far.writers.is_own(prefix):
            return "line"
        stated = zip((total, epochs, batches), self._assembler.totals.known, strict=True)
        return "row" if all(own in (None, known) for own, known in stated) else "news"

    def pass_bar(self, total: int | None, line: int) -> None:
        """Another bar than the training's."""
        self._assembler.num_lines = line
        self._assembler.file.notices.in_traceback = False
        self._assembler.bars.last = total

    @property
    def is_on_bar(self) -> bool:
        """Whether a loss that comes next belongs to the row before it."""
        return not self._assembler.format.layout.bars_nest or self._assembler.bars.is_on_own

    def confirm_losses(self) -> None:
        """Lines with the losses of rows have been read."""
        self._assembler.bars.has_loss = True
        self._assembler.file.notices.in_traceback = False

    @property
    def in_traceback(self) -> bool:
        """Whether the next line may be part of a traceback."""
        return self._assembler.file.notices.in_traceback

    @property
    def wants_unread(self) -> int:
        """How many more lines that nobody understood must be seen."""
        return max(MAX_UNREAD - len(self._assembler.others.first_unread), int(self._assembler.file.notices.is_ignored))

    def would_only_count(self, text: str, *, is_passed: bool) -> bool:
        """Whether a line that nobody understands, or that is passed over, would only be counted."""
        is_kept = is_passed or self._assembler.others.remarks.is_full(text)
        return is_kept and self.families(is_passed=is_passed).only_counts(text)

    @property
    def has_own_prefix(self) -> bool:
        """Whether lines may begin with a prefix of a kind that only this log has."""
        return self._assembler.has_own_prefix

    @property
    def kept_names(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The families and the names of remarks of which another line would be noted; None while new ones are."""
        others = self._assembler.others
        names = others.remarks.open_names()
        return None if names is None or not others.unread.is_closed else (others.unread.keys(), names)

    def families(self, *, is_passed: bool) -> UnreadTrack:
        """The families of such lines."""
        return self._assembler.others.passed if is_passed else self._assembler.others.unread

    def count_unread(self, num: int) -> None:
        """Count `num` more lines that nobody understood."""
        self._assembler.others.num_unread += num

    def add_event(self, which: int, groups: Groups, text: str, line: int) -> None:
        """An event whose line was taken apart already."""
        self._assembler.num_lines = line
        self._assembler.apply(which, groups, text, None)

    def stage_rows(self, rows: RowBatch) -> bool:
        """Put rows that follow each other behind the end; False when the first must be added by itself."""
        assembler = self._assembler
        timestamps = assembler.file.timestamps
        batch, is_placed = rows, not timestamps.is_new
        if rows.t_ns is not None:
            batch = rows._replace(placed=timestamps.place(rows.t_ns, rows.prefix))
            is_placed = batch.placed is not None
        if not is_placed or assembler.step_lines.is_expecting:
            return False
        for rule in rules_for(assembler.format.clock):
            if not rule.is_quiet(batch, assembler.so_far):
                return False
        assembler.so_far.rows.stage(batch)
        return True

    def show_rows(self, rows: RowBatch, first: int, last: int) -> None:
        """Let the staged rows from `first` up to `last` count."""
        num = last - first
        if not num:
            return
        self._assembler.file.notices.in_traceback = False
        self._assembler.bars.draw_own()
        self._assembler.so_far.segments.forget_announcements()
        self._assembler.so_far.rows.show(num)
        self._assembler.means.note_many(rows, first, last, len(self._assembler.so_far.rows) - num)
        if rows.prefix is not None and rows.t_ns is not None:
            own = self._assembler.so_far.rows
            before = own.stamp_of(len(own) - 2) if num > 1 else None
            timestamps = self._assembler.file.timestamps
            timestamps.note_many(before, own.stamp_of(len(own) - 1), int(rows.line[last - 1]))
        if rows.is_bad is not None and rows.is_bad[first:last].any():
            bad = rows.is_bad[first:last]
            ends = first + np.flatnonzero(bad)[[0, -1]]
            begin, end = ((int(rows.step[at]), int(rows.line[at])) for at in ends.tolist())
            self._assembler.others.note_nonfinite(int(bad.sum()), begin, end)
